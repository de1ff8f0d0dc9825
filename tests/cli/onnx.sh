#!/bin/sh
# export --onnx and --network, generate --write-z: the files give the program's samples and answers. $PYTHON with NumPy
# runs them.
. "$(dirname "$0")/kit"
"$python" -c 'import numpy' 2> /dev/null || { skip 'python3 with NumPy is not here'; finish; }
onnx()
{
    "$python" "$root/tests/cli/onnx_run.py" "$@" > "$dir/.onnx" 2>&1
    fact $? "onnx_run.py $*: $(tail -n 3 "$dir/.onnx")"
}
cd "$dir" || exit 1

# a GAN: samples, and D
exits 0 data --synthesize cats --count 24 --size 16 -q || finish
exits 0 --data cats --model "$root/tests/tiny.cfg" --batch 8 --epochs 3 --out run -q || finish
shows "onnxruntime.InferenceSession('g.onnx')" export run --onnx --out g.onnx
shows 'network (ONNX)' info g.onnx
exits 0 generate run --seeds 3-9 --write-z z.safetensors --out made
onnx image g.onnx z.safetensors made/seed-000[3-9].png
exits 0 export run --network D --onnx d.onnx
onnx logits d.onnx
exits 0 export run --network G --out g.safetensors
exits 0 export run --out same.safetensors
same g.safetensors same.safetensors
exits 0 export run --network D --out d.safetensors
shows 'network: D' info d.safetensors
refuses 2 'network-alone D' generate d.safetensors
exits 0 export run --network D --out d.safetensors # again
refuses 2 'other-kind g.safetensors' export run --network D --out g.safetensors
says other-kind generator network
refuses 2 'no-such-network D' export g.safetensors --network D --out none.safetensors
exits 2 export run --network X --out none.safetensors
says network-choice '--network X' 'G or D'

# samples/pytorch.py
generates_alike() # generates_alike GENERATOR Z MADE: pytorch.py makes the images MADE/seed-0003.png and seed-0004.png
{
    "$python" -c 'import torch, safetensors, PIL' 2> /dev/null || return
    "$python" "$root/samples/pytorch.py" "$1" "$2" p3.png p4.png 2> .err
    fact $? "pytorch.py $1 failed: $(tail -n 1 .err)"
    "$python" -c 'import sys
import numpy
from PIL import Image
for ours, theirs in zip(sys.argv[1::2], sys.argv[2::2]):
    a, b = (numpy.asarray(Image.open(p)).astype(int) for p in (ours, theirs))
    assert a.shape == b.shape and abs(a - b).max() <= 1 and (a != b).mean() < 0.01' \
        "$3/seed-0003.png" p3.png "$3/seed-0004.png" p4.png 2> .err
    fact $? "pytorch.py $1 makes other images: $(tail -n 1 .err)"
}
"$python" -c 'import torch, safetensors, PIL' 2> /dev/null || skip 'torch, safetensors and pillow are not here'
generates_alike g.safetensors z.safetensors made

# networks without norm: resampling up and down, sums, groups, repeated blocks, samples beyond -1 to 1
"$root/tests/oracles/model.py" gan-residual | sed 's/^add = G.1/&\nrepeat = 2\nrepeat_from = G.2/' > repeated.cfg
for model in bilinear-16x3 residual-16x3 r3gan-16x3 repeated.cfg; do
    net=of-${model%[.]cfg}
    exits 0 --data cats --model $model --batch 8 --epochs 2 --lr 0.003 --out "$net" -q || finish
    exits 0 export "$net" --onnx --out "$net.onnx"
    exits 0 export "$net" --out "$net.safetensors"
    exits 0 export "$net" --network D --onnx "$net-d.onnx"
    exits 0 generate "$net" --seeds 3-9 --write-z "$net-z.safetensors" --out "$net-made"
    onnx image "$net.onnx" "$net-z.safetensors" "$net-made"/seed-000[3-9].png
    onnx logits "$net-d.onnx"
    exits 0 --data cats --model $model --batch 24 --steps 1 --init "$net" --out "$net-next" -q
    onnx judged "$net-d.onnx" "$net-next/log.csv" cats/*.png
    generates_alike "$net.safetensors" "$net-z.safetensors" "$net-made"
done

# classes: G reads them with z, and D has a logit for each
exits 0 data --synthesize three --classes 3 --count 66 --size 16 -q
conditional=of-classes
exits 0 --data three --model "$root/tests/tiny.cfg" --conditional --batch 8 --epochs 3 --out $conditional -q
exits 0 export $conditional --onnx --out $conditional.onnx
exits 0 export $conditional --out $conditional.safetensors
exits 0 export $conditional --network D --onnx $conditional-d.onnx
exits 0 generate $conditional --seeds 3-9 --write-z $conditional-z.safetensors --out $conditional-made
onnx image $conditional.onnx $conditional-z.safetensors $conditional-made/seed-000[3-9].png
onnx logits $conditional-d.onnx
generates_alike $conditional.safetensors $conditional-z.safetensors $conditional-made

# convolutions that read the vector of a dense layer
network vector.cfg '[model] name=vector size=16 latent=8' \
    '[G] op=conv_transpose filters=10 kernel=4 stride=2 pad=1 act=relu' '[G.1] op=dense' \
    '[G.2] norm=batch stride=1 pad=0' '[G.3]' '[G.4] filters=3 act=tanh' '[D] filters=8 act=leaky' \
    '[D.1] kernel=4 stride=2' '[D.2] op=dense' '[D.3] kernel=1 filters=1 act=none'
exits 0 --data cats --model vector.cfg --batch 8 --epochs 2 --out of-vector -q || finish
exits 0 export of-vector --onnx --out vector.onnx
exits 0 export of-vector --network D --onnx vector-d.onnx
exits 0 generate of-vector --seeds 3-9 --write-z vector-z.safetensors --out vector-made
onnx image vector.onnx vector-z.safetensors vector-made/seed-000[3-9].png
onnx logits vector-d.onnx

# spectral norm: ONNX has the normalised weights, the export for PyTorch weight_orig, u and v
exits 0 --data cats --model dcgan-16x3-spectral --batch 8 --epochs 2 --out normal -q || finish
exits 0 export normal --network D --out normal.safetensors
exits 0 export normal --network D --onnx normal.onnx
onnx spectral normal.onnx normal.safetensors

# only ONNX files are replaced
exits 0 export run --onnx --out g.onnx
cp run/checkpoint.safetensors kept.onnx
refuses 2 'other-kind ONNX' export run --onnx --out kept.onnx
same kept.onnx run/checkpoint.safetensors
exits 2 export run --out g.onnx
exits 4 export run --onnx --out no/such/folder.onnx

# classifiers: every kind of layer and every input
exits 0 data --synthesize shapes --classes 4 --count 40 --size 16 -q
answers_as_onnx() # answers_as_onnx MODEL NAME: train it in NAME; classify answers as the exported network does
{
    exits 0 --data shapes --model "$1" --test 0.2 --batch 8 --epochs 2 --out "$2" -q || cat .err
    exits 0 export "$2" --onnx --out "$2.onnx"
    "$program" classify "$2" shapes --json --top 4 > answers.json
    onnx classes "$2.onnx" answers.json
}
for input in signed unit standard zca; do
    network net.cfg "[model] name=all size=16 channels=3 classes=4 input=$input" \
        '[C.1] op=conv filters=6 kernel=3 bias=yes act=leaky' \
        '[C.2] op=max_pool kernel=3 stride=2 pad=1 bias=yes act=relu' \
        '[C.3] op=conv filters=8 kernel=3 groups=2 stride=1 norm=batch act=relu' \
        '[C.4] op=conv in=C.2 filters=8 kernel=1 norm=spectral bias=yes act=none' \
        '[C.5] op=add in=C.3 add=C.4 act=tanh' '[C.6] op=mean_pool kernel=3 stride=2 pad=1' \
        '[C.7] op=resample scale=0.5' '[C.8] op=resample scale=2' '[C.9] op=dense filters=12 act=relu' \
        '[C.10] op=dropout p=0.5' '[C.11] op=dense filters=4 norm=spectral act=none'
    answers_as_onnx net.cfg "$input"
done

# every activation
for act in $(acts); do
    network act.cfg '[model] name=one size=16 classes=4' "[C.1] filters=6 kernel=3 act=$act" \
        '[C.2] op=dense filters=4'
    answers_as_onnx act.cfg "$act"
done
finish
