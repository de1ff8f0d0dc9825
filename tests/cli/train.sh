#!/bin/sh
# Runs: their files, ends and resuming; generate, interpolate, export and import.
# shellcheck disable=SC2086 # $train is several words
. "$(dirname "$0")/kit"
cd "$dir" || exit 1
exits 0 data --synthesize cats --count 60 --size 32 || finish
train='--data cats --size 16 --batch 16 -q --no-curves'

quietly $train --epochs 2 --out a/run
for f in config.ini log.csv log.jsonl reals.png epoch-0001.png epoch-0002.png checkpoint.safetensors; do
    holds a/run/$f
done
lacks a/run/skipped.txt
ensure 'log.csv should have a header and 8 steps' [ "$(wc -l < a/run/log.csv)" -eq 9 ]

# a run is never overwritten, only resumed; --epochs is the total
cp a/run/checkpoint.safetensors before
refuses 2 'run-exists --resume --out a/run' $train --epochs 2 --out a/run
same before a/run/checkpoint.safetensors
exits 0 --resume --out a/run --epochs 4 -q
holds a/run/epoch-0004.png
exits 2 --resume --out a/run --seed 5
says fixed-in-run '--seed 5:' ' 1'
exits 2 --resume --out a/run --precision fp64
says fixed-in-run '--precision fp64' fp32
# the same command again is another run, and prints how to resume the previous one
exits 0 $train --epochs 1
exits 0 --data cats --size 16 --batch 16 --no-curves --steps 1
says note-other-run '--resume --out samples/cats-dcgan-16x3'
holds samples/cats-dcgan-16x3-2/config.ini
# the default name of a run is that of its dataset, and may be too long
long=$(printf '%0250d' 0)
mkdir "$long"
exits 4 --data "$long" --model dcgan32
says directory-not-made 'File name too long' --out
# a finished run: how to continue; changed options are printed with the old value
shows 'nothing to do: 4 epochs done of 4; use a larger --epochs N' --resume --out a/run
prints '--resume --out a/run --epochs 8'
never_says note-changed
cp -r a/run other
shows 'nothing to do: 4 epochs done of 3' --resume --out other --epochs 3 --lr 0.5 --lr-d 0 --flip
says note-changed 'epochs 4 -> 3, lr 0.0002 -> 0.5, flip no -> yes'
if grep -q 'lr-d' .err; then fact 1 'the value that it has is not another one'; fi
notes 'note-changed epochs 3 -> 5' --resume --out other --epochs 5
if grep -q 'nothing to do' .out; then fact 1 'there is an epoch to do'; fi
quietly --resume --out other --lr 0.25 -q
refuses 2 'no-run-to-resume cats' --resume --out cats
exits 2 --resume

# a run that cannot start leaves no files
mkdir empty
exits 3 --data empty --out not/begun
lacks not
exits 3 --data cats --limit 10 --size 16 --batch 16 --out not/begun
lacks not

# exit code 1: another result
exits 1 replay "$root/tests/golden/oracle16.safetensors" --tol 1e-30

# uninterrupted, with other thread counts, from its config.ini: the same samples
exits 0 $train --epochs 4 --out b/run --threads 1
exits 0 --config a/run/config.ini --epochs 4 -q --out c/run --threads 3
for r in b c; do
    for e in 1 2 3 4; do same a/run/epoch-000$e.png $r/run/epoch-000$e.png; done
done
# rewound to an older checkpoint
cp a/run/epoch-0004.png last.png
exits 0 --resume a/run/checkpoint-0003.safetensors -q
same last.png a/run/epoch-0004.png
mv a/run/epoch-0004.png .
exits 0 --from-epoch 3 --out a/run -q # by its number
same last.png a/run/epoch-0004.png
refuses 2 'epoch-not-kept (kept: 3)' --from-epoch 2 --out a/run
refuses 2 epoch-or-checkpoint --from-epoch 3 --resume a/run/checkpoint-0003.safetensors
# files that a kill or a full disk kept from being written are written when the run resumes
cp a/run/reals.png reals.png
rm a/run/epoch-0004.png a/run/reals.png
exits 0 --resume --out a/run -q
same last.png a/run/epoch-0004.png
same reals.png a/run/reals.png

# another dataset starts a new run, unless --allow-data-change is given (init.sh)
cp -r cats fewer
exits 0 --data fewer --size 16 --batch 16 --epochs 1 -q --no-curves --out d/run
rm fewer/cat-00007.png
exits 0 --resume --out d/run --epochs 2 -q
says other-images 60 59 d/run-2 --allow-data-change
cp cats/cat-00008.png fewer/cat-00007.png
exits 0 --resume --out d/run --epochs 2 -q
says other-images '60 images before, 60 now' d/run-3
lacks d/run/epoch-0002.png
notes 'images-changed 60' --resume --out d/run --epochs 2 -q --allow-data-change
exits 0 --resume --out d/run --epochs 3 -q # with the new dataset
silent

# means of interrupted epochs equal those of an uninterrupted run to the last digit
tiny="--data cats --model $root/tests/tiny.cfg --batch 4 --no-report -q"
exits 0 $tiny --epochs 2 --out whole
exits 0 $tiny --epochs 2 --steps 7 --out parts
for steps in 9 13 24 31; do exits 0 --resume --out parts --steps $steps -q; done
for run in whole parts; do sed 's/,"\(seconds\|img_s\)".*//' $run/log.jsonl > $run.log; done
same whole.log parts.log
same whole/checkpoint.safetensors parts/checkpoint.safetensors

# a checkpoint that cannot be kept: a message and exit code 4; the newest one is written
exits 0 $tiny --epochs 1 --checkpoint-every 1 --keep 2 --out unkept
mkdir -p unkept/checkpoint-0001.safetensors/in-the-way
exits 4 --resume --out unkept --epochs 2 -q
says checkpoint-not-kept unkept/checkpoint.safetensors checkpoint-0001.safetensors
exits 0 generate unkept -n 1 --out of-unkept

# settings
exits 0 $train --epochs 2 --out few --keep 0 --sample-every 2 --grid 2x3
lacks few/epoch-0001.png few/checkpoint-0001.safetensors
holds few/epoch-0002.png
exits 0 $train --steps 5 --out steps
ensure '--steps 5 should leave 5 rows' [ "$(wc -l < steps/log.csv)" -eq 6 ]
config steps 'epochs = 1000' 'sample-every = 4'
shows 'nothing to do: 5 steps done of 5; use a larger --steps N' --resume --out steps
shows '--resume --out auto --steps 2' --data cats --size 16 --batch 16 --steps 1 --out auto
prints 'generate auto --count 16' # no grid yet within the first epoch
says note-epochs-auto 1000 4000 25 40000
says note-preset-auto small 0.995
exits 0 --data cats --size 16 --batch 16 --epochs 1 --out loud
stderr_has 'epoch 1/1'
lacks loud/curves.png
# a run of an older version, which drew curves.png
cp loud/epoch-0001.png loud/curves.png
sed 's/no-curves = no/no-curves = yes/' loud/config.ini > older.ini && mv older.ini loud/config.ini
config loud 'no-curves = yes'
exits 0 --resume --out loud --epochs 2 -q
same loud/curves.png loud/epoch-0001.png

# a network by its shape: trained, resumed, printed, used
exits 0 --data cats --size 20 --channels 1 --batch 16 --epochs 1 -q --no-curves --out shape
config shape 'model = dcgan-20x1'
exits 0 --resume --out shape --epochs 2 -q
exits 2 --resume --out shape --size 24 --channels 1
says fixed-in-run '--model dcgan-24x1' dcgan-20x1
shows 'dcgan-20x1' info shape/checkpoint.safetensors
exits 0 generate shape -n 2 --out shape-samples
holds shape-samples/seed-0001.png

# four channels: images with alpha
exits 0 --data cats --size 16 --channels 4 --batch 16 --epochs 1 -q --no-curves --out four
exits 0 generate four -n 2 --out four-samples
exits 0 interpolate four --frames 2 --out four-walk
holds four-walk/walk.gif
for f in four/epoch-0001.png four/reals.png four-samples/seed-0001.png four-samples/grid.png four-walk/strip.png; do
    ensure "$f should be RGB with alpha" [ "$(od -An -tu1 -j25 -N1 $f | tr -d ' ')" = 6 ]
done
shows 'colour with alpha' info four/checkpoint.safetensors

# fewer images than the default batch size
exits 0 --data cats --size 16 --limit 40 --epochs 2 --out smaller
says note-batch-smaller 32 64 40
says note-repeats 40
config smaller 'batch = 32'
sed -i 's/^batch = .*/batch = 64/' smaller/config.ini # as after a kill while it decoded its images
rm smaller/checkpoint*
exits 0 --resume --out smaller --epochs 1
says note-batch-smaller 32 64
exits 0 --data cats --size 16 --limit 5 --steps 3 -q --no-curves --out five
exits 0 --data cats --size 16 --limit 5 --dry-run
prints 'batch      4 images, 2 steps per epoch, the last step with 1 image'
exits 3 --data cats --size 16 --limit 1 -q --out one
says few-images 1 2
exits 3 --data cats --size 16 --limit 40 --batch 64 -q --out one
says few-images 40 64
lacks one

# one run at a time, stopped by signals, resumed
begin() # begin ARGUMENT...: in the background, until the first rows are in the log
{
    rows=$(cat long/log.csv 2> /dev/null | wc -l)
    # a shell has SIGINT ignored in the background, nohup SIGHUP
    env --default-signal=INT,HUP "$program" "$@" > stopped 2>&1 &
    pid=$!
    for i in $(seq 300); do
        [ "$(cat long/log.csv 2> /dev/null | wc -l)" -gt $((rows + 2)) ] && return
        sleep 0.1
    done
}
stops() # stops SIGNAL CODE
{
    kill -"$1" $pid
    wait $pid
    exited $? "$2" "SIG$1: a run"
    ensure "SIG$1 should tell how to resume: $(tail -n 2 stopped)" grep -q -e '--resume --out long' stopped
    holds long/checkpoint.safetensors
}
begin --data cats --size 16 --batch 16 --epochs 100000 --sample-every 0 --checkpoint-every 1000 --out long
refuses 7 "run-in-use $pid" --resume --out long
exits 7 $train --out long
stops TERM 143
exits 0 --resume --out long -q --epochs 1
begin --resume --out long --epochs 100000
stops HUP 129
if env --default-signal=INT true 2> /dev/null; then
    begin --resume --out long --epochs 100000
    stops INT 130
else
    skip 'SIGINT: this env cannot reset signals'
fi

# after some seconds the remaining time is printed
begin --resume --out long --epochs 100000 --threads 1
for i in $(seq 300); do
    if grep -q '\[note-time-left\]' stopped; then break; fi
    sleep 0.1
done
grep -Eq '^\[note-time-left\] [0-9]+ .* [0-9.]+ (minutes|hours|days): [0-9.]+ m?s ' stopped
fact $? "the time should be told: $(tail -n 3 stopped)"
stops USR1 138 # from a batch system

# NaN stops the run, and the last checkpoint stays
sed 's/norm = batch/norm = none/' "$root/models/dcgan32.cfg" > wild.cfg
exits 6 --data cats --model wild.cfg --batch 60 -q --lr 10 --eps 1e-30 --beta1 0.999 --beta2 0 --epochs 20 --out wild
says not-finite
exits 0 generate wild/checkpoint.safetensors -n 1 --out wild/samples

# files and disks
: > file
exits 4 $train --out file/run
(
    failed=0
    ulimit -f 2000
    refuses 4 disk-space $train --epochs 1 --out full
    [ "$failed" -eq 0 ]
)
fact $? 'a limit on the file size is reported as an error of writing'
lacks full/checkpoint.safetensors

# generate and interpolate
exits 0 generate a/run/checkpoint.safetensors -n 5 --out g
for i in 0 1 2 3 4; do holds g/seed-000$i.png; done
holds g/grid.png
prints g/grid.png
exits 0 generate a/run/checkpoint.safetensors --seeds 3-3 --out h --threads 1
same g/seed-0003.png h/seed-0003.png
lacks h/grid.png
# a grid of 3 x 2 images, 56 x 38, is enlarged to about 800 pixels, but not with --scale 1
shows '784 x 532' info g/grid.png
exits 0 generate a/run/checkpoint.safetensors -n 5 --scale 1 --out g
shows '56 x 38' info g/grid.png
refuses 2 'option-value --scale 33' generate a/run/checkpoint.safetensors -n 5 --scale 33 --out g
exits 0 interpolate a/run/checkpoint.safetensors --seeds 3-5 --frames 4 --out w
holds w/strip.png
ensure 'walk.gif should be a GIF' [ "$(head -c 6 w/walk.gif)" = GIF89a ]
screen() { od -An -tu2 -j6 -N4 "$1" | tr -s ' ' x; }
ensure "a walk should be enlarged to 800 pixels, not $(screen w/walk.gif)" [ "$(screen w/walk.gif)" = x800x800 ]
# several walks: seeds 3-5, 6-8 and 9-11; the strip has a row for each step, the GIF three of four places
exits 0 interpolate a/run/checkpoint.safetensors --seeds 3-5 --frames 4 --walks 3 --scale 2 --out w3
ensure "three walks should be 76 pixels wide, not $(screen w3/walk.gif)" [ "$(screen w3/walk.gif)" = x76x76 ]
exits 0 info w3/strip.png
prints '184 x 220' 'Pictures: 3-11'
exits 2 interpolate a/run/checkpoint.safetensors --walks 0 --out w3
exits 0 generate a/run/checkpoint.safetensors --seeds 2-6 --out g # into its own folder again
holds g/seed-0006.png
for foreign in cats a/run w; do
    refuses 2 "holds-other-files $foreign:" generate a/run/checkpoint.safetensors -n 1 --out $foreign
    lacks $foreign/seed-0000.png
done
head -c 100000 a/run/checkpoint.safetensors > cut.safetensors
refuses 4 'bad-safetensors cut.safetensors' generate cut.safetensors --out x
exits 4 generate cats/cat-00001.png --out x
exits 4 generate none.safetensors --out x
exits 4 generate a/run/checkpoint.safetensors --out file
lacks x

# info, export and import
for f in a/run/checkpoint.safetensors g/grid.png; do exits 0 info $f; done
exits 0 export a/run/checkpoint.safetensors generator.safetensors
exits 0 info generator.safetensors
exits 0 import generator.safetensors --model dcgan-16x3 --out back.safetensors
exits 0 generate back.safetensors -n 1 --out i
exits 0 import generator.safetensors derived.safetensors
exits 0 generate derived.safetensors -n 1 --out j
refuses 4 'shape-mismatch main.0.weight' import generator.safetensors --model dcgan64 --out wrong.safetensors
lacks wrong.safetensors
finish
