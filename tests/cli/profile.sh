#!/bin/sh
# dcgan profile: its output with and without the device, and its errors.
. "$(dirname "$0")/kit"

notes 'note-measuring dcgan32' profile dcgan32 --batch 2 --repeats 1
prints 'bound by' 'D.2.conv.dx'
quietly profile dcgan32 --batch 2 --repeats 1 --quiet --precision fp64
prints ', fp64'

# a GPU that is not here: only the model is printed
quietly profile dcgan32 --predict rtx4090
prints 'NVIDIA GeForce RTX 4090' 'nothing was measured on this machine' 'dependent kernels'
prints 'last prediction that was checked (H100'
exits 0 profile dcgan32 --predict h200 --json
prints '"published"' '"predicted"'
refuses 2 'unknown-gpu H200' profile dcgan32 --predict abacus

# without fused kernels, each op is a launch
exits 0 profile dcgan32 --predict h200 --fuse none
grep -q '^D.1.act.fwd .* by formula$' "$dir/.out"
fact $? 'the table of launches should have each op:' "$dir/.out"

# CUDA graphs are of a GPU, and are measured
refuses 2 'in-graph-device --device cuda' profile dcgan32 --in-graph
refuses 2 'in-graph-with --predict' profile dcgan32 --in-graph --predict h200
refuses 2 'in-graph-with --no-graph' profile dcgan32 --in-graph --no-graph

# its tuning rows are read and checked
printf '[sm_90]\nnoise n=6400 : direct block=128\nnoise n=1 : unheard-of\n' > "$dir/a.tune"
exits 0 profile dcgan32 --predict h200 --tuning "$dir/a.tune"
says tune-no-variant a.tune:3 unheard-of
refuses 4 'cannot-open none.tune' profile dcgan32 --predict h200 --tuning "$dir/none.tune"

# without a GPU the message names --predict
export CUDA_VISIBLE_DEVICES=
refuses 5 'device-profile --predict h200' profile dcgan32 --device cuda
exits 2 profile dcgan32 --repeats 0
exits 2 profile dcgan32 dcgan64

finish
