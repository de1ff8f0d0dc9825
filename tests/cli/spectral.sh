#!/bin/sh
# Spectral norm in D: by an option, by the model's name and by a key of a model file; commands on such a run.
. "$(dirname "$0")/kit"
cd "$dir" || exit 1
exits 0 data --synthesize cats --count 34 --size 16 -q || finish
run() { exits 0 --data cats --batch 8 -q --no-curves --no-report --grid 2x2 "$@"; }

# one model name for both forms; training differs from that without
run --size 16 --norm-d spectral --epochs 2 --out one/run
config one/run 'model = dcgan-16x3-spectral'
shows 'name: dcgan-16x3-spectral' info one/run
run --model dcgan-16x3-spectral --epochs 2 --out named/run
run --size 16 --epochs 2 --out plain/run
same one/run/epoch-0002.png named/run/epoch-0002.png
differ one/run/epoch-0002.png plain/run/epoch-0002.png 'another D should give other samples'

# resumed, and with other thread counts: the same weights, u and v
run --size 16 --norm-d spectral --epochs 1 --out parts/run --threads 1
exits 0 --resume --out parts/run --epochs 2 -q --threads 3
exits 0 --resume --out parts/run --norm-d spectral -q
equal one/run parts/run
refuses 2 'fixed-in-run dcgan-16x3' --resume --out plain/run --norm-d spectral

# D's export has PyTorch's names; --init from such a run
"$python" - << 'END'
import st, sys
expected = {}
for n, filters, of in ((0, 32, 3), (2, 64, 32), (4, 1, 64)):
    expected.update({f'main.{n}.weight_orig': [filters, of, 4, 4], f'main.{n}.weight_u': [filters],
                 f'main.{n}.weight_v': [16 * of]})
sys.exit({k: v['shape'] for k, v in st.read('one/run/D.safetensors')[0].items()} != expected)
END
fact $? 'D should have weight_orig, weight_u and weight_v of each layer, and nothing else'
run --init one/run --epochs 1 --out other/run
config other/run 'model = dcgan-16x3-spectral'
exits 4 --data cats --init plain/run --model dcgan-16x3-spectral --epochs 1 --out no
says foreign-tensor dcgan-16x3-spectral
exits 0 import one/run/G.safetensors --out back.safetensors -q
exits 0 generate back.safetensors --seeds 0-3 --out back --scale 1 -q
exits 0 eval one/run --data cats -q
sed 's/"D[.]main[.]2[.]weight_u"/"D.main.2.weight_w"/' one/run/checkpoint.safetensors > wrong.safetensors
exits 4 info wrong.safetensors

# with another loss, EMA and augmentation
run --size 16 --norm-d spectral --loss ralsgan --ema 0.8 --augment cutout --epochs 1 --out all/run

# as a key of layers and of networks
network own.cfg '[model] name=own size=16' '[G.1] op=conv_transpose filters=8 kernel=4 act=relu pad=0' \
    '[G.2] op=conv_transpose filters=3 kernel=4 stride=4 pad=0 act=tanh' '[D] norm=spectral bias=yes' \
    '[D.1] filters=8 kernel=4 stride=4 pad=0 act=leaky' '[D.2] op=dense filters=1'
run --model own.cfg --epochs 1 --out file/run
shows 'D.2.spectral.dw' plan own.cfg --batch 4
shows 'D.1.spectral.g' plan dcgan32-spectral

# refused
refuses 2 'spectral-in-file own.cfg' --data cats --model own.cfg --norm-d spectral
refuses 2 spectral-by-name plan dcgan32 --norm-d spectral
exits 2 --data cats --norm-d layer
says option-value layer 'model, spectral or none'
refuses 2 spectral-classifier --data cats --model cnn-mnist --norm-d spectral
for what in 's/filters = 3/&\nnorm = spectral/' 's/op = dense/op = conv_transpose\nkernel = 4/'; do
    sed "$what" own.cfg > wrong.cfg
    refuses 2 spectral-layer plan wrong.cfg
done
sed 's/norm = spectral/&\nstart = zero/' own.cfg > wrong.cfg
refuses 2 spectral-zero plan wrong.cfg
shows dcgan32-nonorm --data cats --model dcgan32-spectral --norm-d none --dry-run
finish
