#!/bin/sh
# --init: a run that is initialised from another one, on another dataset; --resume with another dataset does that, too.
. "$(dirname "$0")/kit"
cd "$dir" || exit 1
exits 0 data --synthesize cats --count 24 --size 16 -q
exits 0 data --synthesize others --count 20 --size 16 --seed 7 -q
echo no image > cats/notes
gan=$root/tests/gan16.cfg
small='--batch 8 --no-curves --no-report'

# shellcheck disable=SC2086 # words
train() { exits 0 $small "$@" -q; }

train --data cats --model dcgan-16x3 --preset none --epochs 2 --out first
# after a step of learning rate 1e-30: the weights of the other run, for both networks
train --data others --init first --preset none --steps 1 --lr 1e-30 --out same --epochs 1
silent
config same "init = $PWD/first/checkpoint.safetensors" 'model = dcgan-16x3'
for n in G D; do
    exits 0 export first --network $n --out first-$n.safetensors
    exits 0 export same --network $n --out same-$n.safetensors
    ensure "$n should have the weights of the other run" "$python" - first-$n.safetensors same-$n.safetensors << 'END'
import st, sys
def weights(path):
    return {n: v for n, v in st.values(path).items() if 'running' not in n and 'num' not in n}
assert weights(sys.argv[1]) == weights(sys.argv[2])
END
done

# a new run: epoch 1, and other weights than without --init
train --data others --init first/checkpoint.safetensors --epochs 1 --out tuned --seed 3
ensure "it should start with epoch 1: $(tail -n 1 tuned/log.csv)" [ "$(tail -n 1 tuned/log.csv | cut -d, -f1,2)" = 1,3 ]
train --data others --model dcgan-16x3 --epochs 1 --out plain --seed 3
differ tuned/checkpoint.safetensors plain/checkpoint.safetensors '--init should change the weights'
# resumed: the same bytes; the other run is not read again
train --data others --init first --epochs 2 --out whole --seed 3
mv first away
quietly --resume --out tuned --epochs 2 -q
same tuned/checkpoint.safetensors whole/checkpoint.safetensors
mv away first
refuses 2 'fixed-in-run --init plain' --resume --out tuned --init plain
exits 2 --resume --out plain --init first
says fixed-in-run '--init first' none
# killed before its first checkpoint: it starts again from --init
mkdir killed
cp tuned/config.ini killed
exits 0 --resume --out killed --epochs 2 -q
same killed/checkpoint.safetensors whole/checkpoint.safetensors

# a file with G only: D is initialised as usual. The model is a built-in one or given by --model
exits 0 export first --out g.safetensors
notes 'note-init-alone g.safetensors' --data others --init g.safetensors --batch 8 --epochs 1 --out alone
exits 0 import g.safetensors --out imported.safetensors
exits 0 --data others --init imported.safetensors --batch 8 --epochs 1 --out imported
says note-init 'G and D' imported.safetensors
train --data cats --model "$gan" --epochs 1 --out own
cp own/checkpoint.safetensors own.safetensors
train --data others --init own --epochs 1 --out from-run
config from-run "model = $gan"
refuses 2 'init-model-unknown --model FILE' --data others --init own.safetensors --out no
train --data others --init own.safetensors --model "$gan" --epochs 1 --out given

# mismatches are errors before any file is written
exits 4 --data others --init first --size 32 --out no
says shape-mismatch '--init: ' first/checkpoint.safetensors G.main.0.weight '(100, 64, 4, 4)' dcgan-32x3
refuses 4 'shape-mismatch dcgan-16x1' --data others --init first --size 16 --channels 1 --dry-run
refuses 4 'cannot-open none' --data others --init none --out no
refuses 4 not-a-run --data others --init cats --out no
refuses 4 'not-safetensors PNG' --data others --init cats/cat-00001.png --out no
refuses 2 'network-alone D' --data others --init first-D.safetensors --out no
lacks no

# --resume with another dataset: a new run, as with --init
holds first/skipped.txt
cp first/skipped.txt skipped
echo no image > others/hello
exits 0 --resume --out first/ --data others --epochs 1 -q
says other-images first-2 --allow-data-change
train --data others --init first --preset none --epochs 1 --out same-again
same first-2/checkpoint.safetensors same-again/checkpoint.safetensors
ensure 'the other run should not change' [ "$(wc -l < first/log.csv)" -eq 7 ]
same first/skipped.txt skipped
ensure "skipped.txt should list the run's own files: $(cat first-2/skipped.txt)" grep -q '^hello' first-2/skipped.txt
quietly --resume --out first-2 --epochs 2 -q
exits 0 --resume --from-epoch 1 --out first --data others --epochs 1 -q
has first-3/config.ini checkpoint-0001.safetensors
holds first/checkpoint-0001.safetensors
cp -r cats moved # the same dataset in another folder
quietly --resume --out first --data moved --epochs 3 -q
holds first/epoch-0003.png
finish
