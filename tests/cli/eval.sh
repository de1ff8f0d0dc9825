#!/bin/sh
# The judge as users meet it: a GAN and a folder of pictures beside real ones, with a classifier and without, text and
# JSON, and what is refused. What takes longer is in long/eval_gan.sh.
. "$(dirname "$0")/kit"
export DCGAN_THREADS=1 # for networks this small, on a machine that other tests share
exits 0 data --synthesize "$dir/all" --classes 10 --count 2000 --size 16 -q
mkdir "$dir/three"
mv "$dir/all/checker" "$dir/all/stripes-flat" "$dir/all/stripes-upright" "$dir/three"
exits 0 --data "$dir/three" --model "$root/tests/eyes16.cfg" --epochs 6 --out "$dir/eyes" -q
exits 0 --data "$dir/three" --model "$root/tests/gan16.cfg" --batch 32 --epochs 1 --out "$dir/gan" -q

exits 0 eval "$dir/gan" --data "$dir/three" --classifier "$dir/eyes"
for m in 'surely judged' "distance of the classes' shares" 'classes left out' 'sureness' 'Frechet distance, last' \
    'Wasserstein' 'Frechet distance, random network' recall coverage 'nearest real one'; do
    prints "$m"
done
if grep -q 'told from real' "$dir/.out"; then fact 1 'no judge was asked for'; fi
says 'making pictures'
exits 0 eval "$dir/gan/checkpoint.safetensors" --data "$dir/three" --classifier "$dir/eyes/checkpoint.safetensors" -q
silent

# the same bytes for other threads, others for another seed
exits 0 eval "$dir/gan" --data "$dir/three" --classifier "$dir/eyes" -n 100 --json
silent
cp "$dir/.out" "$dir/one"
exits 0 eval "$dir/gan" --data "$dir/three" --classifier "$dir/eyes" -n 100 --json --threads 3
same "$dir/.out" "$dir/one"
exits 0 eval "$dir/gan" --data "$dir/three" --classifier "$dir/eyes" -n 100 --json --seed 2
if cmp -s "$dir/.out" "$dir/one"; then fact 1 'another seed should take other pictures'; fi

# neither classifier nor judge, and copies are found
exits 0 eval "$dir/gan" --data "$dir/three" --json
grep -q '"name": "swd", "better": "lower"' "$dir/.out" && ! grep -q 'two_sample\|class_distance' "$dir/.out"
fact $? "eval should need nothing but pictures: $(cat "$dir/.out")"
if grep -q swd_half "$dir/.out"; then fact 1 'pictures of 16 x 16 have one level'; fi
exits 0 eval "$dir/three" --data "$dir/three" --model "$root/tests/gan16.cfg"
awk '/^nearest real one/ { exit !($(NF - 2) < 0.8) } END { if (!NR) exit 1 }' "$dir/.out"
fact $? "the pictures themselves are copies: $(cat "$dir/.out")"

exits 0 generate "$dir/gan" -n 40 --out "$dir/made" -q
exits 0 eval "$dir/made" --data "$dir/three" --classifier "$dir/eyes"
prints '40 pictures beside 40 of 600' # without their grid

# what is refused, each with what to do
exits 2 eval "$dir/gan"
says 'beside which real pictures?'
exits 2 eval "$dir/made" --data "$dir/three"
says 'does not say of which size'
exits 2 eval "$dir/three" --data "$dir/three" --two-sample
says 'by --model'
exits 2 eval "$dir/gan" --data "$dir/three" --two-sample --model dcgan32
says 'is for 32 x 32 x 3'
exits 2 eval "$dir/gan" --data "$dir/three" --classifier "$dir/gan"
says 'not of a classifier'
exits 2 eval "$dir/eyes" --data "$dir/three" --two-sample
says 'makes no pictures'
exits 3 eval "$dir/gan" --data "$dir/three" --two-sample -n 301
says 'of the 600 real pictures'
exits 3 eval "$dir/made" --data "$dir/three" --classifier "$dir/eyes" -n 60
says 'has only 40 pictures'
exits 3 eval "$dir/gan" --data "$dir/three" --classifier "$dir/eyes" --limit 20
says 'too few to judge by'
exits 4 eval "$dir/none" --data "$dir/three" --two-sample
exits 4 eval "$dir/gan" --data "$dir/three" --classifier "$dir/three"
finish
