#!/bin/sh
# find: outputs, images of another size, files without D, --held-out.
. "$(dirname "$0")/kit"
cd "$dir" || exit 1
exits 0 data --synthesize cats --count 24 --size 16 -q || finish
exits 0 data --synthesize large --count 2 --size 20 --seed 2 -q
cp "$root/tests/tiny.cfg" tiny.cfg
exits 0 --data cats --model tiny.cfg --batch 8 --epochs 2 --out run -q --no-report
exits 0 generate run -n 3 --out made -q
rm made/grid.png
find="find run --steps 60 -q"

same_images() # same_images FOUND GENERATED: the three found images are those that generate made from the latents
{
    for i in 0 1 2; do same_pixels "$1/found-000$i.png" "$2/latent-000$i.png"; done
}

# shellcheck disable=SC2086 # words
{
    exits 0 $find made --out found
    prints 'made/seed-0000.png: ' 'grey levels' found/latents.safetensors found/grid.png
    holds found/found-0000.png found/found-0002.png found/grid.png
    shows ': made/seed-0001.png' info found/found-0001.png
    exits 0 $find made --out found --json --threads 3
    json_is "$dir/.out" '(len(r["images"]) == 3 and r["discriminator"] and r["starts"] == 4 and r["steps"] == 60 and
        max(i["error"] for i in r["images"]) < 2 and r["images"][2]["found"] == "found/found-0002.png" and
        abs(r["mean_error"] - sum(i["error"] for i in r["images"]) / 3) < 1e-6)'
    cp found/latents.safetensors three
    exits 0 $find made --out found --threads 1
    same three found/latents.safetensors
    exits 0 generate run --read-z three --out again -q
    same_images found again
    exits 0 $find made/seed-0001.png cats -n 2 --seed 3 --out two --json
    json_is "$dir/.out" 'len(r["images"]) == 2'
    exits 0 $find made --starts 1 --features 0 --out pixels --json
    json_is "$dir/.out" 'not r["discriminator"] and r["starts"] == 1'
    differ three pixels/latents.safetensors
    exits 0 export run --out generator
    notes find-pixels-only find generator made --steps 5 --out alone -q
    quietly find generator made --steps 5 --features 0 --out alone -q

    # a conditional generator: the class of the nearest samples
    exits 0 data --synthesize shapes --classes 3 --count 60 --size 16 -q
    exits 0 --data shapes --conditional --model tiny.cfg --batch 8 --epochs 8 --out classes -q --no-report
    exits 0 generate classes --class all -n 3 --seeds 5000-5002 --write-z by-class --out by-class-images -q
    rm by-class-images/grid.png
    exits 0 find classes by-class-images --steps 100 --out of-classes -q --json
    json_is "$dir/.out" '(max(i["error"] for i in r["images"]) < 2 and all(0 <= i["class"] < 3 for i in r["images"]))'
    exits 0 generate classes --read-z of-classes/latents.safetensors --out from-classes -q
    same_images of-classes from-classes

    # images of another size
    refuses 3 'find-size large/cat-00000.png' $find large --out x
    refuses 3 'find-size 20' $find large/cat-00001.png --out x
    lacks x
    exits 0 $find large --fit crop --out large-found
    exits 4 $find none --out x
    exits 4 $find made --held-out none --out x
    exits 2 find run --out x
    refuses 2 'option-value 1 to 64' find run made --starts 65
    exits 2 find run made --steps 1000001
    mkdir other
    echo mine > other/latents.safetensors
    refuses 2 'foreign-file other/latents.safetensors' $find made --out other
    exits 0 $find made --out other --force

    # memorisation: samples, which are found exactly, against images that were not trained on
    exits 0 data --synthesize held --count 8 --size 16 --seed 5 -q
    exits 0 $find made --held-out held --out test
    prints '3 training images' '8 held-out images' '100.0% (95% interval ' 'the generator has memorised training images'
    exits 0 $find cats --held-out held -n 8 --out test
    prints 'no sign that the generator has memorised'
    exits 0 $find cats --held-out held -n 6 --out test --json
    json_is "$dir/.out" '(len(r["images"]) == 12 and sum(i["held_out"] for i in r["images"]) == 6 and
        r["held_out"]["images"] == 6 and r["held_out"]["share_low"] <= r["held_out"]["share"] and
        r["held_out"]["share"] < r["held_out"]["share_high"] and
        abs(r["held_out"]["share"] -
            sum(a["error"] < min(b["error"] for b in r["images"][6:]) for a in r["images"][:6]) / 6) < 1e-8 and
        abs(r["held_out"]["expected"] - 1 / 7) < 1e-8 and 0 < r["held_out"]["p"] <= 1)'
}
finish
