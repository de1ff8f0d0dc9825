#!/bin/sh
# Whitening: the matrix equals numpy's; a run is tested, resumed, classifies, is exported and imported; options that it
# excludes.
. "$(dirname "$0")/kit"
network "$dir/tiny.cfg" '[model] name=tiny size=12 classes=4 input=zca epsilon=1e-5' \
    '[train] batch=16 lr=0.01 optimizer=sgd momentum=0.9' '[C.1] filters=8 kernel=3' \
    '[C.2] op=max_pool kernel=4 stride=2 bias=yes act=relu' '[C.3] op=dense filters=4'
exits 0 data --synthesize "$dir/shapes" --classes 4 --count 120 --size 16 -q
exits 0 data --synthesize "$dir/others" --classes 4 --count 40 --size 16 --seed 2 -q
exits 0 --data "$dir/shapes" --test "$dir/others" --model "$dir/tiny.cfg" --dry-run=ops --out "$dir/run"
awk '/^  (decoded images|records|whitening|whitening, temporary)  / { print $NF }' \
    "$dir/.out" > "$dir/parts"
printf '%s\n' 0.069 0.277 1.496 10.475 > "$dir/wanted" # 160 of 432 values, with labels, two kinds of matrices
same "$dir/parts" "$dir/wanted"
train() { exits 0 --data "$dir/shapes" --test "$dir/others" --model "$dir/tiny.cfg" --epochs 3 --out "$@"; }
train "$dir/run" --threads 2
says note-whitening 120 1e-05
stderr_has 160/160
awk -F, 'NR > 1 { sum[$1] += $3 } END { exit !(sum[3] < sum[1]) }' "$dir/run/log.csv"
fact $? "it should learn: $(cut -d, -f 1,3 "$dir/run/log.csv" | tr '\n' ' ')"

# classify is as accurate as the test
exits 0 classify "$dir/run" "$dir/others"
right=$(sed -n 's|.*/\([a-z-]*\)/[^/]*: \([a-z-]*\) .*|\1 \2|p' "$dir/.out" | awk '$1 == $2' | wc -l)
awk -F, -v n="$right" 'END { exit !($6 == n / 40) }' "$dir/run/log.csv"
fact $? "classify has $right of 40 right; the log ends with $(tail -n 1 "$dir/run/log.csv")"

# other thread counts, and a resumed run: the same bytes
if [ -n "$python" ]; then
    whole="$dir/run/checkpoint.safetensors"
    for t in 1 3; do
        train "$dir/run-$t" --threads $t -q
        same_state "$dir/run-$t/checkpoint.safetensors" "$whole"
    done
    train "$dir/windows" --device-memory 0.8
    says note-windows
    same_state "$dir/windows/checkpoint.safetensors" "$whole"
    train "$dir/stopped" --steps 11 -q
    exits 0 --resume --out "$dir/stopped" --steps 0
    never_says note-whitening # it is in the checkpoint
    same_state "$dir/stopped/checkpoint.safetensors" "$whole"
    for t in weight bias; do ensure "no C.input.$t in the checkpoint" grep -aq "\"C.input.$t\"" "$whole"; done
else
    skip 'no python3'
fi

# export and import; info, check and profile
one=$(find "$dir/others" -name '*.png' | sort | head -n 1)
out_and_in "$dir/run" "$one"
shows 'checksums: right' info "$dir/run/checkpoint.safetensors"
exits 0 check "$dir/tiny.cfg" --device cpu --batch 5
exits 0 profile "$dir/tiny.cfg" --repeats 2 -q

# numpy's eigenvectors of grey images in IDX files give the same matrix
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
import st, sys
import numpy as np
x = np.frombuffer(open(sys.argv[1], 'rb').read()[16:], np.uint8).reshape(300, 400) / 255
mean = x.mean(0)
values, vectors = np.linalg.eigh((x - mean).T @ (x - mean) / 300)
expected = vectors / np.sqrt(values + 1e-5) @ vectors.T
header, _, data = st.read(sys.argv[2])
def read(name):
    t = header[name]
    kind = {'F64': np.float64, 'F32': np.float32}[t['dtype']]
    return np.frombuffer(data[slice(*t['data_offsets'])], kind).reshape(t['shape'])
for got, good in ((read('C.input.weight'), expected), (read('C.input.bias'), -expected @ mean)):
    error = abs(got - good).max() / abs(good).max()
    assert error < (1e-9 if got.dtype == np.float64 else 1e-6), error
END
        fact $? "$p: numpy has another matrix"
    done
else
    skip "numpy is not here: its matrix was not compared"
fi

# refused
refuses 2 'flip-with-zca tiny' --data "$dir/shapes" --model "$dir/tiny.cfg" --flip --out "$dir/none"
lacks "$dir/none"
sed 's/^input = zca/input = unit/' "$dir/tiny.cfg" > "$dir/wrong.cfg"
refuses 2 'epsilon-without-zca wrong.cfg' plan "$dir/wrong.cfg"
sed 's/^epsilon = .*/epsilon = 0/' "$dir/tiny.cfg" > "$dir/wrong.cfg"
exits 2 plan "$dir/wrong.cfg"
says model-value wrong.cfg:6: 'epsilon = 0' 1e-8
sed 's/^size = .*/size = 53/' "$dir/tiny.cfg" > "$dir/wrong.cfg"
exits 2 plan "$dir/wrong.cfg"
says zca-size 8427 8192
sed 's/^size = 32/size = 32\ninput = zca/' models/dcgan32.cfg > "$dir/gan.cfg"
refuses 2 'zca-for-classifiers input' plan "$dir/gan.cfg"
finish
