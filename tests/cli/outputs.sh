#!/bin/sh
# Output files: which are replaced and which need --force, standard output, FIFOs and devices, samples of two
# checkpoints in one folder.
[ -w /dev/shm ] && export TMPDIR="${TMPDIR:-/dev/shm}" # many files are fsynced
. "$(dirname "$0")/kit"
cd "$dir" || exit 1
tiny=$root/tests/tiny.cfg
exits 0 data --synthesize cats --count 64 --size 16 -q
exits 0 --data cats --model "$tiny" --batch 8 --epochs 1 --out run -q
exits 0 --data cats --model "$tiny" --batch 8 --epochs 2 --out other -q

# each writer creates its file, replaces it, and replaces a foreign file only with --force
rule() # rule OPTION FILE ARGUMENT...
{
    option=$1 file=$2
    shift 2
    exits 0 "$@"
    exits 0 "$@"
    cp "$file" made
    echo mine > "$file"
    exits 2 "$@"
    says foreign-file "$file" "$option" --force
    ensure "'$ran' should leave $file alone" [ "$(cat "$file")" = mine ]
    exits 0 "$@" --force
    ensure "'$ran' should replace $file" [ "$(cat "$file")" != mine ]
}
rule --sheet sheet.png data cats --size 16 --sheet sheet.png
rule --aug-preview aug.png data cats --size 16 --augment color --aug-preview aug.png
rule --out page.html report run --out page.html
rule --out run/report.html report run
rule --gif a.gif report run --out b.html --gif a.gif
rule --out g.safetensors export run --out g.safetensors
rule --out g.onnx export run --onnx --out g.onnx
rule --out in.safetensors import g.safetensors --out in.safetensors
rule --out walk/strip.png interpolate run --frames 2 --out walk
rule --out walk/walk.gif interpolate run --frames 2 --out walk
rule --write-z z.safetensors generate run --out z --write-z z.safetensors
: > empty.html
exits 0 report run --out empty.html # an empty file
exits 0 data --synthesize shapes --classes 3 --count 24 --size 16 -q
mv shapes/disc 'shapes/=1+2;"x"'
mv shapes/ring "shapes/$(printf '@a\tb')"
exits 0 --data shapes --model "$root/tests/eyes16.cfg" --batch 8 --epochs 1 --test 0.5 --out eyes -q
rule --sheet said.png classify eyes shapes --sheet said.png
# class names are escaped for spreadsheets
head -n 1 eyes/confusion.csv | grep -qxF "is \\ said,\"'=1+2;\"\"x\"\"\",'@a\\x09b,square,accuracy"
fact $? "confusion.csv should begin otherwise: $(head -n 1 eyes/confusion.csv)"

exits 2 data --synthesize drawn --count 3 --size 16 --seed 1 -q --sheet x.png --force=maybe
exits 0 data --synthesize drawn --count 3 --size 16 --seed 1 -q
refuses 2 'image-in-the-way --force' data --synthesize drawn --count 3 --size 16 --seed 2 -q
exits 0 data --synthesize drawn --count 3 --size 16 --seed 2 -q --force
exits 0 data --synthesize drawn --count 3 --size 16 --seed 2 -q

# a cache: a warning, and the images are decoded
echo mine > cache
exits 0 data cats --size 16 --cache cache
says cache-not-used cache --cache --force
ensure 'the cache should be left alone' [ "$(cat cache)" = mine ]
exits 0 data cats --size 16 --cache cache --force
exits 0 data cats --size 16 --cache cache
ensure 'the cache should be used without a warning' [ "$(grep -c '^dcgan: warning' "$dir/.err")" -eq 0 ]

# inputs of the command and other kinds of files are not replaced
exits 0 generate run -n 20 --out made16 -q
cp made16/seed-0003.png before.png
exits 2 data made16 --size 16 --sheet made16/seed-0003.png
says output-is-input made16/seed-0003.png --sheet --force
same before.png made16/seed-0003.png
exits 0 data cats --size 16 --sheet made16/seed-0003.png
mv before.png made16/seed-0003.png
refuses 2 'output-is-input run/checkpoint.safetensors' export run --out run/checkpoint.safetensors
refuses 2 'other-kind other/checkpoint.safetensors' export run --out other/checkpoint.safetensors
says other-kind run generator
refuses 2 'other-kind run/reals.png' report run --out run/reals.png
says other-kind image report
refuses 2 'foreign-file cats/cat-00000.png' data cats --size 16 --sheet cats/cat-00000.png

# standard output
exits 0 report run --out page.html -q
for out in - /dev/fd/1 /proc/self/fd/1 /dev/stdout; do
    exits 0 report run --out $out
    same "$dir/.out" page.html
    stderr_has 'standard output: 1 run'
    "$program" report run --out $out -q | cmp -s - page.html
    fact $? "--out $out should write to a pipe"
done
exits 0 report run --out /dev/stderr -q
same "$dir/.err" page.html
exits 0 data cats --size 16 --sheet -
stderr_has '64 usable'
same "$dir/.out" sheet.png
exits 0 report run --out b.html --gif -
same "$dir/.out" a.gif
exits 0 export run --out -
same "$dir/.out" g.safetensors
refuses 2 'stdout-has-json --sheet -' data cats --size 16 --sheet - --json
refuses 2 'stdout-taken --gif /dev/stdout' report run --out - --gif /dev/stdout
exits 2 data cats --size 16 --augment color --sheet both.png --aug-preview both.png
says output-taken '--aug-preview both.png' --sheet
exits 2 report run --out sheet.png --gif ./sheet.png --force
says output-taken '--gif ./sheet.png' --out
for command in 'generate run' 'interpolate run' "--data cats --model $tiny"; do
    # shellcheck disable=SC2086 # words
    refuses 2 output-needs-directory $command --out -
done
refuses 2 'output-read-again --cache -' data cats --size 16 --cache -
"$program" report run --out - > /dev/full 2> .err
fact $(($? != 4)) 'a full standard output should be an error'
says cannot-write 'No space left'
{ sleep 0.3; "$program" report run --out - 2> .err; echo $? > code; } | true
ensure 'a closed pipe should be an error' [ "$(cat code)" = 4 ]
stderr_has 'Broken pipe'

"$program" report run --out - 2> .err >&-
fact $(($? != 4)) 'a closed standard output should be an error'
says stdout-closed
# no descriptor is left for a copy of standard output (AddressSanitizer itself does not start so)
if ! grep -q __asan_init "$program"; then
    sh -c 'ulimit -S -n 3; exec "$0" report run --out -' "$program" > few 2>&-
    fact $(($? != 4)) 'standard output that cannot be copied should be an error'
    ensure 'nothing should be written' [ ! -s few ]
    sh -c 'ulimit -S -n 3; exec "$0" --version' "$program" > few 2>&-
    fact $? 'dcgan --version should need no further descriptor'
fi
# the error of a command is not replaced by that of a full standard output
mkdir half
cp cats/cat-0000[0-4].png half
echo text > half/bad.png
"$program" data half --size 16 > /dev/full 2> .err
fact $(($? != 3)) "unreadable images and a full standard output should exit 3: $(cat .err)"
! grep -q 'standard output' .err
fact $? "one error should be printed: $(cat .err)"

exits 4 report run --out /dev/fd/9
says output-not-open '--out /dev/fd/9:' 'Bad file descriptor'
"$program" report run --out /dev/fd/9 -q 9> nine
same nine page.html

# FIFOs, devices, links
mkfifo fifo
cat fifo > got &
exits 0 report run --out fifo -q
wait $!
same got page.html
ensure 'the FIFO should stay' [ -p fifo ]
exits 0 report run --out /dev/null
refuses 4 'cannot-write No space left' report run --out /dev/full
refuses 4 'exists-as walk' report run --out walk
refuses 2 output-not-regular data cats --size 16 --cache fifo
mkdir far && ln -s far/page.html link.html
refuses 4 broken-link report run --out link.html
echo mine > far/page.html
refuses 2 'foreign-file link.html' report run --out link.html
cp page.html far/page.html
exits 0 report run other --out link.html
[ -L link.html ] && ! cmp -s page.html far/page.html
fact $? 'the target of the link should be replaced, the link stay'

# samples of two checkpoints
exits 0 generate run -n 3 --out made16 -q # some of them again
exits 2 generate other -n 20 --out made16 -q
says holds-other-samples made16 grid.png --out
exits 0 generate g.safetensors -n 20 --out same16 -q
exits 0 eval made16 --data cats --model "$tiny"
cp cats/cat-0000[0-3].png made16
exits 3 eval made16 --data cats --model "$tiny"
says mixed-origins made16: 24 2 '20 from tiny, step 8,' '; 4 from' --force
rm made16/cat*
exits 2 generate other --seeds 100-120 --out made16 -q
exits 0 generate other --seeds 100-120 --out made16 -q --force
refuses 3 'mixed-origins 21 from tiny, step 16,' eval made16 --data cats --model "$tiny"
exits 0 eval made16 --data cats --model "$tiny" --force
says metrics-of-mixture made16 '21 from tiny, step 16,'
exits 0 eval cats --data cats --model "$tiny" # without origins
rename() # rename SEED FROM TO: in the texts of the sample of this seed; the texts keep their lengths
{
    LC_ALL=C sed "s/$2/$3/" "made16/seed-0$1.png" > changed.png && mv changed.png "made16/seed-0$1.png"
}
for seed in 101 102 103 104 105 106 107 108; do rename $seed 'step 16, w' "step 9${seed#10}, w"; done
rename 109 Origin Orixin # as older versions wrote it: model, step and seed are texts of their own
refuses 3 'mixed-origins 12 from tiny, step 16,' eval made16 --data cats --model "$tiny"
says mixed-origins '; 1 from tiny, step 16, seed 1;' '; further checkpoints: 3;'
# without --out the samples of a later epoch go into another folder
shows 'run/generated/seed-0000.png to seed-0001.png' generate run -n 2
cp other/checkpoint.safetensors run/checkpoint.safetensors
shows 'run/generated-2/seed-0000.png to seed-0001.png' generate run -n 2
shows 'run/generated-2/' generate run -n 2
echo mine > run/generated-2/notes.txt
refuses 2 'holds-other-files notes.txt' generate run -n 2
finish
