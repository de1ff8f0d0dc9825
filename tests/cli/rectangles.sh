#!/bin/sh
# Images that are not square: every command that reads or makes images, with 24 x 16 pixels from a cropped dataset.
. "$(dirname "$0")/kit"
cd "$dir" || exit 1
sized() # sized WIDTH HEIGHT PNG...: the images have this size
{
    wide=$1 high=$2
    shift 2
    for image; do
        [ "$(od -An -tx4 --endian=big -j16 -N8 "$image" | tr -d ' ')" = "$(printf '%08x%08x' "$wide" "$high")" ]
        fact $? "$image should have $wide x $high pixels"
    done
}
# datasets: drawn, cropped, padded, written, previewed
exits 0 data --synthesize cats --count 40 --size 40x48 -q || finish
exits 0 data --synthesize shapes --classes 2 --count 40 --size 24x16 -q
sized 40 48 cats/cat-00000.png
sized 24 16 shapes/disc/disc-00003.png
shows 'for the network: 24 x 16 x 3' data cats --size 24x16 --sheet sheet.png
sized 210 92 sheet.png
exits 0 data cats --size 24x16 --write cut --json
json_is .out 'r["width"] == 24 and r["height"] == 16 and "size" not in r and r["smaller"] == 0'
sized 24 16 cut/image-0000000.png
exits 0 data cut --size 24x16 --write again -q
same_pixels cut/image-0000000.png again/image-0000000.png
for fit in pad stretch; do
    exits 0 data cats --size 24x16 --fit $fit --write $fit -q
    sized 24 16 $fit/image-0000000.png
    differ cut/image-0000000.png $fit/image-0000000.png
done
exits 0 data cats --size 16x24 --augment color,translation,cutout --aug-preview seen.png -q
holds seen.png
refuses 2 model-size-rectangle plan --size 24x18
refuses 2 'option-value --size' plan --size 24x
refuses 2 'option-value --size' plan --size 0x16

network bad.cfg '[model] name=bad size=24x16' '[C.1] filters=8 kernel=4x6' '[C.2] op=dense filters=2'
refuses 2 'kernel-rectangle 4x6' plan bad.cfg
network bad.cfg '[model] name=bad size=24x16' '[C.1] op=max_pool kernel=24x16' '[C.2] op=dense filters=2'
refuses 2 'kernel-rectangle-pool 24x16' plan bad.cfg

# training with a cache, augmentation and metrics; resumed; from other weights
train='--data cats --size 24x16 --batch 8 --seed 3 --flip --augment color,translation,cutout --no-curves -q'
# shellcheck disable=SC2086 # words
{
    exits 0 $train --epochs 2 --out whole --cache images --eval-every 2 --tensorboard --preview no
    exits 0 $train --epochs 1 --out part --cache images --eval-every 2
    exits 0 --resume --out part --epochs 2 -q
    exits 0 $train --dry-run
}
exits 0 --data cats --init whole --steps 1 --batch 8 --out further -q --no-report
equal whole part
same_pixels whole/epoch-0002.png part/epoch-0002.png
sized 210 146 whole/epoch-0001.png whole/reals.png
sized 210 74 whole/nearest.png
config whole 'model = dcgan-24x16x3'
shows '40 of 24 x 16, colour' info images
shows '24 x 16, colour' info whole/checkpoint.safetensors
exits 0 data cats --size 16x24 --cache images -q # other images than those of 24 x 16
exits 0 data cats --size 16x24 --json
json_is .out 'r["width"] == 16 and r["height"] == 24'

# samples
exits 0 generate whole --count 17 --out made --scale 1 -q
sized 24 16 made/seed-0000.png
sized 132 74 made/grid.png
exits 0 generate whole --count 2 --raw - -q
head -n 1 .out | grep -q ' W24 H16 '
fact $? 'the Y4M header should have the size'
[ "$(wc -c < .out)" -eq $((2 * (6 + 3 * 24 * 16) + $(head -n 1 .out | wc -c))) ]
fact $? 'a frame should have 24 x 16 pixels'
exits 0 interpolate whole --seeds 1-2 --frames 3 --scale 2 --out walk -q
head -c 10 walk/walk.gif | od -An -tu2 -j6 | grep -q ' 48 *32$'
fact $? 'the GIF should have 48 x 32 pixels'
exits 0 interpolate whole --seeds 1-2 --frames 3 --scale 1 --raw - -q
head -n 1 .out | grep -q ' W24 H16 '
fact $? 'the Y4M header of interpolate should have the size'
sized 212 40 walk/strip.png
exits 0 find whole made/seed-0003.png --steps 40 --out found --json
json_is .out 'r["mean_error"] < 30'
sized 24 16 found/found-0000.png
refuses 3 'find-size 40 x 48' find whole cats --steps 1 --out found
exits 0 find whole cats/cat-00001.png --fit crop --steps 1 --out found -q

# evaluation; also of a folder, and with classifiers of other sizes
exits 0 eval whole --data cats --count 16 --two-sample --json
json_is .out '{"swd", "random_frechet", "two_sample"} <= {m["name"] for m in r["metrics"]}'
exits 0 eval made --model dcgan-24x16x3 --data cut --count 16 -q
network pool.cfg '[model] name=pool size=20x12' '[C.1] filters=8 kernel=3 act=relu' '[C.2] op=mean_pool' \
    '[C.3] op=dense filters=2'
network zca.cfg '[model] name=zca size=20x12 input=zca' '[C.1] op=dense filters=2'
for c in pool zca; do
    exits 0 --data shapes --model $c.cfg --epochs 2 --out $c -q --no-report
    exits 0 classify $c shapes/disc -q
done
exits 0 eval whole --data cats --count 16 --classifier pool -q

# exports make the samples of generate
exits 0 export whole --c gen.c -q
if echo 'int main(void) { return 0; }' | ${CC:-cc} -x c -o none - 2> .ensured; then
    ensure 'the C file should compile' "${CC:-cc}" -O1 -Wall -Wextra -pedantic -Werror gen.c -lm -o gen
    ./gen 4 > gen-4.ppm
    ensure 'the C program' "$python" "$root/tests/cli/same_images.py" 1 gen-4.ppm made/seed-0004.png
else skip 'no compiler'; fi
exits 0 export whole --html gen.html -q
if command -v node > .which; then
    ensure 'the page should run' node "$root/tests/cli/page_run.js" gen.html page 4
    ensure 'the page' "$python" "$root/tests/cli/same_images.py" 1 page-4.pam made/seed-0004.png
else skip 'node is not here'; fi
exits 0 export whole --onnx gen.onnx -q
exits 0 export whole --out gen.safetensors -q
exits 0 generate gen.safetensors --seeds 4 --out alone -q
same_pixels alone/seed-0004.png made/seed-0004.png
exits 0 import gen.safetensors --out back.safetensors -q

exits 0 verify whole --data cats -q

# reports and tools
exits 0 report whole part --out both.html -q
exits 0 doctor whole
exits 0 plan --size 24x16
prints 'G.1.out[64x4x6x64]' 'D.3.conv.w[1x4x6x64]'
for command in 'check dcgan-24x16x3 --batch 2' 'check bilinear-16x24x1 --batch 2' 'check pool.cfg --batch 2' \
    'bench dcgan-24x16x3 --batch 2 --repeats 1' 'profile dcgan-24x16x3 --batch 2'; do
    # shellcheck disable=SC2086 # words
    exits 0 $command
done
finish
