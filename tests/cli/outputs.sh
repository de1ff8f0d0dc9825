#!/bin/sh
# Named outputs: what is replaced and what needs --force, standard output, FIFOs and devices, samples of two checkpoints
# in one folder.
[ -w /dev/shm ] && export TMPDIR="${TMPDIR:-/dev/shm}" # many files are fsynced
. "$(dirname "$0")/kit"
cd "$dir" || exit 1
tiny=$root/tests/tiny.cfg
exits 0 data --synthesize cats --count 64 --size 16 -q
exits 0 --data cats --model "$tiny" --batch 8 --epochs 1 --out run -q
exits 0 --data cats --model "$tiny" --batch 8 --epochs 2 --out other -q

# one rule: each writer makes its file, replaces it, and leaves another's alone but for --force
rule() # rule OPTION FILE ARGUMENT...
{
    option=$1 file=$2
    shift 2
    exits 0 "$@"
    exits 0 "$@"
    cp "$file" made
    echo mine > "$file"
    exits 2 "$@"
    says "$file: exists and was not made by dcgan; choose another $option or add --force"
    [ "$(cat "$file")" = mine ]
    fact $? "'$ran' should leave $file alone"
    exits 0 "$@" --force
    [ "$(cat "$file")" != mine ]
    fact $? "'$ran' should replace $file"
}
rule --sheet sheet.png data cats --size 16 --sheet sheet.png
rule --aug-preview aug.png data cats --size 16 --augment color --aug-preview aug.png
rule --out curves.png curves run --out curves.png
rule --out page.html report run --out page.html
rule --out run/report.html report run
rule --gif a.gif report run --out b.html --gif a.gif
rule --out g.safetensors export run --out g.safetensors
rule --out g.onnx export run --onnx --out g.onnx
rule --out in.safetensors import g.safetensors --out in.safetensors
rule --out walk/strip.png interpolate run --frames 2 --out walk
rule --out walk/walk.gif interpolate run --frames 2 --out walk
rule --write-z z.safetensors generate run --out z --write-z z.safetensors
rule --out swept/rules.csv batch "$tiny" --data cats --sweep 8-16:8 --seconds 0.01 --out swept
: > empty.png
exits 0 curves run --out empty.png # holds nothing
exits 0 data --synthesize shapes --classes 3 --count 24 --size 16 -q
mv shapes/disc 'shapes/=1+2;"x"'
mv shapes/ring "shapes/$(printf '@a\tb')"
exits 0 --data shapes --model "$root/tests/eyes16.cfg" --batch 8 --epochs 1 --test 0.5 --out eyes -q
rule --sheet said.png classify eyes shapes --sheet said.png
# names of classes in a spreadsheet
head -n 1 eyes/confusion.csv | grep -qxF "is \\ said,\"'=1+2;\"\"x\"\"\",'@a\\x09b,square,accuracy"
fact $? "confusion.csv should begin otherwise: $(head -n 1 eyes/confusion.csv)"

exits 2 data --synthesize drawn --count 3 --size 16 --seed 1 -q --sheet x.png --force=maybe
exits 0 data --synthesize drawn --count 3 --size 16 --seed 1 -q
exits 2 data --synthesize drawn --count 3 --size 16 --seed 2 -q
says 'is there already and is another picture, so it stays: name an empty or a new folder, or add --force'
exits 0 data --synthesize drawn --count 3 --size 16 --seed 2 -q --force
exits 0 data --synthesize drawn --count 3 --size 16 --seed 2 -q

# a cache: a warning, and the images are read
echo mine > cache
exits 0 data cats --size 16 --cache cache
says 'cache: exists and was not made by dcgan; choose another --cache or add --force; the pictures are used without'
[ "$(cat cache)" = mine ]
fact $? 'the cache should be left alone'
exits 0 data cats --size 16 --cache cache --force
exits 0 data cats --size 16 --cache cache
silent_but_progress=$(grep -c warning "$dir/.err")
[ "$silent_but_progress" -eq 0 ]
fact $? 'the cache should be used'

# what the command reads stays, though dcgan made it; other kinds stay as well
exits 0 generate run -n 20 --out made16 -q
cp made16/seed-0003.png before.png
exits 2 data made16 --size 16 --sheet made16/seed-0003.png
says 'made16/seed-0003.png: exists and is read by this command; choose another --sheet or add --force'
same before.png made16/seed-0003.png
exits 0 data cats --size 16 --sheet made16/seed-0003.png
mv before.png made16/seed-0003.png
exits 2 export run --out run/checkpoint.safetensors
says 'run/checkpoint.safetensors: exists and is read by this command'
exits 2 export run --out other/checkpoint.safetensors
says 'exists and is a checkpoint of a run, not an exported generator'
exits 2 report run --out run/curves.png
says 'exists and is an image, not a report'
exits 2 data cats --size 16 --sheet cats/cat-00000.png
says 'cats/cat-00000.png: exists and was not made by dcgan'

# standard output
exits 0 curves run --out curves.png -q
for out in - /dev/fd/1 /proc/self/fd/1 /dev/stdout; do
    exits 0 curves run --out $out
    same "$dir/.out" curves.png
    says 'standard output: 1 run'
    "$program" curves run --out $out -q | cmp -s - curves.png
    fact $? "--out $out should write to a pipe"
done
exits 0 data cats --size 16 --sheet -
says '64 usable'
same "$dir/.out" sheet.png
exits 0 report run --out b.html --gif -
same "$dir/.out" a.gif
exits 0 export run --out -
same "$dir/.out" g.safetensors
exits 2 data cats --size 16 --sheet - --json
says '--sheet -: standard output has the results of --json'
exits 2 report run --out - --gif /dev/stdout
says '--gif /dev/stdout: standard output has another output'
exits 2 data cats --size 16 --augment color --sheet both.png --aug-preview both.png
says '--aug-preview both.png: is the output of --sheet; name another file'
exits 2 report run --out sheet.png --gif ./sheet.png --force
says '--gif ./sheet.png: is the output of --out'
for command in 'generate run' 'interpolate run' "batch $tiny --data cats --sweep 4-8" "--data cats --model $tiny"; do
    # shellcheck disable=SC2086 # words
    exits 2 $command --out -
    says 'writes a directory; name one'
done
exits 2 data cats --size 16 --cache -
says '--cache -: is read again after it was written'
"$program" curves run --out - > /dev/full 2> .err
[ $? -eq 4 ] && grep -q 'standard output: cannot write it: No space left' .err
fact $? 'a full standard output should be an error'
{ sleep 0.3; "$program" curves run --out - 2> .err; echo $? > code; } | true
[ "$(cat code)" = 4 ] && grep -q 'Broken pipe' .err
fact $? 'a closed pipe should be an error'

"$program" curves run --out - 2> .err >&-
[ $? -eq 4 ] && grep -q 'standard output: is closed' .err
fact $? 'a closed standard output should be an error'

exits 4 curves run --out /dev/fd/9
says '--out /dev/fd/9: Bad file descriptor'
"$program" curves run --out /dev/fd/9 -q 9> nine
same nine curves.png

# FIFOs, devices, links
mkfifo fifo
cat fifo > got &
exits 0 curves run --out fifo -q
wait $!
same got curves.png
[ -p fifo ]
fact $? 'the FIFO should stay'
exits 0 curves run --out /dev/null
exits 4 curves run --out /dev/full
says 'No space left'
exits 4 curves run --out walk
says 'is a directory'
exits 2 data cats --size 16 --cache fifo
says 'is not a regular file'
mkdir far && ln -s far/curves.png link.png
exits 4 curves run --out link.png
says 'is a symbolic link that cannot be followed'
echo mine > far/curves.png
exits 2 curves run --out link.png
says 'link.png: exists and was not made by dcgan'
cp curves.png far/curves.png
exits 0 curves run other --out link.png
[ -L link.png ] && ! cmp -s curves.png far/curves.png
fact $? 'the target of the link should be replaced, the link stay'

# samples of two checkpoints
exits 0 generate run -n 3 --out made16 -q # again, some of them
exits 2 generate other -n 20 --out made16 -q
says 'made16: holds grid.png, a sample of another checkpoint or of an earlier dcgan; choose another --out'
exits 0 generate g.safetensors -n 20 --out same16 -q
exits 0 eval made16 --data cats --model "$tiny"
cp cats/cat-0000[0-3].png made16
exits 3 eval made16 --data cats --model "$tiny"
says 'made16: mixes 24 images of 2 origins: 20 of tiny, step 8, weights '
says '; 4 of no known checkpoint; evaluate each in a folder of its own, or add --force'
rm made16/cat*
exits 2 generate other --seeds 100-120 --out made16 -q
exits 0 generate other --seeds 100-120 --out made16 -q --force
exits 3 eval made16 --data cats --model "$tiny"
says '21 of tiny, step 16, weights '
exits 0 eval made16 --data cats --model "$tiny" --force
says 'warning: the metrics are of a mixture: made16 holds 21 of tiny, step 16, weights '
exits 0 eval cats --data cats --model "$tiny" # none of ours
# without --out the samples of a later epoch get a folder of their own
exits 0 generate run -n 2
prints 'run/generated/seed-0000.png to seed-0001.png'
cp other/checkpoint.safetensors run/checkpoint.safetensors
exits 0 generate run -n 2
prints 'run/generated-2/seed-0000.png to seed-0001.png'
exits 0 generate run -n 2
prints 'run/generated-2/'
echo mine > run/generated-2/notes.txt
exits 2 generate run -n 2
says 'holds notes.txt'
finish
