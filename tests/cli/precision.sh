#!/bin/sh
# --precision bf16 and fp16: for tensor cores alone, and refused in words elsewhere; what they choose for a GPU that is
# not here, and what auto, the default, is there and on the CPU. tf32, which was removed, in options and files.
# shellcheck disable=SC2086 # options are words
. "$(dirname "$0")/kit"

for p in bf16 fp16; do
    for c in plan 'check --batch 2' 'bench --repeats 1'; do
        exits 2 $c --device cpu --precision $p
        says precision-needs-gpu "--precision $p" '--precision fp32'
    done
    quietly profile dcgan64-paper --predict h200 --precision $p
    prints "H200, $p"
    for k in fwd dx dw; do
        variant=mma
        [ $p != bf16 ] || [ $k = dw ] || variant=wgmma
        grep -q "^D\.2\.conv\.$k  *conv_$k  *$variant " "$dir/.out"
        fact $? "D.2.conv.$k should be of variant $variant with $p"
    done
    shows "for sm_90, not here, $p" plan dcgan64-paper --arch sm_90 --precision $p
    if [ $p = fp16 ]; then continue; fi # below
    exits 2 plan --arch sm_75 --precision $p
    exits 0 plan --arch sm_80 --precision $p --json
    prints "\"precision\": \"$p\"" '"variant": "mma"'
    exits 2 profile --predict t4 --precision $p
    says no-bf16 "--precision $p" sm_75 fp16
    exits 0 profile dcgan32 --predict h200 --json --precision $p
    prints "\"precision\":	\"$p\""
done
exits 0 profile dcgan64-paper --predict h200 --precision fp32
! grep -q ' mma ' "$dir/.out"
fact $? 'fp32 should not use tensor cores'
refuses 2 'option-value auto, fp32, fp64, bf16 or fp16' plan --precision fp8

# fp16 is Turing's: fused there, op by op on what has bf16, and twice as quick as fp32 by the model
shows 'for sm_75, not here, fp16' plan dcgan64-paper --batch 64 --arch sm_75 --precision fp16
kernels=$(sed -n 's/^plan train: .* \([0-9]*\) in the longest chain of dependent kernels$/\1/p' "$dir/.out")
ensure "a step in fp16 should be 30 kernels on sm_75, not $kernels" [ "$kernels" -le 30 ]
exits 0 plan dcgan64-paper --batch 64 --arch sm_90 --precision fp16
kernels=$(sed -n 's/^plan train: .* \([0-9]*\) in the longest chain of dependent kernels$/\1/p' "$dir/.out")
ensure "convolutions in fp16 should not be fused on sm_90, but there are $kernels kernels" [ "$kernels" -gt 60 ]
exits 0 profile dcgan64-paper --predict t4 --precision fp16
prints 'T4, fp16' 'tensor cores      65000 GFLOP/s fp16'
expected() { sed -n 's/^cost model: \([0-9]*\)\..* us: .*/\1/p' "$dir/.out"; }
half=$(expected)
exits 0 profile dcgan64-paper --predict t4 --precision fp32
[ "$half" -gt 0 ] && [ $((2 * half)) -lt "$(expected)" ]
fact $? "the model should expect fp16 to be twice as quick on a T4, not $half us against $(expected)"

# auto: bf16 from sm_80 on, fp32 on older GPUs and on the CPU
for given in '' '--precision auto'; do
    for there in sm_80=bf16 sm_90=bf16 sm_75=fp32 t4=fp32; do
        exits 0 plan dcgan32 --arch ${there%=*} --json $given
        prints "\"precision\": \"${there#*=}\""
    done
    for there in h200=bf16 t4=fp32; do
        exits 0 profile dcgan32 --predict ${there%=*} --json $given
        prints "\"precision\":	\"${there#*=}\""
    done
    shows '"precision": "fp32"' plan dcgan32 --json --device cpu $given
done
for c in check replay generate; do
    exits 0 help $c --help-all
    tr -s '\n ' ' ' < "$dir/.out" | grep -qF 'check and replay is fp32'
    fact $? "help $c should say what auto is"
done
# config.ini and the checkpoint have the precision that auto chose
exits 0 data --synthesize "$dir/cats" --count 4 --size 16 -q
exits 0 --data "$dir/cats" --model tests/tiny.cfg --batch 2 --epochs 1 --device cpu -q --out "$dir/run"
config "$dir/run" 'precision = fp32'
shows 'precision: fp32' info "$dir/run/checkpoint.safetensors"
exits 0 --resume --out "$dir/run" --epochs 2 --precision auto --device cpu -q
refuses 2 'fixed-in-run fp32' --resume --out "$dir/run" --epochs 3 --precision bf16

# tf32 is refused; a run in tf32 resumes in fp32 or bf16, if the user says so
refuses 2 'precision-removed tf32' plan --precision tf32
DCGAN_PRECISION=tf32 refuses 2 'precision-removed DCGAN_PRECISION' plan
run=$dir/run line=$(grep -n '^precision = fp32$' "$dir/run/config.ini" | cut -d: -f1)
of_tf32 "$run" fp32
cp "$run/config.ini" "$dir/tf32.ini"
for given in '' '--precision auto' '--precision fp64' '--precision fp16'; do
    refuses 2 "tf32-in-config $run/config.ini:$line" --resume --out "$run" --epochs 3 --device cpu -q $given
done
refuses 2 'precision-needs-gpu bf16' --resume --out "$run" --epochs 3 --device cpu -q --precision bf16
refuses 2 "tf32-in-config $dir/tf32.ini:$line" --config "$dir/tf32.ini" --epochs 1 --device cpu -q --out "$dir/other"
exits 0 --config "$dir/tf32.ini" --precision fp32 --epochs 1 --device cpu -q --out "$dir/other"
config "$dir/other" 'precision = fp32'
exits 0 info "$run"
exits 0 report "$run"
exits 0 doctor "$run"
shows 'precision: tf32' info "$run/checkpoint.safetensors"
exits 0 generate "$run/checkpoint.safetensors" --count 1 --device cpu --out "$dir/of-tf32"
exits 0 --resume --out "$run" --epochs 3 --device cpu -q --precision fp32
says tf32-new-bits checkpoint.safetensors fp32
config "$run" 'precision = fp32'
shows 'precision: fp32' info "$run/checkpoint.safetensors"
quietly --resume --out "$run" --epochs 4 --device cpu -q

# rows of a tuning file that are for another precision are neither used nor wrong; a row that cannot be is
printf '%s\n' '[sm_90 bf16]' 'conv_dw N=128 H=32 W=32 C=32>64 K=4 S=2 P=1 : mma split=3' \
    '[sm_90]' 'conv_dw N=128 H=16 W=16 C=64>128 K=4 S=2 P=1 : mma' > "$dir/a.tune"
notes 'mma-in-fp32 a.tune:4' profile dcgan64-paper --batch 64 --predict h200 --tuning "$dir/a.tune" --precision fp32
quietly profile dcgan64-paper --batch 64 --predict h200 --tuning "$dir/a.tune" --precision bf16
printf '%s\n' '[sm_75 fp16]' 'conv_dw N=128 H=32 W=32 C=32>64 K=4 S=2 P=1 : mma split=3' \
    '[sm_75 bf16]' 'conv_dw N=128 H=16 W=16 C=64>128 K=4 S=2 P=1 : mma' > "$dir/b.tune"
exits 0 profile dcgan64-paper --batch 64 --predict t4 --tuning "$dir/b.tune" --precision fp16 --fuse none
says no-bf16 b.tune:4 bf16 sm_75
printf '%s\n' '[sm_90 tf32]' 'conv_dw N=128 H=32 W=32 C=32>64 K=4 S=2 P=1 : mma split=3' 'conv_dw : no' > "$dir/c.tune"
quietly profile dcgan64-paper --batch 64 --predict h200 --tuning "$dir/c.tune" --precision bf16
shows '/b.tune:2' plan dcgan64-paper --batch 64 --arch sm_75 --tuning "$dir/b.tune" --precision fp16 --json -q
finish
