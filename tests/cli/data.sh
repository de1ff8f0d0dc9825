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

# classes: drawn, counted, divided; a GAN trains on what is not for testing
exits 0 data --synthesize shapes --classes 4 --count 42 --size 16
prints '42 pictures of 16 x 16 in 4 classes in shapes'
holds shapes/disc/disc-00010.png
exits 0 data --synthesize shapes-too --classes 4 --count 42 --size 16 -q --threads 1
same shapes/square/square-00009.png shapes-too/square/square-00009.png
exits 2 data --synthesize shapes --count 3
says 'shapes: holds disc'
exits 2 data --synthesize shapes --classes 3
says 'shapes: holds something else than folders of drawn classes'
exits 2 data --synthesize none --classes 1
says 'must be from 2 to 10'
exits 0 data shapes
prints 'classes: 4'
prints '       11  disc'
prints '       10  triangle'
exits 0 data shapes --test 0.25 --json
prints '"train":	34'
exits 0 data shapes --test 0.25
prints 'classes: 4; 34 pictures for training, 8 for testing'
prints '        9       2  ring'
exits 0 data shapes --test shapes-too
prints 'classes: 4; 42 pictures for training, 42 for testing'
exits 3 data shapes --test cats
says 'cats: has no classes to test by: its pictures do not lie in folders'
exits 2 data shapes --test 2
says '--test 2: a share is from 0 up to, not including, 1'
exits 0 --data shapes $small --dry-run --test 0.25
prints '34 pictures (the training part; 8 are for testing), 25 epochs of 3 steps, the last one of 2'
exits 0 --data shapes $small --epochs 1 --test 0.25 --out shapes-run
says '34 pictures (the training part; 8 are for testing) from shapes'
grep -q '^test = 0.25$' shapes-run/config.ini
fact $? 'config.ini should keep --test'
! grep -q '^test' mixed-run/config.ini
fact $? 'config.ini should not speak of --test where it was not given'
mkdir parts
mv shapes parts/train
mv shapes-too parts/test
exits 0 --data parts $small --dry-run
prints '42 pictures (the training part; 42 are for testing)'
cp cats/cat-00000.png parts/train
exits 0 data parts
prints 'classes: none, train/cat-00000.png lies in no folder of a class'
finish
