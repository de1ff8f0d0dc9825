#!/bin/sh
# The page of `export --html` for the built-in generators, with and without classes: node and headless Chromium make 16
# samples of `dcgan generate`. In Chromium, also the controls, a saved PNG, both sizes of the window and no request.
# Without r3gan-cifar and r3gan-ffhq64, which need seconds per image and have the layers of r3gan-32x3.
# The controls are those of small images: they make the grid again. $CHROMIUM is the browser; KEEP=DIR keeps the
# screenshots.
. "$(dirname "$0")/../kit"
soaks || { skip 'the built-in generators are trained for some steps: make soak'; finish; }
needs node "$python"
chromium=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome)}
[ -n "$chromium" ] || skip 'there is no Chromium: pages run in node alone'
cd "$dir" || exit 1
seeds='0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 9007199254740991'

# same_samples NAME: NAME-SEED.pam are the samples in made, within one grey level
same_samples()
{
    pairs=''
    for seed in $seeds; do pairs="$pairs $1-$seed.pam made/seed-$(printf %04d "$seed").png"; done
    # shellcheck disable=SC2086 # words
    ensure "$1 should make the samples of $model $classes" "$python" "$root/tests/cli/same_images.py" 1 $pairs
}

# generator SIZE MODEL [OPTION]...
generator()
{
    size=$1 model=$2
    shift 2
    [ -d "data-$size" ] || exits 0 data --synthesize "data-$size" --classes 3 --count 66 --size "$size" -q
    for classes in '' --conditional; do
        # shellcheck disable=SC2086 # words
        exits 0 --data "data-$size" --model "$model" $classes --grid 2x2 --no-curves --no-report --out run -q "$@" ||
            continue
        for range in 0-14 9007199254740991; do exits 0 generate run --seeds $range --out made -q; done
        exits 0 export run --html page.html -q
        # shellcheck disable=SC2086 # words
        ensure "$model $classes in node" node "$root/tests/cli/page_run.js" page.html node $seeds && same_samples node
        controls=--controls
        [ "$size" -gt 32 ] && controls=
        # shellcheck disable=SC2086 # words
        if [ -n "$chromium" ] && ensure "$model $classes in Chromium" node "$root/tests/cli/page_browser.js" $controls \
            "$chromium" page.html chromium $seeds; then
            same_samples chromium
            ensure 'the saved PNG' "$python" "$root/tests/cli/same_images.py" 1 chromium-saved.png made/seed-0007.png
            for file in chromium-saved.png made/seed-0007.png; do
                exits 0 info $file
                sed -n '/^texts:/,$p' .out > "$file.texts"
            done
            same chromium-saved.png.texts made/seed-0007.png.texts
            for window in ${KEEP:+desktop phone}; do
                cp chromium-$window.png "$KEEP/$model${classes:+-classes}-$window.png"
            done
        fi
        rm -rf run made node-* chromium-*
    done
}

# enough steps that the samples of two seeds differ by some grey levels
generator 28 dcgan28 --batch 16 --steps 60
generator 32 dcgan32 --batch 16 --steps 60
generator 64 dcgan64-paper --batch 16 --steps 40
generator 64 dcgan64 --batch 16 --steps 40
generator 128 dcgan128 --batch 8 --steps 40
generator 32 dcgan-32x4 --batch 16 --steps 60
generator 32 bilinear-32x3 --batch 16 --steps 40
generator 32 residual-32x1 --batch 16 --steps 40
generator 32 r3gan-32x3 --batch 16 --steps 40
finish
