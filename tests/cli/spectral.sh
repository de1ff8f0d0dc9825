#!/bin/sh
# Spectral norm in D: by an option, by a model's name and by a key of a model file; what a run of it can do.
. "$(dirname "$0")/kit"
cd "$dir" || exit 1
exits 0 data --synthesize cats --count 34 --size 16 -q || finish
run() { exits 0 --data cats --batch 8 -q --no-curves --no-report --grid 2x2 "$@"; }
# weights RUN NETWORK: its export, which says nothing of the run but its epochs
weights() { exits 0 export "$1" --network "$2" --out "$1/$2.safetensors" -q; }

# one name, however it is given; another training than without
run --size 16 --norm-d spectral --epochs 2 --out one/run
grep -q '^model = dcgan-16x3-spectral$' one/run/config.ini
fact $? 'config.ini should name the model'
exits 0 info one/run
prints 'name: dcgan-16x3-spectral'
run --model dcgan-16x3-spectral --epochs 2 --out named/run
run --size 16 --epochs 2 --out plain/run
same one/run/epoch-0002.png named/run/epoch-0002.png
if cmp -s one/run/epoch-0002.png plain/run/epoch-0002.png; then fact 1 'another D should make other pictures'; fi

# stopped, and with other threads: the same weights, u and v
run --size 16 --norm-d spectral --epochs 1 --out parts/run --threads 1
exits 0 --resume --out parts/run --epochs 2 -q --threads 3
exits 0 --resume --out parts/run --norm-d spectral -q
for net in G D; do
    weights one/run $net
    weights parts/run $net
    same one/run/$net.safetensors parts/run/$net.safetensors
done
exits 2 --resume --out plain/run --norm-d spectral
says 'this run was begun with dcgan-16x3, which cannot change'

# what D's export has, by PyTorch's names; and a run that begins with it
"${PYTHON:-python3}" - << 'END'
import json, struct, sys
with open('one/run/D.safetensors', 'rb') as file:
    header = json.loads(file.read(struct.unpack('<Q', file.read(8))[0]))
want = {}
for n, filters, of in ((0, 32, 3), (2, 64, 32), (4, 1, 64)):
    want.update({f'main.{n}.weight_orig': [filters, of, 4, 4], f'main.{n}.weight_u': [filters],
                 f'main.{n}.weight_v': [16 * of]})
sys.exit({k: v['shape'] for k, v in header.items() if k != '__metadata__'} != want)
END
fact $? 'D should have weight_orig, weight_u and weight_v of each layer, and nothing else'
run --init one/run --epochs 1 --out other/run
grep -q '^model = dcgan-16x3-spectral$' other/run/config.ini
fact $? '--init should know the model'
exits 4 --data cats --init plain/run --model dcgan-16x3-spectral --epochs 1 --out no
says 'belongs to no layer of model dcgan-16x3-spectral'
exits 0 import one/run/G.safetensors --out back.safetensors -q
exits 0 generate back.safetensors --seeds 0-3 --out back --scale 1 -q
exits 0 eval one/run --data cats -q
sed 's/"D[.]main[.]2[.]weight_u"/"D.main.2.weight_w"/' one/run/checkpoint.safetensors > wrong.safetensors
exits 4 info wrong.safetensors

# losses that look at D again
run --size 16 --norm-d spectral --loss ralsgan --ema 0.8 --augment cutout --epochs 1 --out all/run

# in a file it is a key, of layers as of networks
cat > own.cfg << 'END'
[model]
name = own
size = 16
[G.1]
op = conv_transpose
filters = 8
kernel = 4
act = relu
pad = 0
[G.2]
op = conv_transpose
filters = 3
kernel = 4
stride = 4
pad = 0
act = tanh
[D]
norm = spectral
bias = yes
[D.1]
filters = 8
kernel = 4
stride = 4
pad = 0
act = leaky
[D.2]
op = dense
filters = 1
END
run --model own.cfg --epochs 1 --out file/run
exits 0 plan own.cfg --batch 4
prints 'D.2.spectral.dw'
exits 0 plan dcgan32-spectral
prints 'D.1.spectral.g'

# mistakes
exits 2 --data cats --model own.cfg --norm-d spectral
says 'in own.cfg write norm = spectral into the sections of D'
exits 2 plan dcgan32 --norm-d spectral
says 'give MODEL-spectral'
exits 2 --data cats --norm-d layer
says 'allowed: model or spectral'
exits 2 --data cats --model cnn-mnist --norm-d spectral
says 'there is no discriminator'
for what in 's/filters = 3/&\nnorm = spectral/' 's/op = dense/op = conv_transpose\nkernel = 4/'; do
    sed "$what" own.cfg > wrong.cfg
    exits 2 plan wrong.cfg
    says 'norm = spectral: goes with op = conv and dense'
done
finish
