#!/bin/sh
# Folders of pictures, good and bad, as training takes them; --dry-run.
# shellcheck disable=SC2086 # $small is several words
. "$(dirname "$0")/kit"
small='--model dcgan32 --batch 16'

exits 0 data --synthesize "$dir/cats" --count 40 --size 32 || finish
holds "$dir/cats/cat-00039.png"
exits 0 data --synthesize "$dir/again" --count 40 --size 32
same "$dir/cats/cat-00007.png" "$dir/again/cat-00007.png"
exits 0 data --synthesize "$dir/other" --count 1 --size 32 --seed 2
! cmp -s "$dir/cats/cat-00000.png" "$dir/other/cat-00000.png"
fact $? 'another seed should draw other cats'
exits 0 data "$dir/cats" --sheet "$dir/sheet.png"
prints 40
holds "$dir/sheet.png"
exits 0 data "$dir/cats" --json
exits 0 data --data "$dir/cats"

# --dry-run tells all and leaves nothing
cd "$dir" || exit 1
exits 0 --data cats $small --dry-run --epochs 7
prints 'run samples/cats-dcgan32: 40 pictures, 7 epochs of 3 steps, the last one of 8 pictures'
prints 'plan train-short'
prints 'whole run'
silent
exits 0 --data cats $small --dry-run --drop-last
prints '25 epochs of 2 steps'
lacks samples
exits 2 --data cats --model none --dry-run
exits 3 --data cats --dry-run --model dcgan32 --batch 41
says 'only 40 usable pictures, at least 41 are needed for one batch'

# nothing to train on
exits 3 --data none $small -q
says 'none'
mkdir empty
exits 3 --data empty $small -q
says 'empty'
mkdir text
echo 'no picture' > text/readme.txt
exits 3 --data text $small -q
exits 3 --data cats --model dcgan32 --batch 64 -q
says 'only 40 usable pictures'

# bad pictures are skipped and listed, many are an error, --strict allows none
cp -r cats mixed
for i in 1 2; do head -c $((i * 100)) cats/cat-00001.png > mixed/cut$i.png; done
exits 0 --data mixed $small --epochs 1 -q --out mixed-run
holds mixed-run/skipped.txt
[ "$(grep -c 'cut[12].png' mixed-run/skipped.txt)" -eq 2 ]
fact $? 'skipped.txt should list both bad files'
exits 3 --data mixed $small --epochs 1 -q --strict
says cut1.png
for i in 3 4 5 6 7; do : > mixed/empty$i.png; done
exits 3 --data mixed $small --epochs 1 -q
exits 3 --data mixed $small --dry-run

# what is no file is not opened, and directories are searched
mkdir -p deep/a/b
cp cats/*.png deep/a/b
mkfifo deep/pipe.png
ln -s .. deep/a/up
exits 0 --data deep $small --dry-run
prints '40 pictures'

# drawn cats go into a folder of their own
mkdir mine
echo 'a letter' > mine/letter.txt
exits 2 data --synthesize mine --count 3 --size 16
says 'mine: holds letter.txt'
lacks mine/cat-00000.png
exits 2 data --synthesize cats --count 3 --size 32 --seed 2
says 'cats/cat-00000.png is there already'

# what dcgan made and what is hidden is no training data: a folder with runs in it is the same set
mkdir -p set/.git
cp cats/*.png set
cp cats/cat-00001.png set/.git/in.png
cd set || exit 1
exits 0 --data . $small --epochs 2 -q --cache ../set-cache --out a/run
exits 0 --data . $small --epochs 2 --cache ../set-cache --out b/run
says '40 pictures from . (cached)'
says '4 pictures that dcgan made and 1 hidden file or folder left out'
for e in 1 2; do same a/run/epoch-000$e.png b/run/epoch-000$e.png; done
exits 0 generate a/run/checkpoint.safetensors -n 30 --out pictures
exits 0 data . --sheet sheet.png
exits 0 data .
prints ': 40 usable pictures, 0 bad, '
prints 'left out: 40 pictures that dcgan made and 1 hidden file or folder'
exits 0 data . --json
prints '"made_by_dcgan":	40'
cd ..
finish
