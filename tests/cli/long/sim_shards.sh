#!/bin/sh
# --shards on the simulated GPU: each op agrees with the CPU, and each fused launch with its ops, in every precision; a
# step has one result in every order of threads and streams, with and without the graph, and on resume.
. "$(dirname "$0")/sim_kit"
widen

# agrees SHARDS WORDS ARGUMENT...: of a full and of a short step
agrees()
{
    shards=$1 words=$2
    shift 2
    sim "$words" 0 check "$@" --shards "$shards" --device cuda
    silent
    prints 'ops agree' 'launches agree with single ops' '.shards.sum '
}
awk '/^\[D\]/ { d = 1 } d { sub(/^norm = batch/, "norm = spectral") } !(d && /^norm = none/)' "$dir/wide.cfg" \
    > "$dir/spectral.cfg"
agrees 4 'reverse deferred sm=80' "$dir/wide.cfg" --batch 8 --precision bf16
agrees 2 'random lazy uneven' "$dir/spectral.cfg" --batch 6 --precision bf16
agrees 2 'random lazy uneven' "$root/tests/penalty.cfg" --batch 4 --precision bf16
if soaks; then
    agrees 2 'random lazy uneven' "$dir/wide.cfg" --batch 8 --precision bf16
    agrees 2 'random lazy uneven sm=75' "$dir/wide.cfg" --batch 6 --precision fp16
    agrees 4 'random lazy uneven' "$dir/wide.cfg" --batch 12 --precision fp32
    agrees 2 'reverse deferred' "$root/tests/tiny.cfg" --batch 6 --precision fp64
    agrees 2 'reverse deferred' cnn-mnist --batch 8 --precision fp32
fi

exits 0 data --synthesize "$dir/cats" --count 26 --size 16 || finish
trained() # trained WORDS NAME ARGUMENT...: two epochs of wide.cfg, whose last batch is short
{
    words=$1 out=$2
    shift 2
    sim "$words" 0 --data "$dir/cats" --model "$dir/wide.cfg" --batch 8 --seed 5 --flip -q --no-curves \
        --out "$dir/$out/run" --epochs 2 "$@"
}
# shellcheck disable=SC2086 # the options of $of
for of in '2 bf16' '4 bf16' '4 fp32' '2 fp64'; do
    name=$(echo "$of" | tr ' ' -)
    case $of in *fp*) soaks || continue ;; esac
    of="--shards ${of% *} --precision ${of#* }"
    trained 'random lazy uneven' "$name" $of
    trained 'reverse deferred' "eager-$name" $of --no-graph
    same_run "$name" "eager-$name"
done
unset DCGAN_PRECISION
trained forward stopped --shards 4 --steps 5
goes_on random 0 stopped --epochs 2 --steps 0
same_run 4-bf16 stopped
differ "$dir/2-bf16/run/checkpoint.safetensors" "$dir/4-bf16/run/checkpoint.safetensors" 'shards should matter'
trained 'random lazy uneven' one
trained 'reverse deferred' of-one --shards 1
equal "$dir/one/run" "$dir/of-one/run"
finish
