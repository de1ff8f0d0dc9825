#!/bin/sh
# --init: a run that begins with the weights of another one, on other pictures; --resume on other pictures becomes one.
. "$(dirname "$0")/kit"
cd "$dir" || exit 1
exits 0 data --synthesize cats --count 24 --size 16 -q
exits 0 data --synthesize others --count 20 --size 16 --seed 7 -q
echo no picture > cats/notes
gan=$root/tests/gan16.cfg
small='--batch 8 --no-curves --no-report'

# shellcheck disable=SC2086 # words
train() { exits 0 $small "$@" -q; }

train --data cats --model dcgan-16x3 --epochs 2 --out first
# as it stands after no step at all: the weights and the statistics of the other run, of both networks
train --data others --init first --steps 1 --lr 1e-30 --out same --epochs 1
silent
grep -q "^init = $PWD/first/checkpoint.safetensors\$" same/config.ini && grep -q '^model = dcgan-16x3$' same/config.ini
fact $? "config.ini should have the model and where the weights are from: $(cat same/config.ini)"
for n in G D; do
    exits 0 export first --network $n --out first-$n.safetensors
    exits 0 export same --network $n --out same-$n.safetensors
done
if [ -n "${PYTHON:-}" ] && "$PYTHON" -c 'import safetensors.numpy' 2> /dev/null; then
    "$PYTHON" - << 'END'
import numpy as np
from safetensors.numpy import load_file
for n in "GD":
    a, b = (load_file(f"{r}-{n}.safetensors") for r in ("first", "same"))
    assert a.keys() == b.keys()
    for k in a:  # no weight has moved by 1e-30; D's statistics have seen one step more, and G's three
        if "running" in k: assert np.abs(a[k] - b[k]).max() < 0.6 * np.abs(b[k]).max(), k
        elif "num" not in k: assert (a[k] == b[k]).all(), (n, k)
END
    fact $? 'weights should be those of the other run, and statistics come along'
else
    skip 'weights are not compared: no python with safetensors'
fi

# a run of its own: epoch 1, and not what the pictures alone would give
train --data others --init first/checkpoint.safetensors --epochs 1 --out tuned --seed 3
[ "$(tail -n 1 tuned/log.csv | cut -d, -f1,2)" = 1,3 ]
fact $? "it should begin with epoch 1: $(tail -n 1 tuned/log.csv)"
train --data others --model dcgan-16x3 --epochs 1 --out plain --seed 3
if cmp -s tuned/checkpoint.safetensors plain/checkpoint.safetensors; then fact 1 'the weights should show'; fi
# in two goes the same bits, though the other run is gone by then: it is not read again
train --data others --init first --epochs 2 --out whole --seed 3
mv first away
exits 0 --resume --out tuned --epochs 2 -q
silent
same tuned/checkpoint.safetensors whole/checkpoint.safetensors
mv away first
exits 2 --resume --out tuned --init plain
says 'this run was begun with'
exits 2 --resume --out plain --init first
says 'this run was begun with none, which cannot change'
# killed before its first checkpoint: it begins again as it did
mkdir killed
cp tuned/config.ini killed
exits 0 --resume --out killed --epochs 2 -q
same killed/checkpoint.safetensors whole/checkpoint.safetensors

# G alone: D starts as ever. The model is a name's, or has to be said
exits 0 export first --out g.safetensors
exits 0 --data others --init g.safetensors --batch 8 --epochs 1 --out alone
says 'it begins with G of g.safetensors, which holds no D: that starts afresh'
exits 0 import g.safetensors --out imported.safetensors
exits 0 --data others --init imported.safetensors --batch 8 --epochs 1 --out imported
says 'it begins with G and D of imported.safetensors'
train --data cats --model "$gan" --epochs 1 --out own
cp own/checkpoint.safetensors own.safetensors
train --data others --init own --epochs 1 --out from-run
grep -q "^model = $gan\$" from-run/config.ini
fact $? 'the model file is named by the config.ini of the run'
exits 2 --data others --init own.safetensors --out no
says 'give that with --model FILE'
train --data others --init own.safetensors --model "$gan" --epochs 1 --out given

# what does not fit is named, before anything is written
exits 4 --data others --init first --size 32 --out no
says '--init: first/checkpoint.safetensors: tensor G.main.0.weight has shape (100, 64, 4, 4); model dcgan-32x3 needs'
exits 4 --data others --init first --size 16 --channels 1 --dry-run
says 'model dcgan-16x1 needs'
exits 4 --data others --init none --out no
says 'none'
exits 4 --data others --init cats --out no
says 'is a folder, but not of a run'
exits 4 --data others --init cats/cat-00001.png --out no
says 'is a PNG picture'
exits 2 --data others --init first-D.safetensors --out no
says 'network D alone'
lacks no

# --resume on other pictures: a run of its own, that of --init
holds first/skipped.txt
cp first/skipped.txt skipped
echo no picture > others/hello
exits 0 --resume --out first/ --data others --epochs 1 -q
says 'they get a run of their own, first-2, which begins with its weights; --other-pictures goes on in first'
train --data others --init first --epochs 1 --out same-again
same first-2/checkpoint.safetensors same-again/checkpoint.safetensors
[ "$(wc -l < first/log.csv)" -eq 7 ]
fact $? 'the other run stays as it is'
same first/skipped.txt skipped
grep -q '^hello' first-2/skipped.txt
fact $? "skipped.txt should be about the run's pictures: $(cat first-2/skipped.txt)"
exits 0 --resume --out first-2 --epochs 2 -q
silent
exits 0 --resume --from-epoch 1 --out first --data others --epochs 1 -q
grep -q 'checkpoint-0001.safetensors' first-3/config.ini
fact $? '--from-epoch: from that checkpoint'
holds first/checkpoint-0001.safetensors
cp -r cats moved # the same pictures elsewhere
exits 0 --resume --out first --data moved --epochs 3 -q
silent
holds first/epoch-0003.png
finish
