#!/bin/sh
# `dcgan check`: the CPU's fast variants against the reference, on synthetic and on real images.
. "$(dirname "$0")/kit"
cd "$dir" || exit 1

exits 0 check dcgan32 --device cpu --batch 3
prints 'dcgan32: comparing cpu' 'step of batch size 3;' 'batch size 2:' 'D.2.conv.dw'
prints '142 ops agree; largest difference: '
silent
shows 'fp64' check dcgan32 --device cpu --batch 3 --precision fp64 --conv winograd -q
ensure '-q should leave two lines' [ "$(wc -l < .out)" -eq 2 ]

# dense layers use gemm by default, the ends of a GAN only with --conv gemm
exits 0 check cnn-mnist --device cpu --batch 3
ensure 'C.3.dense.dw should be gemm' grep -Eq 'C[.]3[.]dense[.]dw +conv_dw +gemm' .out
exits 0 check dcgan32 --device cpu --batch 3
if grep -q 'gemm' .out; then fact 1 'a GAN as shipped has no gemm'; fi
exits 0 check dcgan32 --device cpu --batch 3 --conv gemm
ensure 'D.4.conv.dw should be gemm' grep -Eq 'D[.]4[.]conv[.]dw +conv_dw +gemm' .out

# losses, EMA and augmentation of a model: in the full step and in the short one
for loss in $(losses); do
    cat "$root/tests/tiny.cfg" > own.cfg
    printf '[train]\nloss = %s\nema = 0.9\naugment = color,translation,cutout\n' "$loss" >> own.cfg
    exits 0 check own.cfg --device cpu --batch 3
    for row in "D.$loss.real:gan_loss" "D.$loss.fake:gan_loss" "D.$loss.g:gan_loss" D.x.augment:augment \
        D.x.augment.dx:augment_dx G.ema:ema; do
        [ "$(awk -v row="$row" '$2 ":" $3 == row { n++ } END { print n + 0 }' .out)" -eq 2 ]
        fact $? "$loss: $row should be there twice"
    done
    prints 'ops agree'
done

# images of a folder with a short last batch; a batch of one has none
exits 0 data --synthesize cats --count 7 --size 32
shows 'batch size 3:' check dcgan32 --device cpu --batch 4 --data cats --seed 3
exits 0 check dcgan32 --device cpu --batch 1
! grep -q '^batch size ' .out
fact $? 'a batch of one has no short batch'
exits 3 check dcgan32 --device cpu --batch 8 --data cats
exits 2 check dcgan31 --device cpu
exits 2 check dcgan32 --epochs 3
says option-of-others --epochs "'check'"
exits 2 check dcgan32 dcgan64
finish
