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
prints 'advice: most pictures, 40 of 40, are smaller than 64 x 64, with 32 pixels at their shorter side'
prints 'for pixel art --resize nearest keeps its edges; --size 32 makes a network of their own size'
exits 0 data "$dir/cats" --resize nearest --model dcgan32
! grep -q '^advice' "$dir/.out"
fact $? "there is nothing to advise: $(grep '^advice' "$dir/.out")"
mkdir "$dir/grey" # four pictures of 16 x 16, of any bytes
{
    printf '\000\000\010\003\000\000\000\004\000\000\000\020\000\000\000\020'
    head -c 1024 "$program"
} > "$dir/grey/train-images-idx3-ubyte"
exits 0 data "$dir/grey" --model dcgan-16x3
prints 'advice: all pictures are grey: --channels 1 makes a network that learns them with less'
exits 0 --data "$dir/grey" --size 16 --steps 1 --batch 2 --out "$dir/grey-run"
says 'all pictures are grey: --channels 1'
exits 0 --data "$dir/grey" --size 16 --channels 1 --steps 1 --batch 2 --out "$dir/grey-one"
! grep -q 'pictures are grey' "$dir/.err"
fact $? 'a grey network has nothing to learn less'

# --dry-run tells all and leaves nothing
cd "$dir" || exit 1
exits 0 --data cats $small --dry-run=ops --epochs 7
prints 'run samples/cats-dcgan32: 40 pictures, 7 epochs of 3 steps, the last one of 8 pictures'
prints 'plan train-short'
prints 'whole run'
silent
exits 0 --data cats $small --dry-run=ops --drop-last
prints '2000 epochs of 2 steps'
exits 0 --data cats $small --dry-run --epochs 7
prints 'pictures   40 from cats, cut to 32 x 32 in colour'
prints 'network    dcgan32, weights: generator 0.4 million, discriminator 0.2 million'
prints 'batch      16 pictures, 3 steps an epoch, the last one of 8 pictures'
prints 'steps      21 in 7 epochs'
prints 'memory     '
prints '2 kept, 7 grids of 0.2 MB at most; '
prints ' GB are free there'
prints 'results    samples/cats-dcgan32'
grep -Eq '^time       about [0-9]+ (second|minute)s?: [0-9.]+ m?s a step' .out
fact $? 'the time should be told'
[ "$(wc -l < .out)" -eq 10 ]
fact $? "a dry run should be ten lines, not $(wc -l < .out)"
exits 0 --data cats $small --dry-run --steps 9 --drop-last --out "$dir/some/where else"
prints 'steps      4000 in 2000 epochs, of which --steps takes 9'
prints "results    $dir/some/where else"
lacks some
lacks samples
exits 0 --data cats $small --dry-run=no --epochs 1 -q --out not-dry
holds not-dry/config.ini
exits 2 --data cats $small --dry-run=op
says '--dry-run op: unknown; allowed: no, yes or ops'
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

# what the pictures are like is said before training, and --resize is kept where it is not the usual one
cp -r cats twice
cp cats/cat-00003.png twice/again.png
exits 0 --data twice $small --epochs 1 --no-curves --out twice-run
says '1 picture is a copy of another, pixel by pixel'
! grep -q '^resize' twice-run/config.ini
fact $? 'config.ini should not speak of --resize where it was not given'
tiny="--model $root/tests/tiny.cfg --batch 8 --epochs 1 -q --no-curves"
exits 0 --data twice $tiny --resize nearest --out nearest-run
grep -q '^resize = nearest$' nearest-run/config.ini
fact $? 'config.ini should keep --resize nearest'
exits 0 --data twice $tiny --out smooth-run
! cmp -s nearest-run/reals.png smooth-run/reals.png
fact $? '--resize nearest should give other pixels'

# a zip file is read as the folder that is in it, where there is libzip
if "$program" --version | grep -q ' libzip [0-9]' && command -v python3 > /dev/null; then
    python3 -m zipfile -c cats.zip cats
    exits 0 --data cats.zip $tiny --out zip/run
    exits 0 --data cats $tiny --out folder/run
    env TMPDIR=/nonexistent "$program" data cats.zip > zip.out 2>&1
    fact $? 'a zip file needs no folder for what is unpacked'
    same zip/run/epoch-0001.png folder/run/epoch-0001.png
    same zip/run/checkpoint.safetensors folder/run/checkpoint.safetensors
fi

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
prints 'pictures   40 from deep'

# a folder that is not read is an error, unless its loss is accepted; the run keeps that
below=$(printf '%070d' 0 | sed 's,0,d/,g')
cp -r cats lost
mkdir -p "lost/$below"
exits 3 --data lost $small --dry-run
says 'an unknown number of images is missing'
says 'or use --skip-unreadable'
exits 3 data lost
exits 0 --data lost $small --epochs 1 -q --skip-unreadable --out lost-run
says 'warning: an unknown number of images is missing: lost/d/'
grep -q '^skip-unreadable = yes$' lost-run/config.ini
fact $? 'config.ini should keep --skip-unreadable'
exits 0 --resume --out lost-run --epochs 2 -q

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
says '5 pictures that dcgan made and 1 hidden file or folder left out'
for e in 1 2; do same a/run/epoch-000$e.png b/run/epoch-000$e.png; done
exits 0 generate a/run/checkpoint.safetensors -n 30 --out pictures
exits 0 data . --sheet sheet.png
exits 0 data .
prints ': 40 usable pictures, 0 bad, '
prints 'left out: 42 pictures that dcgan made and 1 hidden file or folder'
exits 0 data . --json
prints '"made_by_dcgan":	42'
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
exits 0 --data shapes $small --dry-run=ops --test 0.25
prints '34 pictures (the training part; 8 for testing), 1334 epochs of 3 steps, the last one of 2'
exits 0 --data shapes $small --epochs 1 --test 0.25 --out shapes-run
says '34 pictures (the training part; 8 for testing) from shapes'
grep -q '^test = 0.25$' shapes-run/config.ini
fact $? 'config.ini should keep --test'
! grep -q '^test' mixed-run/config.ini
fact $? 'config.ini should not speak of --test where it was not given'
mkdir parts
mv shapes parts/train
mv shapes-too parts/test
exits 0 --data parts $small --dry-run
prints '42 (the training part; 42 for testing) from parts'
cp cats/cat-00000.png parts/train
exits 0 data parts
prints 'classes: none, train/cat-00000.png lies in no folder of a class'

# what would be trained is what is checked: classes of a classifier; a GAN takes what has none, without labels
exits 0 data --synthesize plain --count 20 --size 16 -q
exits 3 data plain --model "$root/tests/eyes16.cfg" -q
says 'plain: has no classes, which model eyes is to tell apart'
exits 3 batch --data plain --model "$root/tests/eyes16.cfg" -q
says 'plain: has no classes, which model eyes is to tell apart'
exits 0 data --synthesize kinds --classes 3 --count 30 --size 20 -q
exits 0 data kinds --model "$root/tests/eyes16.cfg" -q
exits 3 data kinds --model "$root/models/cnn-cifar.cfg" -q # which tells 10 apart
if grep -q -- '--size' .out; then fact 1 'a classifier keeps its size'; fi
mkdir -p apart/train/disc apart/test/ring
cp kinds/disc/* apart/train/disc
cp kinds/ring/* apart/test/ring
exits 0 data apart --model "$root/tests/gan16.cfg" -q
says 'its class has no pictures in apart/train'
exits 3 data apart --model "$root/tests/eyes16.cfg" -q
exits 0 --data kinds --model "$root/tests/gan16.cfg" --test 0.3 --batch 4 --epochs 1 --out of-gan -q
exits 0 info of-gan/checkpoint.safetensors
decimal=$(sed -n 's/.*data-fingerprint: //p' .out)
exits 0 data kinds --model "$root/tests/gan16.cfg" --test 0.3 -q
prints "fingerprint $(printf %016x "$decimal")"
finish
