#!/bin/sh
# dcgan eval: a GAN and a folder of images against real ones, with and without a classifier, as text and JSON. Longer
# tests are in long/eval_gan.sh.
. "$(dirname "$0")/kit"
export DCGAN_THREADS=1 # the networks are small and other tests run concurrently
exits 0 data --synthesize "$dir/all" --classes 10 --count 2000 --size 16 -q
mkdir "$dir/three"
mv "$dir/all/checker" "$dir/all/stripes-flat" "$dir/all/stripes-upright" "$dir/three"
exits 0 --data "$dir/three" --model "$root/tests/eyes16.cfg" --epochs 6 --out "$dir/eyes" -q
exits 0 --data "$dir/three" --model "$root/tests/gan16.cfg" --batch 32 --epochs 1 --out "$dir/gan" -q

exits 0 eval "$dir/gan" --data "$dir/three" --classifier "$dir/eyes"
for m in 'confident' 'class distribution distance' 'missing classes' 'classifier confidence' \
    'Frechet distance, last' 'Wasserstein' 'Frechet distance, random network' recall coverage 'nearest real image' \
    'KID, random network'; do
    prints "$m"
done
if grep -q 'told from real' "$dir/.out"; then fact 1 '--two-sample was not given'; fi
stderr_has 'generating images'
quietly eval "$dir/gan/checkpoint.safetensors" --data "$dir/three" --classifier "$dir/eyes/checkpoint.safetensors" -q

# the same bytes for other thread counts, other bytes for another seed
quietly eval "$dir/gan" --data "$dir/three" --classifier "$dir/eyes" -n 100 --json
cp "$dir/.out" "$dir/one"
json_is "$dir/one" 'r["count"] == 100 and r["seed"] == 1 and len(r["classes"]) == 3 and [
    m["name"] for m in r["metrics"]] == ["class_distance", "classes_left_out", "sureness", "frechet", "swd", "swd_full",
    "random_frechet", "recall", "coverage", "nearest", "kid"] and r["metrics"][-1]["judged_deviation"] > 0'
exits 0 eval "$dir/gan" --data "$dir/three" --classifier "$dir/eyes" -n 100 --json --threads 3
same "$dir/.out" "$dir/one"
exits 0 eval "$dir/gan" --data "$dir/three" --classifier "$dir/eyes" -n 100 --json --seed 2
differ "$dir/.out" "$dir/one" 'another seed should sample other images'

# without a classifier or two-sample test; copies are found
exits 0 eval "$dir/gan" --data "$dir/three" --json
grep -q '"name": "swd", "better": "lower"' "$dir/.out" && ! grep -q 'two_sample\|class_distance' "$dir/.out"
fact $? "eval should need only images: $(cat "$dir/.out")"
if grep -q swd_half "$dir/.out"; then fact 1 'images of 16 x 16 have one level'; fi
exits 0 eval "$dir/three" --data "$dir/three" --model "$root/tests/gan16.cfg"
awk '/^nearest real image/ { rows++; nearest = $(NF - 2) } END { exit !(rows == 1 && nearest < 0.8) }' "$dir/.out"
fact $? "the dataset is a copy of itself: $(cat "$dir/.out")"

exits 0 generate "$dir/gan" -n 40 --out "$dir/made" -q
for whole in "$dir"/three/checker/*; do head -c 60 "$whole" > "$dir/made/cut.png"; done
echo letter > "$dir/made/letter.txt"
exits 0 eval "$dir/made" --data "$dir/three" --classifier "$dir/eyes"
prints '40 samples compared with 40 of the 600 images' # without the grid
[ "$(grep -c 'was skipped' "$dir/.err")" -eq 1 ]
fact $? "only a bad image should be named: $(cat "$dir/.err")"
stderr_has 'made/cut.png was skipped'

# refused
refuses 2 no-real-images eval "$dir/gan"
refuses 2 size-unknown eval "$dir/made" --data "$dir/three"
refuses 2 discriminator-unknown eval "$dir/three" --data "$dir/three" --two-sample
refuses 2 'image-size-differs 32 x 32 x 3' eval "$dir/gan" --data "$dir/three" --two-sample --model dcgan32
refuses 2 not-a-classifier eval "$dir/gan" --data "$dir/three" --classifier "$dir/gan"
refuses 2 no-images eval "$dir/eyes" --data "$dir/three" --two-sample
refuses 2 'image-size-differs 16 x 16 x 1' eval "$dir/gan" --data "$dir/three" --model dcgan-16x1
for judged in gan three; do
    refuses 3 'half-too-small 600' eval "$dir/$judged" --data "$dir/three" --model "$root/tests/gan16.cfg" \
        --two-sample -n 301
done
refuses 3 'count-too-large 40' eval "$dir/made" --data "$dir/three" --classifier "$dir/eyes" -n 60
refuses 3 too-few-to-judge eval "$dir/gan" --data "$dir/three" --classifier "$dir/eyes" --limit 20
exits 4 eval "$dir/none" --data "$dir/three" --two-sample
exits 4 eval "$dir/gan" --data "$dir/three" --classifier "$dir/three"
finish
