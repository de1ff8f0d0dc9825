#!/bin/sh
# The published sizes of R3GAN: one step of batch size 2 with both penalties; of FFHQ-64's, only in `make soak`.
. "$(dirname "$0")/../kit"
cd "$dir" || exit 1
for model in r3gan-cifar:32 r3gan-ffhq64:64; do
    size=${model#*:}
    [ "$size" = 32 ] || soaks || continue
    exits 0 data --synthesize "cats$size" --count 2 --size "$size" -q
    exits 0 --data "cats$size" --model "${model%:*}" --batch 2 --steps 1 --grid 2x1 --no-curves --no-report -q \
        --out "run$size" || continue
    config "run$size" 'loss = rpgan' 'batch = 2'
    awk -F, 'NR == 2 && $10 > 0 && $11 > 0 { found = 1 } END { exit !found }' "run$size/log.csv"
    fact $? "$model: r1 and r2 of the step should be above 0"
    rm -rf "run$size"
done
finish
