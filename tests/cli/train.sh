#!/bin/sh
# Runs: what they leave, how they end, how they go on; and what is made from them.
# shellcheck disable=SC2086 # $train is several words
. "$(dirname "$0")/kit"
cd "$dir" || exit 1
exits 0 data --synthesize cats --count 60 --size 32 || finish
train='--data cats --model dcgan32 --batch 16 -q --no-curves'

exits 0 $train --epochs 2 --out a/run
silent
for f in config.ini log.csv log.jsonl reals.png epoch-0001.png epoch-0002.png checkpoint.safetensors; do
    holds a/run/$f
done
lacks a/run/skipped.txt
[ "$(wc -l < a/run/log.csv)" -eq 9 ]
fact $? 'log.csv should have a header and 8 steps'

# a run is never overwritten, only resumed; --epochs is the total
cp a/run/checkpoint.safetensors before
exits 2 $train --epochs 2 --out a/run
says 'already holds a run'
says '--resume --out a/run'
same before a/run/checkpoint.safetensors
exits 0 --resume --out a/run --epochs 4 -q
holds a/run/epoch-0004.png
exits 2 --resume --out a/run --seed 5
says '--seed 5: this run was begun with 1, which cannot change'
exits 2 --resume --out a/run --precision fp64
says '--precision fp64: this run was begun with fp32, which cannot change'
# the same command again is another run, and says how to go on with the one before
exits 0 $train --epochs 1
exits 0 --data cats --model dcgan32 --batch 16 --no-curves --steps 1
says 'samples/cats-dcgan32 holds a run, too: to go on with that one, '
says ' --resume --out samples/cats-dcgan32'
holds samples/cats-dcgan32-2/config.ini
# a run's own name comes from the folder of pictures, and may become too long
long=$(printf '%0250d' 0)
mkdir "$long"
exits 4 --data "$long" --model dcgan32
says 'File name too long; --out names another'
# a finished run: nothing to do, and how to go on; what has another value is told with the old one
exits 0 --resume --out a/run
prints 'nothing to do, 4 epochs done and 4 asked for; --epochs N'
prints '--resume --out a/run --epochs 8'
if grep -q 'other values' .err; then fact 1 'nothing has another value'; fi
cp -r a/run other
exits 0 --resume --out other --epochs 3 --lr 0.5 --lr-d 0 --flip
prints 'nothing to do, 4 epochs done and 3 asked for'
says 'with other values than before: epochs 4 -> 3, lr 0.0002 -> 0.5, flip no -> yes'
if grep -q 'lr-d' .err; then fact 1 'the value that it has is not another one'; fi
exits 0 --resume --out other --epochs 5
says 'with other values than before: epochs 3 -> 5'
if grep -q 'nothing to do' .out; then fact 1 'there is an epoch to do'; fi
exits 0 --resume --out other --lr 0.25 -q
silent
exits 2 --resume --out cats
says 'holds no run'
exits 2 --resume

# a run that cannot begin leaves nothing behind
mkdir empty
exits 3 --data empty --out not/begun
lacks not
exits 3 --data cats --limit 10 --model dcgan32 --batch 16 --out not/begun
lacks not

# what was asked for did not come out: exit code 1
exits 1 replay "$root/tests/golden/oracle16.safetensors" --tol 1e-30

# in one go, with other thread counts, from its config.ini: the same pictures
exits 0 $train --epochs 4 --out b/run --threads 1
exits 0 --config a/run/config.ini --epochs 4 -q --out c/run --threads 3
for r in b c; do
    for e in 1 2 3 4; do same a/run/epoch-000$e.png $r/run/epoch-000$e.png; done
done
# from an older checkpoint: the epochs behind it again
cp a/run/epoch-0004.png last.png
exits 0 --resume a/run/checkpoint-0003.safetensors -q
same last.png a/run/epoch-0004.png
mv a/run/epoch-0004.png .
exits 0 --from-epoch 3 --out a/run -q # the same by its number
same last.png a/run/epoch-0004.png
exits 2 --from-epoch 2 --out a/run
says 'has kept no checkpoint of that epoch, but of 3'
exits 2 --from-epoch 3 --resume a/run/checkpoint-0003.safetensors
says 'give one or the other'
# what a kill or a full disk kept from being written behind the last checkpoint is made up for
cp a/run/reals.png reals.png
rm a/run/epoch-0004.png a/run/reals.png
exits 0 --resume --out a/run -q
same last.png a/run/epoch-0004.png
same reals.png a/run/reals.png

# a run goes on with its own pictures; others get a run of their own, unless that is said (init.sh)
cp -r cats fewer
exits 0 --data fewer --model dcgan32 --batch 16 --epochs 1 -q --no-curves --out d/run
rm fewer/cat-00007.png
exits 0 --resume --out d/run --epochs 2 -q
says '(60 then, 59 now): they get a run of their own, d/run-2, which begins with its weights'
says '--other-pictures'
cp cats/cat-00008.png fewer/cat-00007.png
exits 0 --resume --out d/run --epochs 2 -q
says '(60 then, 60 now): they get a run of their own, d/run-3'
lacks d/run/epoch-0002.png
exits 0 --resume --out d/run --epochs 2 -q --other-pictures
says 'differs from an uninterrupted run'
exits 0 --resume --out d/run --epochs 3 -q # they are its own now
silent

# where a run was interrupted within its epochs their means are, to the last digit, those of one that was not
tiny="--data cats --model $root/tests/tiny.cfg --batch 4 --no-report -q"
exits 0 $tiny --epochs 2 --out whole
exits 0 $tiny --epochs 2 --steps 7 --out parts
for steps in 9 13 24 31; do exits 0 --resume --out parts --steps $steps -q; done
for run in whole parts; do sed 's/,"\(seconds\|img_s\)".*//' $run/log.jsonl > $run.log; done
same whole.log parts.log

# a checkpoint that cannot be kept is told, also by the exit code; the newest is there all the same
exits 0 $tiny --epochs 1 --checkpoint-every 1 --keep 2 --out unkept
mkdir -p unkept/checkpoint-0001.safetensors/in-the-way
exits 4 --resume --out unkept --epochs 2 -q
says 'cannot keep unkept/checkpoint.safetensors as checkpoint-0001.safetensors'
exits 0 generate unkept -n 1 --out of-unkept

# settings reach the run
exits 0 $train --epochs 2 --out few --keep 0 --sample-every 2 --grid 2x3
lacks few/epoch-0001.png
lacks few/checkpoint-0001.safetensors
holds few/epoch-0002.png
exits 0 $train --steps 5 --out steps
[ "$(wc -l < steps/log.csv)" -eq 6 ]
fact $? '--steps 5 should leave 5 rows'
grep -q '^epochs = 1000$' steps/config.ini && grep -q '^sample-every = 4$' steps/config.ini
fact $? 'config.ini should keep what --epochs auto and --sample-every auto became'
exits 0 --resume --out steps
prints 'nothing to do, 5 steps done and 5 asked for; --steps N'
exits 0 --data cats --model dcgan32 --batch 16 --steps 1 --out auto
prints '--resume --out auto --steps 2'
prints 'generate auto --count 16' # within its first epoch there is no grid yet
says 'epochs auto: 1000 epochs, 4000 steps in all (25 epochs, but at least 4000 steps and at most 40000)'
exits 0 --data cats --model dcgan32 --batch 16 --epochs 1 --out loud
says 'epoch 1/1'
holds loud/curves.png

# a network by its shape: trained, resumed, told, used
exits 0 --data cats --size 20 --channels 1 --batch 16 --epochs 1 -q --no-curves --out shape
grep -q '^model = dcgan-20x1$' shape/config.ini
fact $? 'config.ini should name the shape'
exits 0 --resume --out shape --epochs 2 -q
exits 2 --resume --out shape --size 24 --channels 1
says '--model dcgan-24x1: this run was begun with dcgan-20x1, which cannot change'
exits 0 info shape/checkpoint.safetensors
prints 'dcgan-20x1'
exits 0 generate shape -n 2 --out shape-pictures
holds shape-pictures/seed-0001.png

# four channels: pictures with alpha in and out
exits 0 --data cats --size 16 --channels 4 --batch 16 --epochs 1 -q --no-curves --out four
exits 0 generate four -n 2 --out four-pictures
exits 0 interpolate four --frames 2 --out four-walk
holds four-walk/walk.gif
for f in four/epoch-0001.png four/reals.png four-pictures/seed-0001.png four-pictures/grid.png four-walk/strip.png; do
    [ "$(od -An -tu1 -j25 -N1 $f | tr -d ' ')" = 6 ]
    fact $? "$f should be RGB with alpha"
done
exits 0 info four/checkpoint.safetensors
prints 'colour with alpha'

# fewer pictures than a batch that nobody asked for
exits 0 --data cats --model dcgan32 --limit 40 --epochs 2 --out smaller
says 'batch size 32 instead of 64: the dataset has 40 images'
says 'the network will repeat a dataset of 40 images'
grep -q '^batch = 32$' smaller/config.ini
fact $? 'config.ini should keep the smaller batch'
sed -i 's/^batch = .*/batch = 64/' smaller/config.ini # as a run leaves it that is killed while it reads its pictures
rm smaller/checkpoint*
exits 0 --resume --out smaller --epochs 1
says 'batch size 32 instead of 64'
exits 0 --data cats --model dcgan32 --limit 5 --steps 3 -q --no-curves --out five
exits 0 --data cats --model dcgan32 --limit 5 --dry-run
prints 'batch      4 pictures, 2 steps an epoch, the last one of 1 picture'
exits 3 --data cats --model dcgan32 --limit 1 -q --out one
says 'only 1 usable picture, at least 2 are needed'
exits 3 --data cats --model dcgan32 --limit 40 --batch 64 -q --out one
says 'only 40 usable pictures, at least 64 are needed for one batch'
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
    code=$?
    [ $code -eq "$2" ]
    fact $? "SIG$1: exit $code, not $2"
    grep -q -e '--resume --out long' stopped
    fact $? "SIG$1 should tell how to resume: $(tail -n 2 stopped)"
    holds long/checkpoint.safetensors
}
begin --data cats --model dcgan32 --batch 16 --epochs 100000 --sample-every 0 --checkpoint-every 1000 --out long
exits 7 --resume --out long
says "$pid"
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

# after some seconds of steps it is said how long the others will take
begin --resume --out long --epochs 100000
for i in $(seq 300); do
    if grep -q 'steps left, in about' stopped; then break; fi
    sleep 0.1
done
grep -Eq '^[0-9]+ steps left, in about [0-9.]+ (minutes|hours|days): [0-9.]+ m?s per step over' stopped
fact $? "the time should be told: $(tail -n 3 stopped)"
stops USR1 138 # as of a batch system

# NaN stops the run, and the last checkpoint stays
sed 's/norm = batch/norm = none/' "$root/models/dcgan32.cfg" > wild.cfg
exits 6 --data cats --model wild.cfg --batch 60 -q --lr 10 --eps 1e-30 --beta1 0.999 --beta2 0 --epochs 20 --out wild
says NaN
exits 0 generate wild/checkpoint.safetensors -n 1 --out wild/pictures

# files and disks
: > file
exits 4 $train --out file/run
(
    failed=0
    ulimit -f 2000
    exits 4 $train --epochs 1 --out full
    says 'bytes needed'
    [ "$failed" -eq 0 ]
)
fact $? 'a limit on the file size is reported as an error of writing'
lacks full/checkpoint.safetensors

# pictures
exits 0 generate a/run/checkpoint.safetensors -n 5 --out g
for i in 0 1 2 3 4; do holds g/seed-000$i.png; done
holds g/grid.png
prints g/grid.png
exits 0 generate a/run/checkpoint.safetensors --seeds 3-3 --out h --threads 1
same g/seed-0003.png h/seed-0003.png
lacks h/grid.png
# to be looked at, 3 x 2 pictures with their gaps, 104 x 70, grow to about 800 pixels: not with --scale 1
exits 0 info g/grid.png
prints '728 x 490'
exits 0 generate a/run/checkpoint.safetensors -n 5 --scale 1 --out g
exits 0 info g/grid.png
prints '104 x 70'
exits 2 generate a/run/checkpoint.safetensors -n 5 --scale 33 --out g
says '--scale 33'
exits 0 interpolate a/run/checkpoint.safetensors --seeds 3-5 --frames 4 --out w
holds w/strip.png
[ "$(head -c 6 w/walk.gif)" = GIF89a ]
fact $? 'walk.gif should be a GIF'
screen() { od -An -tu2 -j6 -N4 "$1" | tr -s ' ' x; }
[ "$(screen w/walk.gif)" = x800x800 ]
fact $? "a walk should be enlarged to 800 pixels, not $(screen w/walk.gif)"
# several walks: seeds 3-5, 6-8 and 9-11, a row of the strip for each step of each, three of four places of the GIF
exits 0 interpolate a/run/checkpoint.safetensors --seeds 3-5 --frames 4 --walks 3 --scale 2 --out w3
[ "$(screen w3/walk.gif)" = x140x140 ]
fact $? "three walks should be 140 pixels wide, not $(screen w3/walk.gif)"
exits 0 info w3/strip.png
prints '344 x 412'
prints 'Pictures: 3-11'
exits 2 interpolate a/run/checkpoint.safetensors --walks 0 --out w3
exits 0 generate a/run/checkpoint.safetensors --seeds 2-6 --out g # once more into its own
holds g/seed-0006.png
for foreign in cats a/run w; do
    exits 2 generate a/run/checkpoint.safetensors -n 1 --out $foreign
    says "$foreign: holds "
    lacks $foreign/seed-0000.png
done
head -c 100000 a/run/checkpoint.safetensors > cut.safetensors
exits 4 generate cut.safetensors --out x
says cut.safetensors
exits 4 generate cats/cat-00001.png --out x
exits 4 generate none.safetensors --out x
exits 4 generate a/run/checkpoint.safetensors --out file
lacks x

# files
for f in a/run/checkpoint.safetensors g/grid.png; do exits 0 info $f; done
exits 0 export a/run/checkpoint.safetensors generator.safetensors
exits 0 info generator.safetensors
exits 0 import generator.safetensors --model dcgan32 --out back.safetensors
exits 0 generate back.safetensors -n 1 --out i
exits 0 import generator.safetensors derived.safetensors
exits 0 generate derived.safetensors -n 1 --out j
exits 4 import generator.safetensors --model dcgan64 --out wrong.safetensors
says main.0.weight
lacks wrong.safetensors
finish
