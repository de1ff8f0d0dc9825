#!/bin/sh
# --precision tf32, bf16 and fp16: for tensor cores alone, and refused in words elsewhere; what they choose for a GPU
# that is not here, and what auto, the default, is there and on the CPU.
. "$(dirname "$0")/kit"

for p in tf32 bf16 fp16; do
    for c in plan 'check --batch 2' 'bench --repeats 1'; do
        # shellcheck disable=SC2086
        exits 2 $c --device cpu --precision $p
        says "--precision $p is for the tensor cores of a GPU"
        says '--precision fp32 runs here'
    done
    exits 0 profile dcgan64-paper --predict h200 --precision $p
    silent
    prints "H200, $p"
    for k in fwd dx dw; do
        variant=mma
        [ $p != bf16 ] || [ $k = dw ] || variant=wgmma
        grep -q "^D\.2\.conv\.$k  *conv_$k  *$variant " "$dir/.out"
        fact $? "D.2.conv.$k should be of variant $variant with $p"
    done
    exits 0 plan dcgan64-paper --arch sm_90 --precision $p
    prints "for sm_90, not here, $p"
    if [ $p = fp16 ]; then continue; fi # below
    exits 2 plan --arch sm_75 --precision $p
    exits 0 plan --arch sm_80 --precision $p --json
    prints "\"precision\": \"$p\""
    prints '"variant": "mma"'
    exits 2 profile --predict t4 --precision $p
    says "--precision $p: the tensor cores of sm_75 have neither bf16 nor tf32"
    says 'fp32 runs here, and fp16'
    exits 0 profile dcgan32 --predict h200 --json --precision $p
    prints "\"precision\":	\"$p\""
done
exits 0 profile dcgan64-paper --predict h200 --precision fp32
! grep -q ' mma ' "$dir/.out"
fact $? 'fp32 should not use tensor cores'
exits 2 plan --precision fp8
says 'auto, fp32, fp64, tf32, bf16 or fp16'

# fp16 is Turing's: fused there, op by op on what has bf16, and twice as quick as fp32 by the model
exits 0 plan dcgan64-paper --batch 64 --arch sm_75 --precision fp16
prints 'for sm_75, not here, fp16'
kernels=$(sed -n 's/^plan train: .* \([0-9]*\) dependent kernels$/\1/p' "$dir/.out")
[ "$kernels" -le 30 ]
fact $? "a step in fp16 should be 30 kernels on sm_75, not $kernels"
exits 0 plan dcgan64-paper --batch 64 --arch sm_90 --precision fp16
kernels=$(sed -n 's/^plan train: .* \([0-9]*\) dependent kernels$/\1/p' "$dir/.out")
[ "$kernels" -gt 60 ]
fact $? "convolutions in fp16 should not be fused on sm_90, but there are $kernels kernels"
exits 0 profile dcgan64-paper --predict t4 --precision fp16
prints 'T4, fp16'
prints 'tensor cores      65000 GFLOP/s fp16'
expected() { sed -n 's/^model: \([0-9]*\)\..* us, .*/\1/p' "$dir/.out"; }
half=$(expected)
exits 0 profile dcgan64-paper --predict t4 --precision fp32
[ "$half" -gt 0 ] && [ $((2 * half)) -lt "$(expected)" ]
fact $? "the model should expect fp16 to be twice as quick on a T4, not $half us against $(expected)"

# auto: bf16 from sm_80 on, fp32 on what is older and on the CPU
for given in '' '--precision auto'; do
    for there in sm_80=bf16 sm_90=bf16 sm_75=fp32 t4=fp32; do
        # shellcheck disable=SC2086
        exits 0 plan dcgan32 --arch ${there%=*} --json $given
        prints "\"precision\": \"${there#*=}\""
    done
    for there in h200=bf16 t4=fp32; do
        # shellcheck disable=SC2086
        exits 0 profile dcgan32 --predict ${there%=*} --json $given
        prints "\"precision\":	\"${there#*=}\""
    done
    # shellcheck disable=SC2086
    exits 0 plan dcgan32 --json --device cpu $given
    prints '"precision": "fp32"'
done
for c in check replay generate; do
    exits 0 help $c
    tr -s '\n ' ' ' < "$dir/.out" | grep -qF 'check and replay: fp32'
    fact $? "help $c should say what auto is"
done
# a run says what it became, and so does its checkpoint
exits 0 data --synthesize "$dir/cats" --count 4 --size 16 -q
exits 0 --data "$dir/cats" --model tests/tiny.cfg --batch 2 --epochs 1 --device cpu -q --out "$dir/run"
grep -qx 'precision = fp32' "$dir/run/config.ini"
fact $? 'config.ini should say fp32, not auto'
exits 0 info "$dir/run/checkpoint.safetensors"
prints 'precision: fp32'
exits 0 --resume --out "$dir/run" --epochs 2 --precision auto --device cpu -q
exits 2 --resume --out "$dir/run" --epochs 3 --precision bf16
says 'this run was begun with fp32, which cannot change'

# rows of a tuning file that are for another precision are neither used nor wrong; a row that cannot be is
printf '%s\n' '[sm_90 bf16]' 'conv_dw N=128 H=32 W=32 C=32>64 K=4 S=2 P=1 : mma split=3' \
    '[sm_90]' 'conv_dw N=128 H=16 W=16 C=64>128 K=4 S=2 P=1 : mma' > "$dir/a.tune"
exits 0 profile dcgan64-paper --batch 64 --predict h200 --tuning "$dir/a.tune" --precision fp32
says 'a.tune:4: mma rounds its factors: it is for precision bf16, tf32 or fp16'
exits 0 profile dcgan64-paper --batch 64 --predict h200 --tuning "$dir/a.tune" --precision bf16
silent
printf '%s\n' '[sm_75 fp16]' 'conv_dw N=128 H=32 W=32 C=32>64 K=4 S=2 P=1 : mma split=3' \
    '[sm_75 bf16]' 'conv_dw N=128 H=16 W=16 C=64>128 K=4 S=2 P=1 : mma' > "$dir/b.tune"
exits 0 profile dcgan64-paper --batch 64 --predict t4 --tuning "$dir/b.tune" --precision fp16 --fuse none
says 'b.tune:4: --precision bf16: the tensor cores of sm_75 have neither bf16 nor tf32'
exits 0 plan dcgan64-paper --batch 64 --arch sm_75 --tuning "$dir/b.tune" --precision fp16 --json -q
prints '/b.tune:2'
finish
