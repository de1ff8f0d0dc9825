#!/bin/sh
# dcgan eval of trained GANs: a class that G never saw is reported, and after one epoch the two-sample test separates
# samples from real images.
. "$(dirname "$0")/../kit"
soaks || { skip 'two GANs are trained: make soak'; finish; }
export DCGAN_THREADS=1 # the networks are small and other tests run concurrently
exits 0 data --synthesize "$dir/all" --classes 10 --count 6000 --size 16 -q
mkdir "$dir/three" "$dir/two"
mv "$dir/all/checker" "$dir/all/stripes-flat" "$dir/all/stripes-upright" "$dir/three"
cp -r "$dir/three/checker" "$dir/three/stripes-flat" "$dir/two"
exits 0 --data "$dir/three" --model "$root/tests/eyes16.cfg" --epochs 6 --out "$dir/eyes" -q
for d in two three; do
    exits 0 --data "$dir/$d" --model "$root/tests/gan16.cfg" --batch 32 --lr 0.0005 --epochs 30 --checkpoint-every 1 \
        --keep 40 --out "$dir/gan-$d" -q
done

# only a class that was left out is reported
exits 0 eval "$dir/gan-two" --data "$dir/three" --classifier "$dir/eyes"
grep -q '^stripes-upright .*missing$' "$dir/.out"
fact $? "the GAN of two classes should lack the third: $(cat "$dir/.out")"
exits 0 eval "$dir/gan-three" --data "$dir/three" --classifier "$dir/eyes" -q
grep -q '^stripes-upright .*%$' "$dir/.out"
fact $? "the GAN of all classes should not lack the third: $(cat "$dir/.out")"

# samples after one epoch differ from real images
accuracy() { awk '/^two-sample accuracy/ { gsub("[%()]", ""); gsub("-", " "); print $'"$1"' }' "$dir/.out"; }
exits 0 eval "$dir/gan-three/checkpoint-0001.safetensors" --data "$dir/three" --two-sample -n 400
awk -v share="$(accuracy 4)" -v low="$(accuracy 8)" -v high="$(accuracy 9)" \
    'BEGIN { exit !(share > 90 && low < 50 && 50 < high) }'
fact $? "the test should separate the samples of one epoch: $(cat "$dir/.out")"

finish
