#!/bin/sh
# A training step at an eighth of the usual width with the plan of the CUDA backend on the simulated GPU: every op
# equals that of the CPU for the same inputs.
. "$(dirname "$0")/sim_kit"

# width NET WIDTH: models/NET.cfg with WIDTH channels in its narrowest layer
width()
{
    awk -v w="$2" '/^filters = / && $3 > 3 { if (!least) { for (least = $3; least > 64; least /= 2); }
        $3 = $3 / least * w } { print }' \
        "$root/models/$1.cfg" > "$dir/$1-$2.cfg"
}
width dcgan64 8
grep -qx 'filters = 64' "$dir/dcgan64-8.cfg" && grep -qx 'filters = 8' "$dir/dcgan64-8.cfg"
fact $? 'dcgan64 at width 8 should have 64, 32, 16 and 8 channels'
width dcgan32 8

# agrees OPS WORDS ARGUMENT...
agrees()
{
    ops=$1 words=$2
    shift 2
    sim "$words" 0 check "$@" --device cuda
    silent
    prints 'Simulated GPU 0' "$ops ops agree"
}
agrees 179 'random lazy uneven' "$dir/dcgan64-8.cfg" --batch 3
for variant in tiled thin gemv vector direct; do prints " $variant "; done
agrees 142 'reverse deferred' "$dir/dcgan32-8.cfg" --batch 5 --precision fp64
"$program" data --synthesize "$dir/cats" --count 7 --size 16 > "$dir/.out"
agrees 105 forward "$root/tests/tiny.cfg" --data "$dir/cats" --batch 4
prints 'batch size 3:'
# other losses, EMA, augmentation and gradient penalties, whose identity is checked for ops and for fused launches
for loss in $(losses); do
    case $loss in hinge | rpgan) classes='\nclasses = 3' ;; *) classes= ;; esac
    sed "s/^size = .*/&$classes/; s/^loss = .*/loss = $loss\nema = 0.9\naugment = color,translation,cutout/" \
        "$root/tests/penalty.cfg" > "$dir/own.cfg"
    sim 'random lazy uneven' 0 check "$dir/own.cfg" --batch 3 --device cuda
    prints 'ops agree' 'launches agree'
    for op in gan_loss augment augment_dx ema fill mix bias_dw penalty; do prints " $op "; done
    for op in ${classes:+onehot pick pick_dx}; do prints " $op "; done
    [ "$(grep -c 'gradient penalty: squared norms agree' "$dir/.out")" -eq 2 ]
    fact $? 'the penalty should be checked with and without fusion'
done
# 129 classes, which G embeds
sim uneven 0 check dcgan-16x3-129classes --batch 2 --device cuda
prints 'G.embed.dense.fwd' 'launches agree'
# images that are not square: first and last layers whose kernels cover maps that are not square
for precision in fp32 bf16; do
    sim 'random lazy uneven' 0 check dcgan-16x24x3 --batch 3 --device cuda --precision $precision
    prints 'G.1.conv_transpose.fwd' '105 ops agree' 'fused launches agree'
done
sim uneven 0 check bilinear-24x16x3 --batch 2 --device cuda
prints 'ops agree' 'fused launches agree'
"$root/tests/oracles/model.py" pool-20x12 > "$dir/pool.cfg"
sim lazy 0 check "$dir/pool.cfg" --batch 5 --device cuda
prints 'C.2.mean_pool.fwd' 'ops agree'
# a short last batch with penalties and fused launches; -q prints three lines
"$program" data --synthesize "$dir/small" --count 7 --size 16 > "$dir/.out"
sim lazy 0 check "$dir/own.cfg" --data "$dir/small" --batch 4 --device cuda
prints 'batch size 3:' 'gradient penalty: squared norms agree' 'launches agree'
sim lazy 0 check "$dir/own.cfg" --data "$dir/small" --batch 4 --device cuda -q
prints 'ops agree' 'launches agree'
[ "$(wc -l < "$dir/.out")" -eq 3 ]
fact $? "check -q should print three lines: $(head -n 5 "$dir/.out")"
# spectral norm only in D
awk '/^\[D\]/ { d = 1 } d { sub(/^norm = batch/, "norm = spectral") } !(d && /^norm = none/)' "$dir/dcgan32-8.cfg" \
    > "$dir/spectral.cfg"
agrees 158 'random lazy uneven' "$dir/spectral.cfg" --batch 5
for op in spectral spectral_dw; do prints " $op "; done
for oracle in spectral ralsgan-augment bce-r1 hinge-r2-spectral rpgan-r1-r2-augment schedule; do
    oracle=$root/tests/golden/gan-$oracle.safetensors
    sim lazy 0 replay "$oracle" --precision fp64 --tol 1e-9 --device cuda
    prints 'within --tol'
    sim lazy 0 replay "$oracle" --steps 1 --tol 1e-4 --device cuda
done
# classifiers: every kind of layer, all optimizers, and PyTorch's results
agrees 49 'random lazy uneven' cnn-mnist --batch 8
agrees 129 'reverse deferred' "$root/tests/oracles/residual.cfg" --batch 5
# GANs with resampling, residual blocks and groups
for m in gan-bilinear gan-residual adagrad-dropout adadelta-dropout sgd-overlap; do
    "$root/tests/oracles/model.py" $m > "$dir/$m.cfg"
done
agrees 151 'random lazy uneven' "$dir/gan-bilinear.cfg" --batch 5
agrees 234 'reverse deferred' "$dir/gan-residual.cfg" --batch 5
for m in adagrad-dropout adadelta-dropout sgd-overlap; do
    sim lazy 0 check "$dir/$m.cfg" --batch 5 --precision fp64 --device cuda
    prints 'ops agree'
done
for m in adam-pool residual; do
    sim lazy 0 replay "$root/tests/oracles/$m.safetensors" --steps 20 --precision fp64 --tol 1e-9 --device cuda
    prints 'within --tol'
done
finish
