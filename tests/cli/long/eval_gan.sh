#!/bin/sh
# dcgan eval of trained GANs: a class that G never saw is reported; after one epoch the two-sample test separates
# samples from real images, and other real images never.
. "$(dirname "$0")/../kit"
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

# two-sample test: samples after one epoch differ from real images; real images do not
accuracy() { awk '/^two-sample accuracy/ { gsub("[%()]", ""); gsub("-", " "); print $'"$1"' }' "$dir/.out"; }
exits 0 eval "$dir/gan-three/checkpoint-0001.safetensors" --data "$dir/three" --two-sample
awk -v share="$(accuracy 4)" -v low="$(accuracy 8)" -v high="$(accuracy 9)" \
    'BEGIN { exit !(share > 90 && low < 50 && 50 < high) }'
fact $? "the test should separate the samples of one epoch: $(cat "$dir/.out")"

# a folder instead of a GAN: other real images have the metrics of real images
exits 0 data --synthesize "$dir/more" --classes 10 --count 3000 --size 16 --seed 2 -q
mkdir "$dir/others"
mv "$dir/more/checker" "$dir/more/stripes-flat" "$dir/more/stripes-upright" "$dir/others"
exits 0 eval "$dir/others" --data "$dir/three" --two-sample --model "$root/tests/gan16.cfg" --classifier "$dir/eyes" \
    --json
if command -v python3 > /dev/null; then
    python3 - "$dir/.out" << 'END'
import json, sys
r = json.load(open(sys.argv[1]))
assert r['count'] == 900 and r['seed'] == 1 and len(r['classes']) == 3, r
assert abs(sum(c['judged'] for c in r['classes']) - 1) < 1e-6 and not any(c['left_out'] for c in r['classes'])
m = {x['name']: x for x in r['metrics']}
assert list(m) == ['class_distance', 'classes_left_out', 'sureness', 'frechet', 'two_sample', 'swd', 'swd_full',
                   'random_frechet', 'recall', 'coverage', 'nearest'], m
assert m['sureness']['better'] == 'higher' and m['frechet']['better'] == 'lower'
assert 0 < m['frechet']['judged'] < 3 * m['frechet']['real'] and m['class_distance']['judged'] < 0.1
t = m['two_sample']
assert t['judged_low'] < t['judged'] < t['judged_high'] and t['real_low'] < t['real'] < t['real_high'], t
assert t['judged_low'] < 0.5 < t['judged_high'] and t['real_low'] < 0.5 < t['real_high'], t
END
    fact $? "other real images should have the metrics of real ones: $(cat "$dir/.out")"
else
    skip 'JSON is not read: there is no python3'
fi
finish
