#!/bin/sh
# Recorded runs of PyTorch, 100 steps each in fp64, of a small classifier for each mechanism. Written by
#     tools/pytorch/make_oracle.py --images DIR --model X.cfg --batch 6 --count 20 --steps 100 --small
# from images of `dcgan data --synthesize DIR --classes 4 --count 800 --size 20`; adam-pool with --ties. The GANs, with
# penalties by double backward: --steps 20 --loss rpgan --r1 10 --r2 5, from --synthesize DIR --count 20 --size 16.
# gan-classes has --r1 10 --r2 5 as well; gan-classes-fade --r1 2 --r2 3 --class-fade 100 and the loss bce.
# sgd-plain, without momentum: --steps 20. tests/oracles/model.py prints X.cfg.
# Images that are not square, in grey: gan-48x64 with --batch 2 --count 3 --steps 20, gan-64x40 also with --loss rpgan
# --r1 10 --r2 5, from --synthesize DIR --count 7 --size 64; pool-20x12 with --batch 6 --count 16 --steps 50.
# tests/golden was recorded at commit 09c177fd by
#     tools/pytorch/make_oracle.py --size 16 --ngf 4 --ndf 4 --latent 8 --batch 6 --count 20 --small
# from images of --synthesize DIR --count 20 --size 16. A file name has the value of --loss.
#     gan-ralsgan-augment       --augment color,translation,cutout
#     gan-rpgan-r1-r2-augment   --norm-d none --r1 10 --r2 5 --augment
#     gan-hinge-r2-spectral     --norm-d spectral --r2 3
#     gan-bce-r1                --norm-d none --r1 2
#     gan-spectral              --norm-d spectral, 100 steps
#     gan-schedule              as gan-rpgan-r1-r2-augment, with --schedule 90 --lr-end 5e-5 --beta2-end 0.9 --r1-end 1
#                               --r2-end 0.5 --ema-half-life 15 --augment-p 0.6
. "$(dirname "$0")/kit"
if [ -n "${SAN:-}" ]; then few='--steps 2'; else few=; fi
# shellcheck disable=SC2086 # words
agrees() { shows 'within --tol' replay $few "$@"; } # agrees FILE OPTION...
for f in tests/oracles/*.safetensors; do
    agrees "$f" --precision fp64 --tol 1e-9
    exits 0 replay "$f" --steps 5
done
for conv in direct winograd; do
    for f in tests/golden/gan-*.safetensors; do agrees "$f" --precision fp64 --tol 1e-9 --conv $conv; done
    for isa in $(DCGAN_ISA=none "$program" plan 2>&1 | sed -n 's/.*available: //p' | tr -d ,); do
        export DCGAN_ISA="$isa"
        agrees tests/golden/oracle16.safetensors --precision fp64 --tol 1e-9 --conv $conv
        agrees tests/golden/oracle16.safetensors --tol 1e-5 --steps 1 --conv $conv
        unset DCGAN_ISA
    done
    # larger runs; in 100 steps, differences from PyTorch grow from 1e-16 to 0.9e-9 (direct) or 4e-9 (winograd),
    # depending on the instruction set
    for size in tiny:1e-9:1e-9 short:1e-9:1e-9 long:3e-9:1e-8; do
        f=${DCGAN_SHARED:-../shared}/oracles/${size%%:*}.safetensors tol=${size#*:}
        [ -e "$f" ] || { skip "$f is not there"; continue; }
        case $conv in direct) tol=${tol%:*} ;; *) tol=${tol#*:} ;; esac
        agrees "$f" --precision fp64 --tol "$tol" --conv $conv
    done
done
# a bit of the last sample value differs
cp tests/golden/oracle16.safetensors "$dir/other.safetensors"
last=$(($(wc -c < "$dir/other.safetensors") - 3))
printf x | dd of="$dir/other.safetensors" bs=1 seek=$last conv=notrunc 2> "$dir/.dd"
refuses 1 'replay-differs sample' replay "$dir/other.safetensors" --precision fp64 --tol 1e-9
agrees "$dir/other.safetensors" --precision fp64 --tol 1e-3
head -c -1 tests/golden/oracle16.safetensors > "$dir/other.safetensors"
exits 4 replay "$dir/other.safetensors" --precision fp64 --tol 1e-9
exits 2 replay
for f in models/dcgan32.cfg no/such/file; do exits 4 replay $f --precision fp64; done
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
exits 1 replay "$dir/other.safetensors" --precision fp64 --tol 1e-9 --json
prints '"ok": false' '"loss_file": ['
# for a GAN, also its loss and augmentation
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
# versions that are not recorded
sed 's/"torch":/"torcx":/; s/"dtype":/"dtypx":/' tests/oracles/residual.safetensors > "$dir/other.safetensors"
shows 'PyTorch ?, ?, 2 of' replay "$dir/other.safetensors" --steps 2
head -c 200 tests/oracles/residual.safetensors > "$dir/cut.safetensors"
exits 4 replay "$dir/cut.safetensors"
sed 's/op = mean_pool/op = mean_poop/' tests/oracles/residual.safetensors > "$dir/wrong.safetensors"
refuses 2 'model-value op = mean_poop' replay "$dir/wrong.safetensors"
finish
