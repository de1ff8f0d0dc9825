#!/bin/sh
# Messages about one step, one epoch, one grid or one image have the singular.
. "$(dirname "$0")/kit"
cd "$dir" || exit 1
export DCGAN_THREADS=1
# says_one FILE...: no "1 epochs"
many='epochs|steps|images|grids|files|runs|classes|copies|threads|networks|lines'
says_one()
{
    ! grep -hoE "(^|[^0-9.,/])1 ($many)" "$@" > wrong
    fact $? "'$ran' should not say '$(head -n 1 wrong)'"
}
one() { exits 0 "$@"; says_one .out .err; }

one data --synthesize cat --count 1 --size 16
one data --synthesize cats --count 8 --size 16
one --data cats --size 16 --batch 8 --epochs 1 --dry-run
prints '1 step per epoch'
one --data cats --size 16 --batch 8 --epochs 1 --dry-run=ops
prints '1 epoch of 1 step'
one --data cats --size 16 --batch 8 --epochs 1 --out run
stderr_has '1 epoch of 1 step'
says few_steps 1
says_one run/report.html
one doctor run
prints '1 step in 1 epoch, 1 sample grid'
one report run --gif run.gif
prints '1 grid'
one info run
one generate run -n 1 --out one
refuses 2 'count-and-seeds 1' generate run -n 16 --seeds 3 --out two
one --resume --out run
prints '1 epoch done of 1'
one --resume --out run --epochs 2 --steps 1
prints '1 step done of 1'

# a duplicate, a corrupt file, a hidden one, one of dcgan, and one image after the last full batch
cp cats/cat-00001.png cats/again.png
head -c 100 cats/cat-00001.png > cats/cut.png
cp cats/cat-00002.png cats/.hidden.png
cp one/seed-0000.png cats/
one data cats
prints '1 image identical to another'
one --data cats --size 16 --batch 8 --epochs 1 --out more
says note-skipped 1
says note-left-out 1
one --data cats --size 16 --batch 8 --epochs 1 --dry-run
prints 'the last step with 1 image'

# one image for testing, one that is left out
exits 0 data --synthesize shapes --classes 2 --count 6 --size 28 -q
mkdir -p parts/valid/disc
cp -r shapes parts/train
cp -r shapes parts/test
find parts/test -name '*.png' | sed 1d | xargs rm
mv "$(find parts/train -name '*.png' | head -n 1)" parts/valid/disc
sed 's/^filters = 10$/filters = 2/; s/^classes = 10$/classes = 2/' "$root/models/cnn-mnist.cfg" > two.cfg
one --data parts --model two.cfg --batch 4 --epochs 1 --out eyes
says parts-left-out 1
one classify eyes parts/test
finish
