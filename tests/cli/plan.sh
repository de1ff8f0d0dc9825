#!/bin/sh
# dcgan plan for a GPU that is not here: the variant of each op and its reason, and corrupt tuning files.
. "$(dirname "$0")/kit"
export DCGAN_FUSE=none # rows describe single ops

quietly plan dcgan64-paper --arch sm_90
cp "$dir/.out" "$dir/rule"
prints 'for sm_90, not here'
grep -qE '^ *[0-9]+  D\.2\.conv\.fwd +conv_fwd +[a-z]+ +[0-9]+ +[0-9]+x[0-9]+ +[0-9]+ .* rule ' "$dir/.out"
fact $? "the plan should tell block, tile, stages and reason: $(grep D.2.conv.fwd "$dir/.out" | head -n 1)"
ensure 'the plan should count its dependent kernels' \
    grep -qE '^plan train: .* [0-9]+ in the longest chain of dependent kernels$' "$dir/.out"
for arch in sm_90 sm_80; do
    shows ' 30 in the longest chain of dependent kernels' plan dcgan64-paper --arch $arch --precision bf16 --fuse all
done
shows '"because": "rule", "launch": ' plan dcgan64-paper --arch sm_90 --precision bf16 --fuse all,-update --json
refuses 2 'bad-fuse sums' plan dcgan64-paper --arch sm_90 --fuse sums
shows 'for NVIDIA H200, not here' plan dcgan64-paper --arch H200
exits 0 plan dcgan64-paper --arch 75 --precision fp64
shows '"kernels": 2, "because": "rule"' plan dcgan32 --arch sm_90 --json
exits 0 plan dcgan32 --device cpu --json
! grep -q '"kernels"' "$dir/.out"
fact $? 'the plan of a CPU has no launches'

# a tuning row applies to its op only, and the plan names file and line
printf '; by hand\n[sm_90]\nconv_fwd N=128 H=32 W=32 C=32>64 K=4 S=2 P=1 : tiled tile=64x32 stages=2\n' > "$dir/a.tune"
quietly plan dcgan64-paper --arch sm_90 --tuning "$dir/a.tune"
prints "$dir/a.tune:3"
ensure 'one row should change one op' [ "$(diff "$dir/rule" "$dir/.out" | grep -c '^>')" -eq 1 ]
exits 0 plan dcgan64-paper --arch sm_80 --tuning "$dir/a.tune"
! grep -q 'a\.tune' "$dir/.out"
fact $? 'a row for sm_90 is none for sm_80'
exits 0 plan dcgan64-paper --arch sm_90 --tuning "$dir/a.tune" --json
prints '"tile": [64, 32], "stages": 2, "split": 1, "kernels": 1, "because": "'

# a corrupt file only gives a message
printf 'conv_fwd N=64 H=32 : tiled\n\001\377\nnorm_act = ?\n[sm_90]\nadam n=694656 : vector block=7\n' > \
    "$dir/junk.tune"
exits 0 plan dcgan64-paper --arch sm_90 --tuning "$dir/junk.tune"
says shape-incomplete "$dir/junk.tune:1:" '3)'
stderr_has 'rows with errors are left out'
same "$dir/rule" "$dir/.out"
refuses 4 'cannot-open none.tune' plan dcgan64-paper --arch sm_90 --tuning "$dir/none.tune"

# layers of 308 million values have a plan; more than 2^31 - 1 are refused
printf '[model]\nname = large\nsize = 224\n[C]\nkernel = 3\nfilters = 64\nact = relu\n[C.1]\n[C.2]\n' > "$dir/large.cfg"
printf '[C.3]\nop = max_pool\nkernel = 16\n[C.4]\nop = dense\nfilters = 2\nact = none\n' >> "$dir/large.cfg"
for where in '--device cpu' '--arch sm_90'; do
    # shellcheck disable=SC2086 # two words
    exits 0 plan "$dir/large.cfg" --batch 96 $where
    prints 'C.1.out[96x224x224x64]' 'arena, one allocation'
done
exits 2 plan "$dir/large.cfg" --batch 669 --arch sm_90
says too-many-values '--batch 669:' C.1 large 2148.3 668
# --fit: the batch size fits, and the next larger one does not
"$program" data --synthesize "$dir/cats" --count 60 --size 16 -q
for mb in 0.35 0.5 1; do
    exits 0 plan tests/tiny.cfg --fit --device-memory $mb --json
    batch=$(sed -n 's/.*"largest_batch": \([0-9]*\),.*/\1/p' "$dir/.out")
    exits 0 --data "$dir/cats" --model tests/tiny.cfg --batch "$batch" --preset none --dry-run --device-memory $mb
    exits 5 --data "$dir/cats" --model tests/tiny.cfg --batch $((batch + 1)) --preset none --dry-run --device-memory $mb
done
exits 0 plan dcgan64-paper --fit --arch h200
prints 'the largest batch that fits is 32767' '--batch 32768: [too-many-values] layer G.4'
quietly plan resnet50-imagenet --fit --arch h100
refuses 2 'memory-unknown --arch sm_90' plan dcgan64-paper --fit --arch sm_90
exits 0 plan dcgan64-paper --fit --arch sm_90 --device-memory 1000
refuses 5 advice-smaller-model plan dcgan64-paper --fit --device-memory 20
exits 2 plan dcgan64-paper --batch 8 --fit crop

refuses 2 'unknown-arch sm_91' plan dcgan64-paper --arch sm_91
exits 2 plan dcgan64-paper --arch sm_90x
exits 2 train --arch sm_90
finish
