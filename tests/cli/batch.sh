#!/bin/sh
# dcgan batch and --batch auto: small datasets, memory, two windows, rules, sweeps, signals. A run with --batch auto
# equals a run with the batch size that it found.
# shellcheck disable=SC2086 # $train is words
. "$(dirname "$0")/kit"
cd "$dir" || exit 1
model="$root/tests/tiny.cfg"
export DCGAN_SECONDS=1
"$program" data --synthesize cats --count 60 --size 16 -q || exit 1

refuses 2 batch-without-data batch "$model"
exits 2 batch "$model" --data cats --out x
refuses 2 'bad-sweep 9-8' batch "$model" --data cats --sweep 9-8
exits 2 batch "$model" --data cats --min-batch 9 --max-batch 8
exits 2 batch "$model" --data cats --rule best
exits 3 batch "$model" --data cats --min-batch 61
exits 3 batch "$model" --data none
exits 2 batch none --data cats
exits 5 batch "$model" --data cats --device-memory 0.35
says advice-largest-batch # 4, or 3 where rows are wider
lacks x

# small datasets
exits 0 batch "$model" --data cats --limit 40
prints '8: the smallest size that was tried; it leaves 5 steps per epoch'
prints '--min-batch 1'
says timing-batch 8
quietly batch "$model" --data cats --limit 8 -q
prints '8: the smallest size that was tried; it leaves 1 step per epoch'
shows '8: the fastest; the dataset has only 8 images; ' batch "$model" --data cats --limit 8 -q --min-steps 1
shows 'leaves 3 steps per epoch' batch "$model" --data cats --drop-last --min-batch 16 --max-batch 16 --min-steps 4 -q
exits 0 batch "$model" --data cats --min-batch 16 --max-batch 16 --min-steps 4 -q
prints '16: the fastest; larger sizes were not tried (--max-batch); '

# the recipe of the run: gradient penalties need more memory
one='batch --data cats --size 16 --min-batch 8 --max-batch 8 --min-steps 1 --seconds 0.01 --json -q'
bytes() { sed -n 's/.*"memory_bytes":[^0-9]*\([0-9]*\),.*/\1/p' "$dir/.out" | head -n 1; }
exits 0 $one --norm-d spectral
plain=$(bytes)
exits 0 $one --preset steady
prints dcgan-16x3-spectral
ensure "penalties need memory: $plain bytes without, $(bytes) with" [ "$(bytes)" -gt "$plain" ]
exits 0 $one --norm-d none --loss rpgan --r1 1 --r2 1 --optimizer sgd --augment color --ema 0.9
refuses 2 penalty-batch-norm $one --r1 1
refuses 2 preset-for-gans batch "$root/scripts/recipes/classifier.cfg" --data cats --preset small

# memory: the whole dataset, two windows, too little for the next size
memory() { sed -n 's/.*"memory_bytes":[^0-9]*\([0-9]*\),.*/\1/p' "$dir/.out" | head -n 1; }
exits 0 batch "$model" --data cats --max-batch 8 --json -q
whole=$(memory)
for key in '"batch":' '"because":' '"looks":' '"busy_percent":' '"percent_of_peak":' '"fma_peak_gflops":'; do
    prints "$key"
done
for kb in 160 150 140 130 120 110 100 90 80 70 60 50; do # with room for the checkpoint that is written
    mb=$(awk -v n="$whole" -v more=$kb 'BEGIN { print (n + 1e3 * more) / 1e6 }')
    exits 0 batch "$model" --data cats --max-batch 8 --device-memory "$mb" --json -q --seconds 0.01
    [ "$(memory)" -eq "$whole" ] || break
done
ensure "two windows should take less than $whole bytes: $(memory)" [ "$(memory)" -lt "$whole" ]
exits 0 batch "$model" --data cats --device-memory "$mb" -q --min-steps 1 --seconds 30
prints '8: the fastest; ' ' does not fit: the run needs ' '(--device-memory)'

# another program uses the CPU
sh -c 'while :; do :; done' &
busy=$!
exits 0 batch "$model" --data cats --max-batch 16 -q
kill $busy
prints 'Other programs used '

# the published rules, with few steps per round
shows '       3     17 ' batch "$model" --data cats --rule epoch-time --steps 2 --min-batch 8 -q
exits 0 batch "$model" --data cats --rule epoch-time --steps 2 --min-batch 58 -q # round 5 is the first that may end it
prints '; the next batch size, 63, does not fit.'
exits 0 batch "$model" --data cats --rule usage --steps 1 --min-batch 20 --json -q
prints '"usage_percent":' '"name":	"usage"'

# a range of sizes, without a choice
exits 0 batch "$model" --data cats --sweep 8-61:13 --seconds 0.02 -q
prints '     47 ' '     60 '
! grep -q '^\*' .out
fact $? "a sweep should choose no size: $(cat .out)"
exits 0 batch "$model" --data cats --sweep 8-61:13 --seconds 0.02 --json -q
"$python" - .out << 'END'
import json, sys
d = json.load(open(sys.argv[1]))
near = lambda a, b: abs(a - b) <= 1e-9 * b
ok = [s['batch'] for s in d['sizes']] == [8, 21, 34, 47, 60] and 'batch' not in d and 'because' not in d
for s in d['sizes']:
    ok &= near(s['images_per_s'], 1e3 * s['batch'] / s['ms']) and s['ms'] <= s['ms_median'] and s['memory_bytes'] > 1e5
    ok &= near(s['epoch_s'], 1e-3 * s['ms'] * s['steps_per_epoch']) and s['steps_per_epoch'] == -(-60 // s['batch'])
    ok &= 0 < s['busy_percent'] <= 100 and s['percent_of_peak'] > 0 and s['looks'] == 1
sys.exit(not ok)
END
fact $? "a sweep should have five sizes whose values agree: $(cat .out)"
exits 0 batch "$model" --data cats --sweep 16-200 --seconds 0.02 -q
prints 'The sweep ends before batch size 64: the dataset has only 60 images.'

# --batch auto: config.ini has the batch size; the run equals one with that size; resuming keeps it
train="--data cats --model $model --limit 40 --seed 3 -q"
exits 0 $train --epochs 2 --batch auto --out a/run
config a/run 'batch = 8'
exits 0 $train --epochs 2 --batch 8 --out b/run
for f in checkpoint.safetensors checkpoint-0001.safetensors epoch-0001.png epoch-0002.png reals.png; do
    same a/run/$f b/run/$f
done
quietly --resume --out a/run --epochs 3 --batch auto --max-batch 4 -q
exits 0 --resume --out b/run --epochs 3 -q
same a/run/checkpoint.safetensors b/run/checkpoint.safetensors
config a/run 'batch = 8'
exits 0 $train --epochs 1 --batch auto --out c/run --min-steps 20 --min-batch 2
config c/run 'batch = 2'
refuses 2 auto-batch-dry-run $train --batch auto --dry-run
refuses 2 auto-batch-command plan "$model" --batch auto
printf '[train]\nbatch = auto\n' | cat "$model" - > auto.cfg
refuses 2 auto-in-file --data cats --model auto.cfg --epochs 1 --out x

# a signal during the search leaves no files; after a kill the search starts again
rm .err # the background shell may empty it too late
"$program" --data cats --model dcgan64 --batch auto --seconds 300 --out d/run > .out 2> .err &
pid=$!
i=0
while [ $i -lt 200 ] && ! grep -q '\[note-timing-batch\]' .err; do sleep 0.1; i=$((i + 1)); done
kill -TERM $pid
wait $pid
exited $? 143 'a search that was stopped'
lacks d
"$program" $train --epochs 1 --batch auto --seconds 300 --out e/run 2> .err &
pid=$! i=0
while [ $i -lt 200 ] && ! [ -e e/run/config.ini ]; do sleep 0.02; i=$((i + 1)); done
kill -KILL $pid
wait $pid 2> /dev/null
exits 0 --resume --out e/run --epochs 1 --batch auto --min-batch 4 -q
ensure "after a kill: $(grep '^batch' e/run/config.ini)" grep -qx 'batch = [48]' e/run/config.ini
finish
