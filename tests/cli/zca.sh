#!/bin/sh
# Whitened pictures as users meet them: the matrix beside numpy's, a run that is tested, resumed, asked about plain
# pictures, exported and imported, and what whitening does not go with.
. "$(dirname "$0")/kit"
cat > "$dir/tiny.cfg" << 'END'
[model]
name = tiny
size = 12
classes = 4
input = zca
epsilon = 1e-5
[train]
batch = 16
lr = 0.01
optimizer = sgd
momentum = 0.9
[C.1]
filters = 8
kernel = 3
[C.2]
op = max_pool
kernel = 4
stride = 2
bias = yes
act = relu
[C.3]
op = dense
filters = 4
END
exits 0 data --synthesize "$dir/shapes" --classes 4 --count 120 --size 16 -q
exits 0 data --synthesize "$dir/others" --classes 4 --count 40 --size 16 --seed 2 -q
exits 0 --data "$dir/shapes" --test "$dir/others" --model "$dir/tiny.cfg" --dry-run=ops --out "$dir/run"
awk '/^  (pictures as decoded|records of them|whitening|until that is found)  / { print $NF }' \
    "$dir/.out" > "$dir/parts"
printf '%s\n' 0.069 0.277 1.496 10.475 > "$dir/wanted" # 160 of 432 values, with labels, two kinds of matrices
same "$dir/parts" "$dir/wanted"
train() { exits 0 --data "$dir/shapes" --test "$dir/others" --model "$dir/tiny.cfg" --epochs 3 --out "$@"; }
train "$dir/run" --threads 2
says 'whitening by 120 pictures, epsilon 1e-05'
says 'whitening, pictures 160/160'
awk -F, 'NR > 1 { sum[$1] += $3 } END { exit !(sum[3] < sum[1]) }' "$dir/run/log.csv"
fact $? "it should learn: $(cut -d, -f 1,3 "$dir/run/log.csv" | tr '\n' ' ')"

# plain pictures are told as the test told them
exits 0 classify "$dir/run" "$dir/others"
right=$(sed -n 's|.*/\([a-z-]*\)/[^/]*: \([a-z-]*\) .*|\1 \2|p' "$dir/.out" | awk '$1 == $2' | wc -l)
awk -F, -v n="$right" 'END { exit !($6 == n / 40) }' "$dir/run/log.csv"
fact $? "classify has $right of 40 right; the log ends with $(tail -n 1 "$dir/run/log.csv")"

# other threads, and a run that stops and goes on: the same bytes
values() # of the tensors, and what they are called
{
    python3 - "$1" << 'END'
import hashlib, json, struct, sys
b = open(sys.argv[1], 'rb').read()
n = struct.unpack('<Q', b[:8])[0]
h = json.loads(b[8:8 + n])
del h['__metadata__']
print(hashlib.sha256(b[8 + n:]).hexdigest(), sorted(h))
END
}
if command -v python3 > /dev/null; then
    values "$dir/run/checkpoint.safetensors" > "$dir/values"
    for t in 1 3; do
        train "$dir/run-$t" --threads $t -q
        values "$dir/run-$t/checkpoint.safetensors" > "$dir/values-$t"
        same "$dir/values" "$dir/values-$t"
    done
    train "$dir/windows" --device-memory 0.8
    says 'pass through two windows'
    values "$dir/windows/checkpoint.safetensors" > "$dir/values-windows"
    same "$dir/values" "$dir/values-windows"
    train "$dir/stopped" --steps 11 -q
    exits 0 --resume --out "$dir/stopped" --steps 0
    ! grep -q 'whitening by' "$dir/.err"
    fact $? 'a resumed run should have its whitening from the checkpoint'
    values "$dir/stopped/checkpoint.safetensors" > "$dir/values-stopped"
    same "$dir/values" "$dir/values-stopped"
    grep -q "'C.input.bias', 'C.input.weight'" "$dir/values"
    fact $? "the checkpoint should hold what whitens: $(cat "$dir/values")"
else
    skip 'python3 is not here'
fi

# out and in again; what is known of a checkpoint
one=$(find "$dir/others" -name '*.png' | sort | head -n 1)
out_and_in "$dir/run" "$one"
exits 0 info "$dir/run/checkpoint.safetensors"
prints 'checksums: right'
exits 0 check "$dir/tiny.cfg" --device cpu --batch 5
exits 0 profile "$dir/tiny.cfg" --repeats 2 -q

# numpy's eigenvectors of grey pictures, which lie in IDX files, lead to the same matrix
if python3 -c 'import numpy' 2> /dev/null; then
    mkdir "$dir/idx"
    python3 - "$dir/idx" << 'END'
import struct, sys
import numpy as np
rng = np.random.default_rng(1)
wave = np.sin(np.arange(20) * rng.uniform(0.1, 1.5, (300, 1)) + rng.uniform(0, 6, (300, 1)))
x = 128 + 60 * wave[:, None, :] * wave[:, ::-1, None] + rng.normal(0, 2, (300, 20, 20))
x = np.clip(x, 0, 255).astype(np.uint8)
open(sys.argv[1] + '/train-images', 'wb').write(struct.pack('>IIII', 0x803, *x.shape) + x.tobytes())
open(sys.argv[1] + '/train-labels', 'wb').write(struct.pack('>II', 0x801, 300) + bytes(i % 4 for i in range(300)))
END
    sed 's/^size = .*/size = 20\nchannels = 1/' "$dir/tiny.cfg" > "$dir/grey.cfg"
    for p in fp64 fp32; do
        exits 0 --data "$dir/idx" --model "$dir/grey.cfg" --steps 1 --precision $p --out "$dir/grey-$p" -q
        python3 - "$dir/idx/train-images" "$dir/grey-$p/checkpoint.safetensors" << 'END'
import json, struct, sys
import numpy as np
x = np.frombuffer(open(sys.argv[1], 'rb').read()[16:], np.uint8).reshape(300, 400) / 255
mean = x.mean(0)
values, vectors = np.linalg.eigh((x - mean).T @ (x - mean) / 300)
want = vectors / np.sqrt(values + 1e-5) @ vectors.T
b = open(sys.argv[2], 'rb').read()
n = struct.unpack('<Q', b[:8])[0]
h = json.loads(b[8:8 + n])
def read(name):
    t = h[name]
    kind = {'F64': np.float64, 'F32': np.float32}[t['dtype']]
    return np.frombuffer(b[8 + n:][slice(*t['data_offsets'])], kind).reshape(t['shape'])
for got, good in ((read('C.input.weight'), want), (read('C.input.bias'), -want @ mean)):
    error = abs(got - good).max() / abs(good).max()
    assert error < (1e-9 if got.dtype == np.float64 else 1e-6), error
END
        fact $? "$p: numpy has another matrix"
    done
else
    skip "numpy is not here: its matrix was not compared"
fi

# what does not go
exits 2 --data "$dir/shapes" --model "$dir/tiny.cfg" --flip --out "$dir/none"
says '--flip: model tiny has input = zca'
lacks "$dir/none"
sed 's/^input = zca/input = unit/' "$dir/tiny.cfg" > "$dir/wrong.cfg"
exits 2 plan "$dir/wrong.cfg"
says 'wrong.cfg: [model] epsilon: belongs to input = zca'
sed 's/^epsilon = .*/epsilon = 0/' "$dir/tiny.cfg" > "$dir/wrong.cfg"
exits 2 plan "$dir/wrong.cfg"
says 'wrong.cfg:6: [model] epsilon = 0: must be a number from 1e-8'
sed 's/^size = .*/size = 53/' "$dir/tiny.cfg" > "$dir/wrong.cfg"
exits 2 plan "$dir/wrong.cfg"
says 'pictures have 8427 values; up to 8192'
sed 's/^size = 32/size = 32\ninput = zca/' models/dcgan32.cfg > "$dir/gan.cfg"
exits 2 plan "$dir/gan.cfg"
says 'input: is for classifiers'
finish
