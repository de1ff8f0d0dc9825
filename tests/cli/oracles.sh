#!/bin/sh
# Recorded runs of PyTorch, 100 steps each in fp64, of a small classifier for each mechanism. Written by
#     tools/pytorch/make_oracle.py --images DIR --model X.cfg --batch 6 --count 20 --steps 100 --small
# from images of `dcgan data --synthesize DIR --classes 4 --count 800 --size 20`; adam-pool with --ties. The GANs, with
# penalties by double backward: --steps 20 --loss rpgan --r1 10 --r2 5, from --synthesize DIR --count 20 --size 16.
# tests/oracles/model.py prints X.cfg.
. "$(dirname "$0")/kit"
for f in tests/oracles/*.safetensors; do
    shows 'within --tol' replay "$f" --precision fp64 --tol 1e-9
    exits 0 replay "$f" --steps 5
done
# every loss and activation has a PyTorch reference
for loss in $(losses); do
    grep -q "^    '$loss': {" tools/pytorch/make_oracle.py
    fact $? "--loss $loss: LOSSES of tools/pytorch/make_oracle.py has no row"
done
for act in $(acts); do
    grep -q "'$act': " tools/pytorch/torch_model.py
    fact $? "act = $act: tools/pytorch/torch_model.py has no such activation"
done
# the settings are read from the file
sed 's/"decay": *"0.001"/"decay":"0.002"/' tests/oracles/sgd-overlap.safetensors > "$dir/other.safetensors"
refuses 1 replay-differs replay "$dir/other.safetensors" --precision fp64 --tol 1e-9
# for a GAN, also its loss and augmentation (test_replay.c tests the valid ones)
gan=tests/golden/gan-ralsgan-augment.safetensors
sed 's/"loss":"lsgan"/"loss":"hinge"/' tests/golden/gan-lsgan.safetensors > "$dir/other.safetensors"
exits 1 replay "$dir/other.safetensors" --precision fp64 --tol 1e-9
sed 's/"augment":"color,translation,cutout"/"augment":"translation,cutout,none"/' $gan > "$dir/other.safetensors"
exits 4 replay "$dir/other.safetensors"
sed 's/"augment":"color,translation,cutout"/"augment":"cutout,translation"      /' $gan > "$dir/other.safetensors"
exits 1 replay "$dir/other.safetensors" --precision fp64 --tol 1e-9
sed 's/"norm_d":"spectral"/"norm_d":"spectrum"/' tests/golden/gan-spectral.safetensors > "$dir/other.safetensors"
refuses 2 'bad-recorded-norm spectrum' replay "$dir/other.safetensors"
sed 's/"loss":"lsgan"/"loss":"lsgam"/' tests/golden/gan-lsgan.safetensors > "$dir/other.safetensors"
refuses 2 'bad-recorded-loss lsgam' replay "$dir/other.safetensors"
for o in schedule:90:80 lr_end:5e-05:6e-05 beta2_end:0.9:0.8 r1_end:1.0:1.1 r2_end:0.5:0.6 augment_p:0.6:0.2 \
    ema_half_life:15:16; do
    key=${o%%:*} values=${o#*:}
    sed "s/\"$key\":\"${values%:*}/\"$key\":\"${values#*:}/" tests/golden/gan-schedule.safetensors \
        > "$dir/other.safetensors"
    refuses 1 replay-differs replay "$dir/other.safetensors" --precision fp64 --tol 1e-9
done
head -c 200 tests/oracles/residual.safetensors > "$dir/cut.safetensors"
exits 4 replay "$dir/cut.safetensors"
sed 's/op = mean_pool/op = mean_poop/' tests/oracles/residual.safetensors > "$dir/wrong.safetensors"
refuses 2 'model-value op = mean_poop' replay "$dir/wrong.safetensors"
finish
