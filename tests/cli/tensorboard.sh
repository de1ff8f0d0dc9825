#!/bin/sh
# --tensorboard: the events equal the log and the grids, also after resuming.
# shellcheck disable=SC2086 # $train is several words
. "$(dirname "$0")/kit"
[ -n "$python" ] || { skip 'no python3 to read the events'; finish; }
cd "$dir" || exit 1
exits 0 data --synthesize cats --count 40 --size 16 || finish
train="--data cats --model $root/tests/gan16.cfg --batch 16 --grid 2x3 --no-curves --no-report -q"
events=events.out.tfevents.run
reads() { "$python" "$root/tests/cli/tensorboard.py" "$@" > .read 2>&1; fact $? "$*: $(tail -n 2 .read)"; }

exits 0 $train --epochs 3 --out plain
lacks plain/$events
quietly $train --epochs 3 --out run --tensorboard
reads run
# events after the checkpoint of a killed run are removed, also an incomplete record
cp run/$events whole
exits 0 --resume --out run --epochs 4 -q
reads run
cp run/$events longer
cp run/checkpoint-0003.safetensors run/kept
exits 0 --resume run/checkpoint-0003.safetensors --epochs 5 -q
reads run
same longer run/later-than-0003/$events
head -c 200 whole | tail -c 100 >> run/$events
exits 0 --resume --out run --epochs 6 -q
reads run
# switched on later: the whole log, and the grids from then on
exits 0 --resume --out plain --epochs 5 --tensorboard -q
reads plain 4
exits 0 --resume --out plain --epochs 6 -q
reads plain 4

# a classifier: the metrics of its test
exits 0 data --synthesize shapes --classes 3 --count 60 --size 16
exits 0 --data shapes --model "$root/tests/eyes16.cfg" --batch 16 --epochs 2 --test 0.3 -q --tensorboard --out eyes
reads eyes

# another file is replaced; a file that cannot be written is an error
echo nonsense > run/$events
exits 0 --resume --out run --epochs 7 -q
ensure 'a file without events should be started anew' [ "$(head -c 40 run/$events | grep -ac brain.Event:2)" -eq 1 ]
rm run/$events
mkdir run/$events
exits 4 --resume --out run --epochs 8 -q
stderr_has $events

# a start that is refused late leaves nothing, and a run that is not resumed stays as it was
exits 0 data --synthesize few --count 20 --size 16 -q
few="--data few --model $root/tests/gan16.cfg --batch 4 --epochs 1 -q"
exits 3 $few --tensorboard --eval-every 1 --out late
lacks late
exits 0 $few --out early
cp -r early before
exits 3 --resume --out early --tensorboard --eval-every 1 --epochs 2 -q
diff -r early before > .out
fact $? "the run should stay as it was: $(cat .out)"
finish
