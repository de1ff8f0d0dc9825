#!/bin/sh
# The same seed gives the same checkpoint bytes (weights and Adam) for any number of threads, in both precisions, with
# the defaults and with every option of training. kills.sh and train.sh have killed and stopped runs.
# shellcheck disable=SC2086 # $options are words
. "$(dirname "$0")/../kit"
awk 'BEGIN { split("12 6 3 5 10 1", width) } $1 == "filters" { $3 = width[++n] } { print }' tests/tiny.cfg \
    > "$dir/tiny.cfg"
exits 0 data --synthesize "$dir/cats" --count 45 --size 16 || finish

for options in --flip '--flip --loss ralsgan --augment color,translation,cutout --ema 0.995'; do
    for p in fp32 fp64; do
        for t in 1 2 3 7; do
            rm -rf "${dir:?}/$p-$t"
            exits 0 --data "$dir/cats" --model "$dir/tiny.cfg" --batch 8 --epochs 3 --seed 5 -q --no-report \
                --no-curves --precision $p --threads $t $options --out "$dir/$p-$t"
            same "$dir/$p-1/checkpoint.safetensors" "$dir/$p-$t/checkpoint.safetensors"
        done
    done
    differ "$dir/fp32-1/checkpoint.safetensors" "$dir/fp64-1/checkpoint.safetensors" 'the precision matters'
done
finish
