#!/bin/sh
# Folders of images, valid and corrupt, in training; --dry-run.
# shellcheck disable=SC2086 # $small is several words
. "$(dirname "$0")/kit"
small='--model dcgan32 --batch 16'

exits 0 data --synthesize "$dir/cats" --count 40 --size 32 || finish
holds "$dir/cats/cat-00039.png"
exits 0 data --synthesize "$dir/again" --count 40 --size 32
same "$dir/cats/cat-00007.png" "$dir/again/cat-00007.png"
exits 0 data --synthesize "$dir/other" --count 1 --size 32 --seed 2
differ "$dir/cats/cat-00000.png" "$dir/other/cat-00000.png" 'another seed should draw other cats'
shows 40 data "$dir/cats" --sheet "$dir/sheet.png"
holds "$dir/sheet.png"
exits 0 data "$dir/cats" --json
exits 0 data --data "$dir/cats"
grep -F '[advice-small]' "$dir/.out" > "$dir/small"
has "$dir/small" '40 of 40' '64 x 64' '32 pixels' '--resize nearest' '--size 32'
exits 0 data "$dir/cats" --resize nearest --model dcgan32
! grep -q '^advice' "$dir/.out"
fact $? "there is nothing to advise: $(grep '^advice' "$dir/.out")"
mkdir "$dir/bits16" # a TIFF of 16 x 16 pixels of 16 bits
{
    printf 'II*\000\010\000\000\000\011\000'
    printf '\000\001\003\000\001\000\000\000\020\000\000\000'
    printf '\001\001\003\000\001\000\000\000\020\000\000\000'
    printf '\002\001\003\000\001\000\000\000\020\000\000\000'
    printf '\003\001\003\000\001\000\000\000\001\000\000\000'
    printf '\006\001\003\000\001\000\000\000\001\000\000\000'
    printf '\021\001\004\000\001\000\000\000\172\000\000\000'
    printf '\025\001\003\000\001\000\000\000\001\000\000\000'
    printf '\026\001\003\000\001\000\000\000\020\000\000\000'
    printf '\027\001\004\000\001\000\000\000\000\002\000\000'
    printf '\000\000\000\000'
    head -c 512 "$program"
} > "$dir/bits16/a.tif"
if "$program" data "$dir/bits16" 2>&1 | grep -q 'built without libtiff'; then
    exits 3 data "$dir/bits16"
    stderr_has tifftopnm
else
    shows '[advice-16-bits] 1 of 1 images' data "$dir/bits16" --size 16
fi
mkdir "$dir/grey" # four images of 16 x 16 with any bytes
{
    printf '\000\000\010\003\000\000\000\004\000\000\000\020\000\000\000\020'
    head -c 1024 "$program"
} > "$dir/grey/train-images-idx3-ubyte"
shows '[advice-grey]' data "$dir/grey" --model dcgan-16x3
notes 'advice-grey --channels 1' --data "$dir/grey" --size 16 --steps 1 --batch 2 --out "$dir/grey-run"
exits 0 --data "$dir/grey" --size 16 --channels 1 --steps 1 --batch 2 --out "$dir/grey-one"
never_says advice-grey

# --dry-run prints the plan and leaves no files
cd "$dir" || exit 1
shows 'preset     small (--preset auto)' --data cats $small --dry-run --epochs 7
exits 0 --data cats $small --dry-run=ops --epochs 7
prints 'run samples/cats-dcgan32: 40 images, 7 epochs of 3 steps, the last step with 8 images' 'plan train-short'
prints 'whole run'
silent
shows '2000 epochs of 2 steps' --data cats $small --dry-run=ops --drop-last
shows 'images     40 from cats, cut to 32 x 32 in colour' --data cats $small --dry-run --epochs 7
prints 'network    dcgan32, weights: generator 0.4 million, discriminator 0.2 million'
prints 'batch      16 images, 3 steps per epoch, the last step with 8 images' 'steps      21 in 7 epochs' 'memory     '
prints '2 kept, 7 sample grids of 0.2 MB at most; '
prints ' GB free' 'results    samples/cats-dcgan32'
grep -Eq '^time       about [0-9]+ (second|minute)s?: [0-9.]+ m?s per step' .out
fact $? 'the line of the time should have the time of a step'
ensure "a dry run should be eleven lines, not $(wc -l < .out)" [ "$(wc -l < .out)" -eq 11 ]
exits 0 --data cats $small --dry-run --steps 9 --drop-last --out "$dir/some/where else"
prints 'steps      4000 in 2000 epochs, limited to 9 by --steps' "results    $dir/some/where else"
lacks some samples
exits 0 --data cats $small --dry-run=no --epochs 1 -q --out not-dry
holds not-dry/config.ini
exits 2 --data cats $small --dry-run=op
says option-value '--dry-run op' 'no, yes or ops'
exits 2 --data cats --model none --dry-run
exits 3 --data cats --dry-run --model dcgan32 --batch 41
says few-images 40 41

# no images
refuses 3 'folder-missing none' --data none $small -q
mkdir empty
refuses 3 'no-images-in empty' --data empty $small -q
mkdir text
echo 'not an image' > text/readme.txt
exits 3 --data text $small -q
refuses 3 'few-images 40' --data cats --model dcgan32 --batch 64 -q

# advice is printed before training; config.ini has --resize if it is not the default
cp -r cats twice
cp cats/cat-00003.png twice/again.png
notes 'advice-copies 1' --data twice $small --preset none --epochs 1 --no-curves --out twice-run
! grep -q '^resize' twice-run/config.ini
fact $? 'config.ini should have no --resize if it was not given'
tiny="--model $root/tests/tiny.cfg --batch 8 --epochs 1 -q --no-curves"
exits 0 --data twice $tiny --resize nearest --out nearest-run
config nearest-run 'resize = nearest'
exits 0 --data twice $tiny --out smooth-run
differ nearest-run/reals.png smooth-run/reals.png '--resize nearest should give other pixels'

# several folders are one dataset, and a resumed run finds them
exits 0 data --synthesize more --count 8 --size 32 --seed 3
shows 'more,cats: 48 usable images' data more,cats
exits 0 --data more --data cats $small --steps 1 -q --no-curves
config samples/more+cats-dcgan32 "data = $(realpath more),$(realpath cats)"
exits 0 --resume --out samples/more+cats-dcgan32 --steps 2 --no-curves
stderr_has '48 images from'
refuses 3 'path-near cats' --data more --data cat $small -q
refuses 2 'write-into-dataset more' data cats,more --write more/written --size 32

# a zip file is read as its folder
if command -v python3 > /dev/null; then
    python3 -m zipfile -c cats.zip cats
    exits 0 --data cats.zip $tiny --out zip/run
    exits 0 --data cats $tiny --out folder/run
    env TMPDIR=/nonexistent "$program" data cats.zip > zip.out 2>&1
    fact $? 'a zip file needs no folder for what is unpacked'
    same zip/run/epoch-0001.png folder/run/epoch-0001.png
    same zip/run/checkpoint.safetensors folder/run/checkpoint.safetensors
fi

# corrupt images are skipped and listed; many are an error; --strict allows none
cp -r cats mixed
for i in 1 2; do head -c $((i * 100)) cats/cat-00001.png > mixed/cut$i.png; done
exits 0 --data mixed $small --epochs 1 -q --out mixed-run
holds mixed-run/skipped.txt
ensure 'skipped.txt should list both bad files' [ "$(grep -c 'cut[12].png' mixed-run/skipped.txt)" -eq 2 ]
refuses 3 'strict-image cut1.png' --data mixed $small --epochs 1 -q --strict
for i in 3 4 5 6 7; do : > mixed/empty$i.png; done
exits 3 --data mixed $small --epochs 1 -q
exits 3 --data mixed $small --dry-run

# only regular files are opened, and directories are searched
mkdir -p deep/a/b
cp cats/*.png deep/a/b
mkfifo deep/pipe.png
ln -s .. deep/a/up
shows 'images     40 from deep' --data deep $small --dry-run

# an unreadable folder is an error without --skip-unreadable, which config.ini keeps
below=$(printf '%070d' 0 | sed 's,0,d/,g')
cp -r cats lost
mkdir -p "lost/$below"
refuses 3 'folder-not-read --skip-unreadable' --data lost $small --dry-run
exits 3 data lost
notes 'images-missing lost/d/' --data lost $small --epochs 1 -q --skip-unreadable --out lost-run
config lost-run 'skip-unreadable = yes'
exits 0 --resume --out lost-run --epochs 2 -q

# synthetic cats need an empty folder
mkdir mine
echo 'a letter' > mine/letter.txt
exits 2 data --synthesize mine --count 3 --size 16
says holds-other-files mine: letter.txt
lacks mine/cat-00000.png
refuses 2 'image-in-the-way cats/cat-00000.png' data --synthesize cats --count 3 --size 32 --seed 2

# images of dcgan and hidden files are not training data: a folder that contains runs is the same dataset
mkdir -p set/.git
cp cats/*.png set
cp cats/cat-00001.png set/.git/in.png
cd set || exit 1
exits 0 --data . $small --epochs 2 -q --cache ../set-cache --out a/run
exits 0 --data . $small --epochs 2 --cache ../set-cache --out b/run
says note-images 40 cached
says note-left-out 4 '1 hidden'
for e in 1 2; do same a/run/epoch-000$e.png b/run/epoch-000$e.png; done
exits 0 generate a/run/checkpoint.safetensors -n 30 --out images
exits 0 data . --sheet sheet.png
exits 0 data .
prints ': 40 usable images, 0 unusable, ' 'ignored: 40 images made by dcgan and 1 hidden file or folder'
shows '"made_by_dcgan":	40' data . --json
cd ..

# classes: synthetic, counted, split; a GAN trains on the training part
shows '42 images of 16 x 16 in 4 classes in shapes' data --synthesize shapes --classes 4 --count 42 --size 16
holds shapes/disc/disc-00010.png
exits 0 data --synthesize shapes-too --classes 4 --count 42 --size 16 -q --threads 1
same shapes/square/square-00009.png shapes-too/square/square-00009.png
exits 2 data --synthesize shapes --count 3
says holds-other-files shapes: disc
refuses 2 'not-drawn-classes shapes' data --synthesize shapes --classes 3
refuses 2 'drawn-class-count 10' data --synthesize none --classes 1
exits 0 data shapes
prints 'classes: 4' '       11  disc' '       10  triangle'
shows '"train":	34' data shapes --test 0.25 --json
shows 'classes: 4; 34 images for training, 8 for testing' data shapes --test 0.25
prints '        9       2  ring'
shows 'classes: 4; 42 images for training, 42 for testing' data shapes --test shapes-too
refuses 3 'no-test-classes cats' data shapes --test cats
refuses 2 'bad-share --test 2' data shapes --test 2
exits 0 --data shapes $small --dry-run=ops --test 0.25
prints '34 images (the training part; 8 for testing), 1334 epochs of 3 steps, the last step with 2'
exits 0 --data shapes $small --epochs 1 --test 0.25 --out shapes-run
says note-images 34 8 shapes
config shapes-run 'test = 0.25'
! grep -q '^test' mixed-run/config.ini
fact $? 'config.ini should have no --test if it was not given'
mkdir parts
mv shapes parts/train
mv shapes-too parts/test
shows '42 (the training part; 42 for testing) from parts' --data parts $small --dry-run
cp cats/cat-00000.png parts/train
shows 'classes: none, train/cat-00000.png is not in a class folder' data parts

# a classifier requires classes; a GAN ignores them
exits 0 data --synthesize plain --count 20 --size 16 -q
exits 3 data plain --model "$root/tests/eyes16.cfg" -q
says no-classes plain eyes
exits 3 batch --data plain --model "$root/tests/eyes16.cfg" -q
says no-classes plain eyes
exits 0 data --synthesize kinds --classes 3 --count 30 --size 20 -q
exits 0 data kinds --model "$root/tests/eyes16.cfg" -q
exits 3 data kinds --model "$root/models/cnn-cifar.cfg" -q # it has 10 classes
if grep -q -- '--size' .out; then fact 1 'a classifier keeps its size'; fi

# label files replace class folders
cp -r kinds named
for f in kinds/*/*; do echo "${f#kinds/},$(basename "$(dirname "$f")")"; done > rows
{ echo path,class; cat rows; } > named/labels.csv
exits 0 data kinds --model "$root/tests/eyes16.cfg" -q
of_kinds=$(sed -n 's/.*fingerprint //p' .out)
exits 0 data named --model "$root/tests/eyes16.cfg" -q
prints 'classes: 3 from labels.csv' ', 0 other files' "fingerprint $of_kinds"
exits 0 --data named --model "$root/tests/eyes16.cfg" --test 0.2 --batch 8 --epochs 1 --out named-run -q
exits 0 --data kinds --model "$root/tests/eyes16.cfg" --test 0.2 --batch 8 --epochs 1 --out kinds-run -q
ensure 'labels.csv should train as class folders do' cmp named-run/confusion.csv kinds-run/confusion.csv
sed 1d rows > named/labels.csv
refuses 3 'no-classes named' data named --model "$root/tests/eyes16.cfg" -q
stderr_has 'labels.csv has no row for 1 of 30 images, the first is disc/disc-00000.png'
exits 0 data named
prints 'classes: none, labels.csv has no row for 1 of 30 images'
if [ -n "$python" ]; then
    sed 's/,disc/,10/;s/,ring/,9/;s/,square/,square/' rows | "$python" -c 'import json, sys, zipfile
rows = [line.strip().split(",") for line in sys.stdin] + [["none.png", "9"]]
z = zipfile.ZipFile("labelled.zip", "w")
for path, _ in rows[:-1]: z.write("kinds/" + path, "00000/" + path.replace("/", "-"))
z.writestr("dataset.json", json.dumps({"labels": [["00000/" + p.replace("/", "-"),
                                                  int(c) if c.isdigit() else c] for p, c in rows]}))'
    exits 0 data labelled.zip
    says rows-without-image 1 labelled.zip/dataset.json "labels[30]" none.png
    prints 'classes: 3 from dataset.json' '       10  9' '       10  square'
    exits 0 data labelled.zip --json
    json_is .out '[c["name"] for c in r["classes"]] == ["9", "10", "square"] and r["labels"] == "dataset.json"'
    exits 0 --data labelled.zip --model "$root/tests/eyes16.cfg" --test 0.2 --batch 8 --epochs 1 --out zip-run -q
    exits 0 classify zip-run labelled.zip
    prints ' of 30 correct, '
else
    skip 'no python3'
fi

# the images as the network sees them
shows '30 images of 12 x 12 in seen' data kinds --size 12 --channels 1 --resize nearest --write seen
holds seen/disc/image-0000000.png seen/square/image-0000029.png
of_kinds=$(sed -n 's/.*fingerprint //p' .out)
shows "fingerprint $of_kinds" data seen --size 12 --channels 1
exits 0 data kinds --size 12 --channels 1 --resize nearest --write seen --json
never_says holds-other-files
refuses 2 'holds-other-files seen: contains disc/image-0000000.png' data kinds --size 10 --write seen
exits 0 data kinds --size 10 --write seen --force
shows '      30  10 x 10' data seen
for place in kinds/seen kinds ./kinds/a/b; do
    refuses 2 "write-into-dataset $place" data kinds --write "$place" --force
done
lacks kinds/seen
refuses 2 'output-needs-directory --write -' data kinds --write -
refuses 2 'latents-twice --write' data new --synthesize --write seen
exits 4 data kinds --size 8 --write rows
mkdir slashes
set -- kinds/disc/*.png
cp "$1" slashes/x.png && cp "$2" slashes/y.png
printf 'x.png,a/b\ny.png,a_b\n' > slashes/labels.csv
refuses 3 'one-folder-of-two-classes a_b' data slashes --size 8 --write slashes-out
mkdir -p apart/train/disc apart/test/ring
cp kinds/disc/* apart/train/disc
cp kinds/ring/* apart/test/ring
notes 'class-not-trained apart/train' data apart --model "$root/tests/gan16.cfg" -q
exits 3 data apart --model "$root/tests/eyes16.cfg" -q
exits 0 --data kinds --model "$root/tests/gan16.cfg" --test 0.3 --batch 4 --epochs 1 --out of-gan -q
exits 0 info of-gan/checkpoint.safetensors
decimal=$(sed -n 's/.*data-fingerprint: //p' .out)
exits 0 data kinds --model "$root/tests/gan16.cfg" --test 0.3 -q
prints "fingerprint $(printf %016x "$decimal")"
finish
