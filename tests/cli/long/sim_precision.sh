#!/bin/sh
# --precision bf16 and fp16 on the simulated GPU: convolutions on tensor cores agree op by op with the CPU's
# reference within rounding, training has one result in every order, and a run keeps its precision.
. "$(dirname "$0")/sim_kit"
unset DCGAN_PRECISION # bf16 is the default on the simulated sm_90

widen
for p in bf16 fp16; do
    words='random lazy uneven'
    if [ $p = fp16 ]; then words="$words sm=75"; fi
    sim "$words" 0 check "$dir/wide.cfg" --batch 5 --precision $p
    silent
    prints " $p" ' ops agree'
    [ "$(grep -cE ' (wg)?mma ' "$dir/.out")" -ge 9 ]
    fact $? "$p: the inner layers should be of variant mma or wgmma in all directions"
done
grep -q ' mma ' "$dir/.out" && sim forward 0 check "$dir/wide.cfg" --batch 5 && ! grep -q ' mma ' "$dir/.out"
fact $? 'fp32 should not use tensor cores'

# a GPU without bf16
sim sm=75 2 plan dcgan32 --precision bf16
says no-bf16 '--precision bf16' sm_75
for sm in 80 90; do
    sim sm=$sm 0 plan dcgan32
    prints "sm_$sm, bf16" ' mma '
done
sim sm=75 0 plan dcgan32
prints 'sm_75, fp32'
# fp16: fused on sm_75, op by op on sm_90
for sm in 75 90; do
    sim sm=$sm 0 plan "$dir/wide.cfg" --precision fp16
    prints "sm_$sm, fp16" ' mma '
done
sim sm=90 0 check "$dir/wide.cfg" --batch 3 --precision fp16
prints ' ops agree'

# the recorded PyTorch run has enough channels for tensor cores
sim forward 0 replay "$root/tests/golden/oracle16.safetensors" --steps 5 --precision bf16 --tol 1
sim forward 1 replay "$root/tests/golden/oracle16.safetensors" --steps 5 --precision bf16 --tol 1e-5

exits 0 data --synthesize "$dir/cats" --count 10 --size 16 || finish
begins forward one --epochs 2 --precision bf16
silent
begins 'random seed=4 lazy uneven threads=3' eager --epochs 2 --no-graph
same_run one eager
begins 'sm=75 random' turing --epochs 2 --precision fp16
silent
begins 'sm=75 reverse' again --epochs 2 --precision fp16 --no-graph
same_run turing again
begins uneven half --epochs 1
shows 'precision: bf16' info "$dir/half/run/checkpoint.safetensors"
config "$dir/half/run" 'precision = bf16'
goes_on reverse 2 half --epochs 2 --precision fp32
says fixed-in-run '--precision fp32' bf16
goes_on '' 2 half --epochs 2 --device cpu
says precision-of-run-needs-gpu bf16
goes_on reverse 0 half --epochs 2 --precision auto
same_run one half

# a run that an older version began in tf32 resumes in bf16 or fp32
begins reverse old --epochs 1
of_tf32 "$dir/old/run" bf16
cp -r "$dir/old" "$dir/older"
goes_on reverse 2 old --epochs 2
says tf32-in-config config.ini
goes_on reverse 0 old --epochs 2 --precision bf16
says tf32-new-bits bf16
config "$dir/old/run" 'precision = bf16'
same_run one old # the bits of a run in bf16, because the first epoch was one
goes_on reverse 0 older --epochs 2 --precision fp32
says tf32-new-bits fp32
differ "$dir/old/run/checkpoint.safetensors" "$dir/older/run/checkpoint.safetensors" 'bf16 should round something'

# close to fp32, but not equal; generate works on any device
begins forward plain --epochs 2 --precision fp32
differ "$dir/one/run/checkpoint.safetensors" "$dir/plain/run/checkpoint.safetensors" 'bf16 should round something'
near() # near RUN MOST: all losses of this run are within MOST of those of fp32
{
    awk -F, -v most="$2" 'FNR < 2 { next } NR == FNR { a[FNR] = $4; next }
        { d = a[FNR] - $4; if (d < 0) d = -d; if (!(d < most)) bad++; n++ }
        END { exit bad || n != 6 }' "$dir/$1/run/log.csv" "$dir/plain/run/log.csv"
}
near one 0.2
fact $? 'the losses of bf16 should be near those of fp32'
! cmp -s "$dir/turing/run/checkpoint.safetensors" "$dir/plain/run/checkpoint.safetensors" && near turing 0.2
fact $? 'the losses of fp16 should be near those of fp32, and not the same'
exits 0 generate "$dir/one/run/checkpoint.safetensors" --seeds 1-2 --device cpu --out "$dir/g"
holds "$dir/g/grid.png"

# generate uses the precision of the run, if the GPU has it
samples() # samples WORDS RUN NAME ARGUMENT...
{
    words=$1 from=$2 to=$3
    shift 3
    rm -rf "${dir:?}/$to"
    sim "$words" 0 generate "$dir/$from/run/checkpoint.safetensors" --seeds 1-2 --out "$dir/$to" "$@"
}
as_with() # as_with PRECISION WORDS RUN
{
    samples "$2" "$3" auto
    samples "$2" "$3" given --precision "$1"
    for n in 0001 0002; do same "$dir/auto/seed-$n.png" "$dir/given/seed-$n.png"; done
}
begins forward steep --epochs 1 --lr 0.05 # samples with contrast show rounding
as_with fp32 sm=75 steep
as_with fp32 forward plain
as_with bf16 forward steep
as_with fp16 sm=75 turing
samples forward steep other --precision fp32
differ "$dir/auto/seed-0001.png" "$dir/other/seed-0001.png" 'bf16 should change the samples'
finish
