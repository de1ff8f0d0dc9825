#!/bin/sh
# Names before 0.1.0 that stay accepted: options, variables, in = pictures in a model file, models whose comments have
# changed, keys of JSON.
. "$(dirname "$0")/kit"
cd "$dir" || exit 1

# options and variables; those of C are in tests/host/options/test_options.c
DCGAN_LEAST_STEPS=2 DCGAN_MOST=9 DCGAN_FROM=3 exits 0 plan dcgan32
silent
exits 2 batch dcgan32 --data . --most 4 --from 9
says max-below-min '--max-batch 4' '--min-batch 9'
exits 2 plan dcgan32 --other-pictures
says option-of-others --other-pictures "'plan'"
DCGAN_OTHER_PICTURES=yes exits 0 plan dcgan32
says variable-not-read DCGAN_OTHER_PICTURES --allow-data-change

# a run of a model with the old word, resumed under the new names with a changed dataset
exits 0 data --synthesize cats --count 40 --size 16 -q
sed '/^\[D.1\]/a in = pictures' "$root/tests/tiny.cfg" > old.cfg
ensure 'tests/tiny.cfg should have a section [D.1]' grep -q pictures old.cfg
exits 0 --data cats --model old.cfg --epochs 1 --batch 8 -q --out run
rm cats/cat-00001.png
exits 0 --resume --out run --epochs 2 -q --other-pictures
says images-changed 40 39
grep -c . "$dir/.err" | grep -qx 1
fact $? "a resumed run should warn of the dataset only: $(cat "$dir/.err")"
sed 's/pictures/image/' old.cfg > new.cfg
for m in old new; do
    exits 0 plan $m.cfg
    cp "$dir/.out" $m
done
same old new
shows '"images":' info run/checkpoint.safetensors --json
prints '"pictures":'

# weights of a built-in model whose comments have changed since
{ echo '; 32 x 32 pictures'; grep -v '^;' "$root/models/dcgan32.cfg"; } > before.cfg
exits 0 --data cats --model before.cfg --steps 1 --batch 8 -q --out before
rm before.cfg
sed 's/^model = .*/model = away.cfg/' before/config.ini > config.ini && mv config.ini before
shows 'dcgan32' --data cats --init before --batch 8 --dry-run

# JSON
both() { for key in "$@"; do prints "\"$key\":"; done; }
exits 0 data cats --json
both unreadable bad
exits 0 batch old.cfg --data cats --max-batch 8 --seconds 0.01 --json -q
both images pictures images_per_s pictures_per_s steps_per_epoch steps_an_epoch
exits 0 eval run --data cats --json -q
both metrics measures
shows '"findings": [' doctor run --json
if grep -q '"says":' "$dir/.out"; then both message says; fi
exits 0 generate run -n 2 --out images -q
exits 0 info images/grid.png --json
both texts says
prints '"Pictures":	"0-1"' # a text of the PNG file
exits 0 info images/grid.png
if grep -q '^says:' "$dir/.out"; then fact 1 'the lines of info should have new keys only'; fi
finish
