#!/bin/sh
# dcgan profile from the command line: what it prints with and without the device in question, and its errors.
. "$(dirname "$0")/kit"

exits 0 profile dcgan32 --batch 2 --repeats 1
says 'measuring the machine and dcgan32'
prints 'ops one by one'
prints 'D.2.conv.dx'
exits 0 profile dcgan32 --batch 2 --repeats 1 --quiet --precision fp64
silent
prints ', fp64'

# a GPU that is not here: nothing is measured
exits 0 profile dcgan32 --predict rtx4090
silent
prints 'NVIDIA GeForce RTX 4090'
prints 'nothing below was measured'
prints 'dependent kernels'
exits 0 profile dcgan32 --predict h200 --json
prints '"published"'
prints '"predicted"'
exits 2 profile dcgan32 --predict abacus
says 'H200'

# tuning rows for it are read and checked
printf '[sm_90]\nnoise n=6400 : direct block=128\nnoise n=1 : unheard-of\n' > "$dir/a.tune"
exits 0 profile dcgan32 --predict h200 --tuning "$dir/a.tune"
says 'a.tune:3'
says 'unheard-of'
exits 4 profile dcgan32 --predict h200 --tuning "$dir/none.tune"
says 'none.tune'

# without a GPU the way out is named
export CUDA_VISIBLE_DEVICES=
exits 5 profile dcgan32 --device cuda
says '--predict h200'
exits 2 profile dcgan32 --repeats 0
exits 2 profile dcgan32 dcgan64

finish
