#!/bin/sh
# Model files: the built-in ones, files, and mistakes with file, line and key.
. "$(dirname "$0")/kit"

for m in dcgan28 dcgan32 dcgan64 dcgan64-paper dcgan128; do
    exits 0 plan $m
    prints 'plan train'
    prints 'arena, one allocation'
    cp "$dir/.out" "$dir/built-in"
    exits 0 plan "$root/models/$m.cfg"
    same "$dir/built-in" "$dir/.out"
done
exits 0 plan dcgan32 --batch 7 --json
prints '"arena_bytes"'
exits 0 plan dcgan32 --precision fp64
prints 'weights'

exits 0 plan dcgan64-paper
cp "$dir/.out" "$dir/built-in"
exits 0 plan --size 64
same "$dir/built-in" "$dir/.out"
exits 0 plan --size 256 --batch 2
prints 'x=D.x[4x256x256x3]'
exits 2 plan --size 100
says 'must be 4, 5, 6 or 7 times a power of two, from 16 to 256; the next smaller one is 96'
exits 2 plan dcgan65
says 'built in: '
exits 2 plan "$dir/none.cfg"
exits 2 plan "$dir"

# wrong LINE WORDS SED-SCRIPT: the small model with one thing changed
wrong()
{
    sed "$3" "$root/models/dcgan32.cfg" > "$dir/wrong.cfg"
    ! cmp -s "$dir/wrong.cfg" "$root/models/dcgan32.cfg"
    fact $? "sed '$3' changed nothing"
    exits 2 plan "$dir/wrong.cfg"
    says "wrong.cfg:$1"
    says "$2"
}
line() { grep -n -m 1 "$1" "$root/models/dcgan32.cfg" | cut -d: -f1; }
wrong "$(line '^size')" size 's/^size = 32/size = 7/'
wrong "$(line '^size')" size 's/^size = 32/size = thirty/'
wrong "$(line '^channels')" channels 's/^channels = 3/channels = 2/'
wrong "$(line '^latent')" latent 's/^latent = 100/latent = 0/'
wrong "$(line '^filters')" filters '0,/^filters = 128/s//filters = -1/'
wrong "$(line '^kernel')" kernel '0,/^kernel = 4/s//kernel = 0/'
wrong "$(line '^norm')" norm '0,/^norm = batch/s//norm = bitch/'
wrong "$(line '^act')" act '0,/^act = relu/s//act = rulu/'
wrong "$(line '^op')" op '0,/^op = conv_transpose/s//op = deconv/'
wrong "$(line '^act')" akt '0,/^act = relu/s//akt = relu/'
sed 's/^\[G.2\]/[G.9]/' "$root/models/dcgan32.cfg" > "$dir/wrong.cfg"
exits 2 plan "$dir/wrong.cfg"
says 'section [G.2] is missing'

# classifiers, and a network that is neither: of that a pass forward is planned, and nothing else is done with it
exits 0 plan vgg16-cifar --batch 3
prints 'C.softmax'
exits 0 plan cnn-cifar --batch 3
prints '>y=C.2.out[3x7x7x16]'
prints 'data=data[3x1x1x12292]' # whitened, and a label
exits 0 plan cnn-cifar-overlap --batch 3
prints '>y=C.2.out[3x13x13x64]'
exits 0 plan resnet50 --arch sm_90 --batch 3
grep -qE '^plan train: .* [0-9]+ kernels, [0-9]+ dependent kernels$' "$dir/.out"
fact $? 'the plan should count its dependent kernels'
exits 0 plan resnet50 --json --batch 3
prints '"name": "C.29.2.norm.act"'
exits 0 data --synthesize "$dir/toy" --count 20 --size 28
sed 's/^\[C/[X/; s/= C\./= X./' models/vgg16-cifar.cfg > "$dir/net.cfg"
exits 0 plan "$dir/net.cfg" --batch 3
prints 'plan X forward: 49 ops'
prints 'x=X.x[3x32x32x3]'
prints 'Nothing trains such a network yet'
for command in "--data $dir/toy --out $dir/run --batch 4" 'bench' 'profile' 'check --device cpu'; do
    # shellcheck disable=SC2086 # words
    exits 2 $command --model "$dir/net.cfg"
    says "$dir/net.cfg: cannot be trained: its networks are X; what can be trained is"
    says 'a GAN of a generator G and a discriminator D; a classifier of a network C'
done
lacks "$dir/run/log.csv"
# two readers of one tensor, in a discriminator: its gradient is their sum
sed '/^\[D.3\]/,$ { s/^kernel = 7/kernel = 14\nin = D.1/ }' tests/gan28.cfg > "$dir/dead.cfg"
exits 2 plan "$dir/dead.cfg"
says '[D.2] no layer reads what it makes'

# pictures of 28 x 28, two steps
exits 0 --data "$dir/toy" --model tests/gan28.cfg --batch 10 --epochs 1 -q --out "$dir/28"
[ "$(wc -l < "$dir/28/log.csv")" -eq 3 ]
fact $? 'log.csv should have a header and 2 steps'
exits 0 info "$dir/28/epoch-0001.png"
exits 0 generate "$dir/28" -n 2 --out "$dir/pictures"

# weights are imported into a generator alone
exits 0 export "$dir/28" --out "$dir/28.weights"
exits 4 import "$dir/28.weights" --model vgg16-cifar --out "$dir/imported.safetensors"
says 'belongs to no layer of model vgg16-cifar'
lacks "$dir/imported.safetensors"

# a network in which nothing learns
sed '/^\[D\]/,$d' tests/gan28.cfg > "$dir/idle.cfg"
printf '[D.1]\nop = max_pool\nkernel = 14\n' >> "$dir/idle.cfg"
exits 2 plan "$dir/idle.cfg"
says '[D.1] no layer of network D has weights to train'

# as many layers as there may be, in both networks: trained, saved, gone on with
thin='filters = 2\nkernel = 1\nstride = 1\npad = 0\nnorm = batch\nrepeat'
sed -e "/^\[G.1\]/,/^\[G.2\]/ { s/^\[G.2\]/[G.2]\nop = conv\n$thin = 125\n[G.3]/ }" -e 's/^\[G.3\]/[G.4]/' \
    -e "s/^\[D.2\]/[D.2]\n$thin = 125\n[D.3]/" -e 's/^\[D.3\]/[D.4]/' tests/gan28.cfg > "$dir/deep.cfg"
exits 0 --data "$dir/toy" --model "$dir/deep.cfg" --batch 20 --epochs 1 -q --no-curves --out "$dir/deep"
exits 0 --resume --out "$dir/deep" --epochs 2 -q
exits 0 info "$dir/deep/checkpoint.safetensors"
prints 'discriminator'

# pooling in a discriminator: trained, and the same by every way that the CPU has
sed -e 's/^\[D.3\]/[D.4]/' -e 's/^\[D.2\]/[D.2]\nop = max_pool\nkernel = 3\nstride = 1\npad = 1\n[D.3]/' \
    tests/gan28.cfg > "$dir/pool.cfg"
exits 0 --data "$dir/toy" --model "$dir/pool.cfg" --batch 10 --epochs 1 -q --no-curves --out "$dir/pool"
exits 0 check "$dir/pool.cfg" --device cpu --batch 5
prints 'D.2.max_pool.dx'
finish
