#!/bin/sh
# Class-conditional GANs: training, grids, samples by class, walks between classes, --init, and what is refused.
. "$(dirname "$0")/kit"
cd "$dir" || exit 1
exits 0 data --synthesize shapes --classes 3 --count 108 --size 16 -q || finish
tiny=$root/tests/tiny.cfg
run() { exits "$@" --batch 8 --no-report --grid 4x3; }
trains() { out=$1 && shift && run 0 --data shapes --model "$tiny" --conditional --out "$out" -q "$@"; }

# a run of two epochs is the same with other threads and resumed; its grid has a row per class
trains run --epochs 2 --loss rpgan --ema 0.9 --flip --class-fade 60
trains parts/run --epochs 1 --loss rpgan --ema 0.9 --flip --class-fade 60 --threads 1
exits 0 --resume --out parts/run --epochs 2 --threads 3 -q # keeps --grid
for f in epoch-0001.png epoch-0002.png; do same run/$f parts/run/$f; done
shows 'tiny-3classes' --resume --out run --epochs 3 --dry-run
config run 'conditional = yes' 'class-fade = 60' 'grid = 4x3'
exits 0 report run -q
has run/report.html '<p class="note">Rows: disc, ring, square, disc.</p>'
shows 'tiny-3classes' info run/checkpoint.safetensors
prints 'classes:' 'disc'
exits 2 --resume --out run --class-fade 60 --epochs 3 --conditional=no
says fixed-in-run conditional

# without --grid, rows are the classes; few images per class are faded in
notes 'note-fade-auto 36' --data shapes --model "$tiny" --conditional --epochs 1 --batch 8 --out auto
says note-class-sizes '3 classes, from 36'
config auto 'grid = 3x8' 'class-fade = 32'

# with another dataset of the same classes, a new run starts from the weights
cp -r shapes fewer && rm fewer/disc/*0.png
exits 0 --resume --out auto --epochs 2 --data fewer -q
shows 'tiny-3classes' info auto-2/checkpoint.safetensors

# samples: of a class by name or number, of all classes with the shares of the dataset, by class
exits 0 generate run --seeds 4-6 --class square --out square -q
exits 0 generate run --seeds 4-6 --class 2 --out number -q
exits 0 generate run --seeds 4-6 --class disc,square --out turns -q
exits 0 generate run --seeds 4-6 --by-class --out by -q
prints by/disc/seed-0004.png square/seed-0006.png
exits 0 generate run --seeds 4-6 --by-class --out by -q # again
for seed in 0004 0005 0006; do
    same square/seed-$seed.png number/seed-$seed.png
    same square/seed-$seed.png by/square/seed-$seed.png
    differ by/disc/seed-$seed.png by/square/seed-$seed.png
done
same turns/seed-0004.png by/disc/seed-0004.png
same turns/seed-0005.png by/square/seed-0005.png
same turns/seed-0006.png by/disc/seed-0006.png
shows 'size: 784 x 784' info by/grid.png
exits 0 generate run --seeds 4-6 --out by -q # next to the folders
exits 0 generate run --seeds 0-29 --out all -q
exits 0 generate run --seeds 0-29 --by-class --out every -q
for class in disc ring square; do
    n=0
    for f in all/seed-*.png; do cmp -s "$f" "every/$class/${f##*/}" && n=$((n + 1)); done
    [ $n -ge 9 ] && [ $n -le 11 ]
    fact $? "a third of 30 samples should be of class $class, not $n"
done

exits 0 generate run --seeds 4-6 --class disc,square --write-z z.safetensors --out turns -q
exits 0 generate run --read-z z.safetensors --out read -q
for i in 0 1 2; do same_pixels "turns/seed-000$((4 + i)).png" "read/latent-000$i.png"; done
exits 0 interpolate run --read-z z.safetensors --frames 2 --out read-walk -q

mkdir many
for i in $(seq 130); do mkdir "many/$i" && cp "shapes/disc/disc-0000$((i % 9 + 1)).png" "many/$i"; done
# metrics of each class; 18 real images are too few
cp -r shapes small && rm small/ring/*[13579].png
run 0 --data shapes --model "$tiny" --epochs 1 --out plain -q
shows 'samples (real), by class' eval run --data shapes -n 40 -q
exits 0 eval run --data shapes -n 40 --json -q
json_is .out 'len(r["by_class"]) == 3 and all(c["count"] == 18 and 0 <= c["recall"] <= 1 for c in r["by_class"])'
exits 0 eval run --data small -n 40 --json -q
json_is .out '[c["count"] for c in r["by_class"]] == [18, 0, 18] and "recall" not in r["by_class"][1]'
exits 0 eval plain --data shapes -n 40 --json -q
json_is .out '"by_class" not in r'
exits 0 eval run --data many -n 40 --json -q
says eval-other-classes
json_is .out '"by_class" not in r'

# the name of a class may have a newline, which is a space in checkpoints
mkdir odd && cp -r shapes/disc odd/-e && cp -r shapes/ring "odd/c
d"
run 0 --data odd --model "$tiny" --conditional --epochs 1 --out odd-run -q
exits 0 generate odd-run --seeds 1-1 --by-class --out odd-by -q
holds 'odd-by/-e/seed-0001.png' 'odd-by/c d/seed-0001.png'
shows 'samples (real), by class' eval odd-run --data odd -n 36 -q

# an exported generator has the classes; interpolation from class to class
exits 0 export run --out g.safetensors -q
exits 0 generate g.safetensors --seeds 4-4 --class square --out exported -q
exits 0 import g.safetensors --out imported.safetensors -q
exits 0 generate imported.safetensors --seeds 4-5 --class square --out imported -q
exits 0 generate imported.safetensors --seeds 0-29 --out imported-all -q
exits 0 interpolate run --seeds 4-5 --class disc,square --frames 2 --out walk -q
holds walk/strip.png walk/walk.gif
exits 0 interpolate run --class disc --frames 2 --out walk -q
exits 0 interpolate run --direction 1-2 --class disc --frames 2 --out walk -q

# from the weights of a GAN without classes: all classes are alike at first
trains next --epochs 1 --init plain --lr 1e-12
exits 0 generate next --seeds 1-2 --by-class --out alike -q
same alike/disc/seed-0001.png alike/square/seed-0001.png
differ alike/disc/seed-0001.png alike/disc/seed-0002.png

# what is refused
refuses 2 'unknown-class squares' generate run --class squares --out none
says unknown-class square
exits 2 generate run --class 3 --out none
says unknown-class 3
refuses 2 'no-class-generator plain' generate plain --class disc --out none
refuses 2 'class-walk walks' interpolate run --class disc,ring --walks 2 --out none
refuses 2 'one-latent' interpolate run --class disc --seeds 3-3 --out none
exits 0 data --synthesize cats --count 24 --size 16 -q
run 3 --data cats --model "$tiny" --conditional --epochs 1 --out none
says no-labels cats
mkdir single && cp -r shapes/disc single
run 0 --data single --model "$tiny" --conditional --epochs 1 --out of-one
says one-class disc
run 3 --data small --model "$tiny" --conditional --epochs 1 --out none
says small-class ring 18
run 0 --data small --model "$tiny" --conditional --epochs 1 --out forced --force -q
run 3 --resume --out run --epochs 3 --data single --allow-data-change
says no-labels disc
run 2 --data shapes --model "$tiny" --class-fade 9 --epochs 1 --out none
says fade-without-classes tiny
run 2 --data shapes --model cnn-mnist --conditional --epochs 1 --out none
says conditional-for-gans cnn-mnist
network bad.cfg '[model] name=bad size=16 latent=8 classes=3' \
    '[G.1] op=conv_transpose filters=3 kernel=16 act=tanh' \
    '[D.1] kernel=16 pad=0 filters=1' '[D.2] kernel=1 filters=1 add=D.1'
refuses 2 'classes-end-of-d' plan bad.cfg
run 3 --data shapes --model dcgan-16x3-2classes --epochs 1 --out none
says gan-class-count dcgan-16x3-2classes 3 2
run 2 --data many --model "$tiny" --conditional --force --epochs 1 --out none --init plain
says init-classes G.main.1.weight
mkdir two && cp -r shapes/disc shapes/ring two
run 0 --data two --model "$tiny" --conditional --epochs 1 --out two-run -q
run 2 --data shapes --model "$tiny" --conditional --epochs 1 --out none --init two-run
says init-classes G.main.0.weight
echo 'grid = 5x2' > grid.ini
exits 0 --config grid.ini --data many --model "$tiny" --conditional --force --epochs 1 --out many-run -q
config many-run 'grid = 5x2'
exits 0 generate many-run --class 17,130 -n 3 --out seventeen -q
finish
