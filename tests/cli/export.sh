#!/bin/sh
# export --c: the program gives the samples of `dcgan generate`, for every kind of layer, activation, norm and number of
# channels, with classes, and compiles without a warning. Errors of all formats.
. "$(dirname "$0")/kit"
cc=${CC:-cc}
[ -n "$python" ] || { skip 'python3 is not here'; finish; }
echo 'int main(void) { return 0; }' | $cc -x c -o "$dir/none" - 2> /dev/null || { skip 'no compiler'; finish; }
cd "$dir" || exit 1
exits 0 data --synthesize cats --count 24 --size 16 -q || finish
exits 0 data --synthesize three --classes 3 --count 66 --size 16 -q
warnings='-Wall -Wextra -pedantic -Werror'

# compares MOST RUN PROGRAM: the images of the program's output are the samples of the run's generator, within MOST
compares()
{
    pairs=''
    for seed in 0 3 4 9007199254740991; do
        "./$3" $seed > "$3-$seed.pam" || pairs="$pairs none"
        pairs="$pairs $3-$seed.pam $2-made/seed-$(printf %04d $seed).png"
    done
    # shellcheck disable=SC2086 # words
    ensure "$3 should make the samples of $2" "$python" "$root/tests/cli/same_images.py" "$1" $pairs
}
samples() # samples RUN: in RUN-made
{
    for seeds in 0-4 9007199254740991; do exits 0 generate "$1" --seeds $seeds --out "$1-made" -q; done
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
        '[G.10]' 'op = conv_transpose' 'filters = 10' 'kernel = 4' 'stride = 2' 'pad = 1'
    n=10
    for act in $(acts); do
        n=$((n + 1))
        printf '%s\n' "[G.$n]" 'filters = 10' 'kernel = 3' "act = $act" 'add = G.10' 'bias = yes'
    done
    printf '%s\n' "[G.$((n + 1))]" 'filters = 4' 'kernel = 5' 'bias = yes' '[D]' 'kernel = 4' 'stride = 2' \
        'act = leaky' '[D.1]' 'filters = 8' '[D.2]' 'filters = 12' '[D.3]' 'filters = 1' 'stride = 1' 'pad = 0' \
        'act = none'
} > every.cfg
trained='--batch 8 --epochs 4 --lr 0.01 --no-report -q'
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

# errors
exits 2 export classes --c
refuses 2 'two-outputs --c a.c' export classes --c a.c --out b.c
refuses 2 'two-formats --onnx' export classes --onnx --c a.c
says two-formats '--c'
refuses 2 'only-generator D' export classes --network D --c a.c
refuses 2 'weights-of-c --weights' export classes --weights int8 --out a.safetensors
refuses 2 'other-kind g.onnx' export classes --c g.onnx
says other-kind 'is an ONNX file, not a generator in C'
refuses 2 'other-kind classes.c' export classes --onnx classes.c
echo 'int main(void);' > mine.c
refuses 2 'foreign-file mine.c' export classes --c mine.c
exits 4 export classes --c no/such/folder.c
exits 0 export classes --network D --out d.safetensors -q
refuses 2 'network-alone D' export d.safetensors --c a.c
network net.cfg '[model] name=one size=16 classes=3' '[C.1] filters=6 kernel=3' '[C.2] op=dense filters=3'
exits 0 --data three --model net.cfg --test 0.2 --batch 8 --epochs 1 --no-report --out net -q
refuses 2 'no-images net' export net --c a.c
lacks a.c b.c
finish
