#!/bin/sh
# export --onnx and --network, generate --write-z: what the files say is what the program draws and answers. $PYTHON
# (python3) with NumPy reads and runs them; onnx and onnxruntime judge them, too, where they are there.
. "$(dirname "$0")/kit"
python=${PYTHON:-python3}
"$python" -c 'import numpy' 2> /dev/null || { skip 'python3 with NumPy is not here'; finish; }
onnx()
{
    "$python" "$root/tests/cli/onnx_run.py" "$@" > "$dir/.onnx" 2>&1
    fact $? "onnx_run.py $*: $(tail -n 3 "$dir/.onnx")"
}
cd "$dir" || exit 1

# a GAN: its pictures, and D
exits 0 data --synthesize cats --count 24 --size 16 -q || finish
exits 0 --data cats --model "$root/tests/tiny.cfg" --batch 8 --epochs 3 --out run -q || finish
exits 0 export run --onnx --out g.onnx
prints "onnxruntime.InferenceSession('g.onnx')"
exits 0 info g.onnx
prints 'network (ONNX)'
exits 0 generate run --seeds 3-9 --write-z z.safetensors --out made
onnx picture g.onnx z.safetensors made/seed-000[3-9].png
exits 0 export run --network D --onnx d.onnx
onnx logits d.onnx
exits 0 export run --network G --out g.safetensors
exits 0 export run --out same.safetensors
same g.safetensors same.safetensors
exits 0 export run --network D --out d.safetensors
exits 0 info d.safetensors
prints 'network: D'
exits 2 generate d.safetensors
says 'network D alone'
exits 0 export run --network D --out d.safetensors # again
exits 2 export run --network D --out g.safetensors
says 'exists and is an exported generator, not an exported network'
exits 2 export g.safetensors --network D --out none.safetensors
says 'has no network D'
exits 2 export run --network X --out none.safetensors
says '--network X: run/checkpoint.safetensors has G or D'

# samples/pytorch.py as its own text says
if "$python" -c 'import torch, safetensors, PIL' 2> /dev/null; then
    "$python" "$root/samples/pytorch.py" g.safetensors z.safetensors p3.png p4.png 2> .err
    fact $? "pytorch.py failed: $(tail -n 1 .err)"
    "$python" -c 'import sys
import numpy
from PIL import Image
for ours, theirs in zip(sys.argv[1::2], sys.argv[2::2]):
    a, b = (numpy.asarray(Image.open(p)).astype(int) for p in (ours, theirs))
    assert a.shape == b.shape and abs(a - b).max() <= 1 and (a != b).mean() < 0.01' \
        made/seed-0003.png p3.png made/seed-0004.png p4.png 2> .err
    fact $? "pytorch.py draws other pictures: $(tail -n 1 .err)"
else
    skip 'torch, safetensors and pillow are not here'
fi

# spectral norm: what D multiplies with, and for PyTorch what it makes that of
exits 0 --data cats --model dcgan-16x3-spectral --batch 8 --epochs 2 --out normal -q || finish
exits 0 export normal --network D --out normal.safetensors
exits 0 export normal --network D --onnx normal.onnx
onnx spectral normal.onnx normal.safetensors

# nothing but a file of its own is replaced
exits 0 export run --onnx --out g.onnx
cp run/checkpoint.safetensors kept.onnx
exits 2 export run --onnx --out kept.onnx
says 'not an ONNX file'
same kept.onnx run/checkpoint.safetensors
exits 2 export run --out g.onnx
exits 4 export run --onnx --out no/such/folder.onnx

# classifiers: every kind of layer, and every way to prepare pictures
exits 0 data --synthesize shapes --classes 4 --count 40 --size 16 -q
for input in signed unit standard zca; do
    cat > net.cfg << EOF
[model]
name = all
size = 16
channels = 3
classes = 4
input = $input
[C.1]
op = conv
filters = 6
kernel = 3
bias = yes
act = leaky
[C.2]
op = max_pool
kernel = 3
stride = 2
pad = 1
bias = yes
act = relu
[C.3]
op = conv
filters = 8
kernel = 3
stride = 1
norm = batch
act = relu
[C.4]
op = conv
in = C.2
filters = 8
kernel = 1
norm = spectral
bias = yes
act = none
[C.5]
op = add
in = C.3
add = C.4
act = tanh
[C.6]
op = mean_pool
kernel = 3
stride = 2
pad = 1
[C.7]
op = dense
filters = 12
act = relu
[C.8]
op = dropout
p = 0.5
[C.9]
op = dense
filters = 4
norm = spectral
act = none
EOF
    exits 0 --data shapes --model net.cfg --test 0.2 --batch 8 --epochs 2 --out "eyes-$input" -q || cat .err
    exits 0 export "eyes-$input" --onnx --out "$input.onnx"
    "$program" classify "eyes-$input" shapes --json --top 4 > answers.json
    onnx classes "$input.onnx" answers.json
done

# every activation
for act in $(acts); do
    cat > act.cfg << EOF
[model]
name = one
size = 16
classes = 4
[C.1]
filters = 6
kernel = 3
act = $act
[C.2]
op = dense
filters = 4
EOF
    exits 0 --data shapes --model act.cfg --test 0.2 --batch 8 --epochs 2 --out "act-$act" -q || cat .err
    exits 0 export "act-$act" --onnx --out "$act.onnx"
    "$program" classify "act-$act" shapes --json --top 4 > answers.json
    onnx classes "$act.onnx" answers.json
done
finish
