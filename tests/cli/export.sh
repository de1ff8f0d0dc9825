#!/bin/sh
# export --c and --html: the C program and the page's code (run by node) make the samples of `dcgan generate`, for every
# kind of layer, activation, norm and number of channels, with classes. The C file compiles without a warning. Errors of
# all formats. long/browser.sh runs the page in Chromium.
. "$(dirname "$0")/kit"
cc=${CC:-cc}
[ -n "$python" ] || { skip 'python3 is not here'; finish; }
echo 'int main(void) { return 0; }' | $cc -x c -o "$dir/none" - 2> /dev/null || { skip 'no compiler'; finish; }
cd "$dir" || exit 1
exits 0 data --synthesize cats --count 24 --size 16 -q || finish
exits 0 data --synthesize three --classes 3 --count 66 --size 16 -q
warnings='-Wall -Wextra -pedantic -Werror'

seeds='0 3 4 9007199254740991'

# same_samples MOST RUN NAME: NAME-SEED.pam are the samples of the run's generator, within MOST grey levels
same_samples()
{
    pairs=''
    for seed in $seeds; do pairs="$pairs $3-$seed.pam $2-made/seed-$(printf %04d "$seed").png"; done
    # shellcheck disable=SC2086 # words
    ensure "$3 should make the samples of $2" "$python" "$root/tests/cli/same_images.py" "$1" $pairs
}
compares() # compares MOST RUN PROGRAM
{
    for seed in $seeds; do "./$3" "$seed" > "$3-$seed.pam"; done
    same_samples "$@"
}
node=$(command -v node)
[ -n "$node" ] || skip 'node is not here: the code of pages does not run'
page() # page MOST RUN PAGE.html
{
    [ -n "$node" ] || return
    # shellcheck disable=SC2086 # words
    ensure "$3 should run" "$node" "$root/tests/cli/page_run.js" "$3" "$3" $seeds && same_samples "$@"
}
samples() # samples RUN: in RUN-made
{
    for range in 0-4 9007199254740991; do exits 0 generate "$1" --seeds $range --out "$1-made" -q; done
}
compiles() # compiles COMMAND FILE.c PROGRAM
{
    # shellcheck disable=SC2086 # words
    ensure "$1 should compile $2 without a warning" $1 $warnings "$2" -lm -o "$3"
}

# all layers and activations, alpha, fp64
{
    printf '%s\n' '[model]' 'name = every' 'size = 16' 'channels = 4' 'latent = 9'
    printf '%s\n' '[G.1]' 'op = dense' 'filters = 20' 'norm = batch' 'act = relu' \
        '[G.2]' 'op = conv_transpose' 'filters = 12' 'kernel = 8' 'pad = 0' 'bias = yes' 'act = leaky' \
        '[G.3]' 'op = conv' 'filters = 12' 'kernel = 3' 'groups = 3' 'norm = batch' 'act = relu' \
        '[G.4]' 'op = dropout' '[G.5]' 'op = max_pool' 'kernel = 3' 'stride = 1' 'pad = 1' 'bias = yes' \
        '[G.6]' 'op = mean_pool' 'kernel = 3' 'stride = 1' 'pad = 1' 'act = leaky' 'slope = 0.3' \
        '[G.7]' 'op = add' 'add = G.3' '[G.8]' 'op = resample' 'scale = 2' '[G.9]' 'op = resample' 'scale = 0.5' \
        '[G.10]' 'op = conv_transpose' 'filters = 10' 'kernel = 4' 'stride = 2' 'pad = 1' \
        'norm = batch'
    n=10
    for act in $(acts); do
        n=$((n + 1))
        case $act in tanh) more='bias = yes' ;; *) more='norm = batch' ;; esac
        printf '%s\n' "[G.$n]" 'filters = 10' 'kernel = 3' "act = $act" 'add = G.10' "$more"
    done
    printf '%s\n' "[G.$((n + 1))]" 'filters = 4' 'kernel = 5' 'bias = yes' '[D]' 'kernel = 4' 'stride = 2' \
        'act = leaky' '[D.1]' 'filters = 8' '[D.2]' 'filters = 12' '[D.3]' 'filters = 1' 'stride = 1' 'pad = 0' \
        'act = none'
} > every.cfg
trained='--batch 8 --epochs 20 --lr 0.002 --no-report -q' # enough that the samples differ
# shellcheck disable=SC2086 # words
{
    exits 0 --data cats --model every.cfg --precision fp64 $trained --out every || finish
    exits 0 --data three --model "$root/tests/tiny.cfg" --conditional $trained --out classes --ema 0.5 || finish
    exits 0 --data cats --model r3gan-16x1 $trained --out groups || finish
}
for run in every classes groups; do
    samples $run
    exits 0 export $run --c $run.c -q
    compiles "$cc -std=c99" $run.c $run-c
    compares 1 $run $run-c
    exits 0 export $run --html $run.html -q
    page 1 $run $run.html
done

# other compilers and languages; every program gives the same bytes
for command in 'gcc -std=c99' 'gcc -std=c11' 'clang -std=c99' 'clang -std=c11' 'g++ -x c++'; do
    command -v "${command%% *}" > .which || { skip "${command%% *} is not here"; continue; }
    compiles "$command" classes.c other-c
    compares 1 classes other-c
    # shellcheck disable=SC2086 # words
    ensure "$command: the part without main" $command $warnings -DDCGAN_NO_MAIN -c classes.c -o part.o
done

# classes by name and number
exits 0 generate classes --seeds 3 --class ring --out ring-made -q
for class in ring 1; do
    ./classes-c 3 $class > ring.ppm
    ensure "the class $class" "$python" "$root/tests/cli/same_images.py" 1 ring.ppm ring-made/seed-0003.png
done
# the page: a class, a walk as of `dcgan interpolate`, also between the classes of two seeds, and a direction
state() # state STATE PNG: the page makes the image
{
    ensure "the page should make $1" "$node" "$root/tests/cli/page_run.js" classes.html state "$1" &&
        ensure "$1 should be $2" "$python" "$root/tests/cli/same_images.py" 1 state-3.pam "$2"
}
if [ -n "$node" ]; then
    state '{"seed": 3, "class": 1}' ring-made/seed-0003.png
    exits 0 generate classes --seeds 3-4 --write-z z --out z-made -q
    exits 0 interpolate classes --read-z z --frames 4 --out walk --scale 1 -q
    exits 0 interpolate classes --seeds 3-4 --class 2 --frames 4 --out walk-2 --scale 1 -q
    for column in 1 4; do
        t=$(echo $column | awk '{ print $1 / 4 }')
        state "{\"seed\": 3, \"to\": 4, \"t\": $t}" "walk/strip.png@$column"
        state "{\"seed\": 3, \"to\": 4, \"t\": $t, \"class\": 2}" "walk-2/strip.png@$column"
    done
    exits 0 interpolate classes --seeds 3 --direction 2 --frames 2 --out line --scale 1 -q
    for column in 0 2; do
        state "{\"seed\": 3, \"shifts\": {\"1\": $((column * 3 - 3))}}" "line/strip.png@$column"
    done
    exits 0 export groups --html float.html --weights fp32 -q
    page 1 groups float.html
fi
for arguments in '' 'x' '3 disc more' '3 none' '3 3' '3 -1'; do
    # shellcheck disable=SC2086 # words
    ends 2 "classes-c $arguments" ./classes-c $arguments
    stderr_has 'usage: ./classes-c SEED [CLASS] > image.ppm'
done

# fewer bits: dcgan prints the difference
shows 'samples differ by' export groups --c half.c --weights fp16
compiles "$cc" half.c half-c
compares 1 groups half-c
exits 0 export groups --c byte.c --weights int8
most=$(sed -n 's/.* by \([0-9]*\) at most.*/\1/p' .out)
compiles "$cc" byte.c byte-c
compares "$((2 * most + 1))" groups byte-c
shows "by $most at most" export groups --html byte.html --weights int8
has byte.html "weights in int8 (samples differ from those of fp32" "$most at most"
page "$((2 * most + 1))" groups byte.html
ensure 'int8 should be smaller than fp16' \
    [ "$(wc -c < byte.c)" -lt "$(wc -c < half.c)" ]
ensure 'fp16 should be smaller than fp32' [ "$(wc -c < half.c)" -lt "$(wc -c < groups.c)" ]

# from an exported generator; FILE, OUT, --out and standard output
exits 0 export classes --out g.safetensors -q
exits 0 export g.safetensors --c -q --out same.c
same same.c classes.c
exits 0 export classes again.c --c -q
same again.c classes.c
exits 0 export --c classes third.c -q
same third.c classes.c
exits 0 export classes --c - -q
same .out classes.c
exits 0 export --onnx classes g.onnx -q
exits 0 export classes --onnx h.onnx -q
same h.onnx g.onnx
shows 'generator (C source)' info classes.c
exits 0 export classes again.html --html -q
same again.html classes.html
exits 0 export classes --html - -q
same .out classes.html
shows 'generator (HTML page)' info classes.html
ensure 'the page should be well-formed and name no address' "$python" "$root/tests/cli/page.py" classes.html 'Save PNG'
mkdir -p 'a</script><b>&"\b'
cp g.safetensors 'a</script><b>&"\b/g'
exits 0 export 'a</script><b>&"\b/g' --html hostile.html -q
ensure 'the page should escape names' "$python" "$root/tests/cli/page.py" hostile.html
has hostile.html '"Checkpoint":"a\u003c/script>\u003cb>\u0026\u0022\u005cb/g"'

# errors
echo 'int main(void);' > mine
exits 0 export classes --network D --out d.safetensors -q
network net.cfg '[model] name=one size=16 classes=3' '[C.1] filters=6 kernel=3' '[C.2] op=dense filters=3'
exits 0 --data three --model net.cfg --test 0.2 --batch 8 --epochs 1 --no-report --out net -q
for format in c html; do
    exits 2 export classes --$format
    refuses 2 "two-outputs --$format a" export classes --$format a --out b
    refuses 2 'two-formats --onnx' export classes --onnx --$format a
    says two-formats "--$format"
    refuses 2 'only-generator D' export classes --network D --$format a
    refuses 2 'other-kind g.onnx' export classes --$format g.onnx
    says other-kind 'is an ONNX file, not a generator in'
    refuses 2 "other-kind classes.$format" export classes --onnx classes.$format
    refuses 2 'foreign-file mine' export classes --$format mine
    exits 4 export classes --$format no/such/folder
    refuses 2 'network-alone D' export d.safetensors --$format a
    refuses 2 'no-images net' export net --$format a
done
refuses 2 'two-formats --html' export classes --html --c a
refuses 2 'other-kind classes.c' export classes --html classes.c
says other-kind 'is a generator in C, not a generator in HTML'
exits 0 report classes --out report.html -q
refuses 2 'other-kind report.html' export classes --html report.html
refuses 2 'weights-of-generator --weights' export classes --weights int8 --out a
lacks a b
finish
