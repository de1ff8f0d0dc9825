#!/bin/sh
# --shards: the same bits for any number of threads and on resume, the images that are left out, and what is refused.
. "$(dirname "$0")/kit"
cd "$dir" || exit 1
exits 0 data --synthesize cats --count 34 --size 16 -q || finish
run() { exits 0 --data cats --size 16 --batch 12 --no-curves --no-report --grid 2x2 --flip "$@"; }

run --shards 4 --epochs 2 --out one/run --threads 1
says note-shards '4 shards of 3 images'
says note-shards 'leaves out 2 images'
says note-small-shards 16
config one/run 'shards = 4'
run --shards 4 --epochs 1 --out parts/run --threads 2 -q
exits 0 --resume --out parts/run --epochs 2 -q --threads 3
equal one/run parts/run
run --epochs 2 --out whole/run -q
never_says note-shards
differ one/run/epoch-0002.png whole/run/epoch-0002.png 'shards have batch statistics of their own'
run --shards 4 --drop-last --epochs 1 --out dropped/run
says note-shards '4 shards of 3 images'
! grep -q 'leaves out' "$dir/.err"
fact $? 'without the last batch, no image of it is left out'

# another number of shards is a changed setting
exits 0 --resume --out one/run --shards 2 --epochs 3
says note-changed shards

shows 'D.shards.sum' plan dcgan32 --shards 4
prints 'shards     4 of 16 images' '2: '
refuses 2 'bad-shards 3' plan dcgan32 --shards 3
refuses 2 'batch-not-shards 22' --data cats --size 16 --batch 22 --shards 4 --out no
shows 'G.shards.sum' plan dcgan32 --shards 4 --arch sm_90
exits 2 plan dcgan32 --shards 65
says option-value 65
ensure 'a refused run leaves no directory' test ! -e no
finish
