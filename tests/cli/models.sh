#!/bin/sh
# Model files: built-in models, files, and errors with file, line and key.
. "$(dirname "$0")/kit"

for m in dcgan28 dcgan32 dcgan64 dcgan64-paper dcgan128; do
    exits 0 plan $m
    prints 'plan train' 'arena, one allocation'
    cp "$dir/.out" "$dir/built-in"
    exits 0 plan "$root/models/$m.cfg"
    same "$dir/built-in" "$dir/.out"
done
shows '"arena_bytes"' plan dcgan32 --batch 7 --json
shows 'weights' plan dcgan32 --precision fp64

exits 0 plan dcgan64-paper
cp "$dir/.out" "$dir/built-in"
exits 0 plan --size 64
same "$dir/built-in" "$dir/.out"
shows 'x=D.x[4x256x256x3]' plan --size 256 --batch 2
for m in bilinear-32x3 residual-64x1 bilinear-128x3 residual-28x4 r3gan-16x3 r3gan-cifar; do
    shows 'resample.fwd' plan $m --batch 2
done
refuses 2 'model-size 96' plan bilinear-100x3
refuses 2 'no-norm-in-d -nonorm' plan residual-32x3-nonorm
refuses 2 'model-size 96' plan --size 100
refuses 2 unknown-model plan dcgan65
exits 2 plan "$dir/none.cfg"
exits 2 plan "$dir"

# an error names file, line and key; test_model.c has the values of every key
sed '0,/^act = relu/s//act = rulu/' "$root/models/dcgan32.cfg" > "$dir/wrong.cfg"
refuses 2 "model-value wrong.cfg:$(grep -n -m 1 '^act = rulu' "$dir/wrong.cfg" | cut -d: -f1):" plan "$dir/wrong.cfg"
says model-value '] act ='
sed 's/^\[G.2\]/[G.9]/' "$root/models/dcgan32.cfg" > "$dir/wrong.cfg"
refuses 2 'missing-section [G.2]' plan "$dir/wrong.cfg"

sed 's/^act = tanh/act = relu/' "$root/models/dcgan32.cfg" > "$dir/wrong.cfg"
refuses 2 'end-of-g [G.4]' plan "$dir/wrong.cfg"
sed 's/^act = tanh/act = none/' "$root/models/dcgan32.cfg" > "$dir/wrong.cfg"
exits 0 plan "$dir/wrong.cfg"
"$root/tests/oracles/model.py" gan-bilinear | sed 's/^size = 16/size = 18/' > "$dir/wrong.cfg"
refuses 2 'resample-odd [D.4]' plan "$dir/wrong.cfg"
"$root/tests/oracles/model.py" gan-residual > "$dir/residual.cfg"
sed 's/^groups = 2/groups = 3/' "$dir/residual.cfg" > "$dir/wrong.cfg"
refuses 2 'bad-groups [G.3]' plan "$dir/wrong.cfg"
sed '/^\[G.3\]/,/^kernel/s/^filters = 4/filters = 5/' "$dir/residual.cfg" > "$dir/wrong.cfg"
refuses 2 'bad-groups [G.3]' plan "$dir/wrong.cfg"
sed '/^groups = 2/a stride = 2\npad = 1' "$dir/residual.cfg" > "$dir/wrong.cfg"
refuses 2 bad-groups plan "$dir/wrong.cfg"
sed '0,/^act = leaky/s//&\ngain = 0.5/' "$root/models/dcgan32.cfg" > "$dir/wrong.cfg"
refuses 2 'gain-without-start 0.5' plan "$dir/wrong.cfg"
printf '[model]\nname = v\nsize = 8\n[C.1]\nop = dense\nfilters = 4\n[C.2]\nop = resample\nscale = 2\n' \
    > "$dir/wrong.cfg"
refuses 2 'resample-vector [C.2]' plan "$dir/wrong.cfg"
# only convolutions without a stride inherit groups from the section of their network
sed 's/^\[G\]/[G]\ngroups = 2/' "$root/tests/gan16.cfg" > "$dir/right.cfg"
exits 0 plan "$dir/right.cfg"
if grep -q group_ "$dir/.out"; then fact 1 'conv_transpose should not inherit groups'; fi

# classifiers, and a network that is neither: only its forward pass is planned
shows 'C.softmax' plan vgg16-cifar --batch 3
shows '>y=C.2.out[3x7x7x16]' plan cnn-cifar --batch 3
prints 'data=data[3x1x1x12292]' # a whitened image and a label
shows '>y=C.2.out[3x13x13x64]' plan cnn-cifar-overlap --batch 3
exits 0 plan resnet50 --arch sm_90 --batch 3
grep -qE '^plan train: .* [0-9]+ kernels, [0-9]+ in the longest chain of dependent kernels$' "$dir/.out"
fact $? 'the plan should count its dependent kernels'
shows '"name": "C.29.2.norm.act"' plan resnet50 --json --batch 3
exits 0 data --synthesize "$dir/toy" --count 20 --size 28
sed 's/^\[C/[X/; s/= C\./= X./' models/vgg16-cifar.cfg > "$dir/net.cfg"
exits 0 plan "$dir/net.cfg" --batch 3
prints 'plan X forward: 49 ops' 'x=X.x[3x32x32x3]' 'dcgan cannot train this network'
for command in "--data $dir/toy --out $dir/run --batch 4" 'bench' 'profile' 'check --device cpu'; do
    # shellcheck disable=SC2086 # words
    exits 2 $command --model "$dir/net.cfg"
    says cannot-train "$dir/net.cfg" '(X)' 'generator G' 'discriminator D' 'network C'
done
lacks "$dir/run/log.csv"
# a layer of the discriminator that no layer reads
sed '/^\[D.3\]/,$ { s/^kernel = 7/kernel = 14\nin = D.1/ }' tests/gan28.cfg > "$dir/dead.cfg"
refuses 2 'unread-layer [D.2]' plan "$dir/dead.cfg"

# images of 28 x 28, two steps
exits 0 --data "$dir/toy" --model tests/gan28.cfg --batch 10 --epochs 1 -q --out "$dir/28"
ensure 'log.csv should have a header and 2 steps' [ "$(wc -l < "$dir/28/log.csv")" -eq 3 ]
exits 0 info "$dir/28/epoch-0001.png"
exits 0 generate "$dir/28" -n 2 --out "$dir/samples"

# generator weights do not fit a classifier
exits 0 export "$dir/28" --out "$dir/28.weights"
refuses 4 'foreign-tensor vgg16-cifar' import "$dir/28.weights" --model vgg16-cifar --out "$dir/imported.safetensors"
lacks "$dir/imported.safetensors"

# a network without weights
sed '/^\[D\]/,$d' tests/gan28.cfg > "$dir/idle.cfg"
printf '[D.1]\nop = max_pool\nkernel = 14\n' >> "$dir/idle.cfg"
refuses 2 'no-weights [D.1]' plan "$dir/idle.cfg"

# the maximum number of layers in both networks: trained, saved, resumed
thin='filters = 2\nkernel = 1\nstride = 1\npad = 0\nnorm = batch\nrepeat'
sed -e "/^\[G.1\]/,/^\[G.2\]/ { s/^\[G.2\]/[G.2]\nop = conv\n$thin = 125\n[G.3]/ }" -e 's/^\[G.3\]/[G.4]/' \
    -e "s/^\[D.2\]/[D.2]\n$thin = 125\n[D.3]/" -e 's/^\[D.3\]/[D.4]/' tests/gan28.cfg > "$dir/deep.cfg"
exits 0 --data "$dir/toy" --model "$dir/deep.cfg" --batch 20 --epochs 1 -q --no-curves --out "$dir/deep"
exits 0 --resume --out "$dir/deep" --epochs 2 -q
shows 'discriminator' info "$dir/deep/checkpoint.safetensors"

# pooling in a discriminator: trained, and equal in every variant of the CPU
sed -e 's/^\[D.3\]/[D.4]/' -e 's/^\[D.2\]/[D.2]\nop = max_pool\nkernel = 3\nstride = 1\npad = 1\n[D.3]/' \
    tests/gan28.cfg > "$dir/pool.cfg"
exits 0 --data "$dir/toy" --model "$dir/pool.cfg" --batch 10 --epochs 1 -q --no-curves --out "$dir/pool"
shows 'D.2.max_pool.dx' check "$dir/pool.cfg" --device cpu --batch 5
finish
