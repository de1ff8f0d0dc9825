#!/bin/sh
# What a GAN can be trained by besides the published recipe: other losses, an average of G's weights, augmentation.
# shellcheck disable=SC2086 # $all and $o are words
. "$(dirname "$0")/kit"
cd "$dir" || exit 1
exits 0 data --synthesize cats --count 21 --size 16 || finish
# weights RUN FILE: the end of what is exported of it, which is weights without a word about the run
weights() { exits 0 export "$1" --out all.safetensors -q; tail -c 4000 all.safetensors > "$2"; rm -f all.safetensors; }
run() { exits 0 --data cats --model "$root/tests/tiny.cfg" --batch 8 -q --no-curves --no-report --grid 2x2 "$@"; }

# without any of it nothing is other than before, whether that is said or not
run --epochs 2 --out plain/run
run --epochs 2 --out said/run --loss bce --ema 0 --augment none
same plain/run/epoch-0002.png said/run/epoch-0002.png
if grep -qE '^(loss|ema|augment)' plain/run/config.ini; then fact 1 'a plain config.ini should not tell of it'; fi
if grep -q 'ema[.]' plain/run/checkpoint.safetensors; then fact 1 'a plain checkpoint should hold no averages'; fi

# each loss is another training; a run in one go, one that was stopped, and other threads: the same bytes
all='--ema 0.8 --augment color,translation,cutout'
weights plain/run plain/weights
for loss in $(losses); do
    run --epochs 2 --out "$loss/run" --loss "$loss" $all
    weights "$loss/run" "$loss/weights"
    if cmp -s plain/weights "$loss/weights"; then fact 1 "--loss $loss should make other pictures"; fi
done
for a in $(losses); do
    for b in $(losses); do
        if [ "$a" != "$b" ] && cmp -s "$a/weights" "$b/weights"; then fact 1 "--loss $a should not train as $b"; fi
    done
done
run --epochs 2 --out less/run --loss ralsgan --ema 0.8 --augment color,cutout
weights less/run less/weights
if cmp -s less/weights ralsgan/weights; then fact 1 'what is augmented should matter'; fi
grep -q '^loss = ralsgan$' ralsgan/run/config.ini &&
    grep -q '^augment = color,translation,cutout$' ralsgan/run/config.ini
fact $? 'config.ini should keep what was asked for'
run --epochs 1 --out parts/run --loss ralsgan $all --threads 1
exits 0 --resume --out parts/run --epochs 2 -q --threads 3
for f in epoch-0001.png epoch-0002.png; do same parts/run/$f ralsgan/run/$f; done
"$program" export parts/run --out one.safetensors -q
"$program" export ralsgan/run --out two.safetensors -q
same one.safetensors two.safetensors
exits 2 --resume --out ralsgan/run --loss hinge
says '--loss hinge: this run was begun with ralsgan, which cannot change'
exits 2 --resume --out ralsgan/run --ema 0
says '--ema 0: this run was begun with 0.8, which cannot change'
exits 0 --resume --out less/run --epochs 3 -q --augment none

# what is shown and exported is the average, and a checkpoint without it is no checkpoint of such a run
exits 0 info ralsgan/run/checkpoint.safetensors
exits 0 generate ralsgan/run --seeds 0-3 --out shown --scale 1 -q
holds shown/grid.png
if [ "${DCGAN_DEVICE#cuda}" = "$DCGAN_DEVICE" ]; then
    "${PYTHON:-python3}" - <<'END'
import json, struct, sys
def tensors(path):
    with open(path, 'rb') as file:
        data = file.read()
    size = struct.unpack('<Q', data[:8])[0]
    header = json.loads(data[8:8 + size])
    return {k: data[8 + size + v['data_offsets'][0]:8 + size + v['data_offsets'][1]]
            for k, v in header.items() if k != '__metadata__'}
checkpoint, export = tensors('ralsgan/run/checkpoint.safetensors'), tensors('two.safetensors')
averaged = [k for k in checkpoint if k.startswith('ema.')]
counted = [k for k in export if not k.endswith('num_batches_tracked')]
ok = len(averaged) == len(counted) and all(export[k] == checkpoint['ema.G.' + k] for k in counted)
sys.exit(not (ok and export['main.0.weight'] != checkpoint['G.main.0.weight']))
END
    fact $? 'the average should be exported'
fi
sed 's/"ema[.]G[.]main[.]0[.]weight"/"ema.G.main.9.weight"/' ralsgan/run/checkpoint.safetensors > wrong.safetensors
exits 4 generate wrong.safetensors --out no

# a preset is its values, over those of a model and of a config file, below what is given; a run says which they were
run --epochs 1 --out small/run --preset small
run --epochs 1 --out small-said/run --ema 0.995
same small/run/epoch-0001.png small-said/run/epoch-0001.png
sed '/^;/d; /^version/d' small/run/config.ini > small/config
sed '/^;/d; /^version/d' small-said/run/config.ini > small-said/config
same small/config small-said/config
exits 0 --resume --out small/run --epochs 2 -q
exits 2 --resume --out small/run --preset small
says '--preset: a run that is resumed keeps the values that it has; resume it without'
run --epochs 1 --out paper/run --preset paper --config small/run/config.ini
run --epochs 1 --out one/run
same paper/run/epoch-0001.png one/run/epoch-0001.png

# as keys of a model
{ cat "$root/tests/tiny.cfg"; printf '[train]\nloss = hinge\nema = 0.5\naugment = cutout\n'; } > own.cfg
exits 0 --data cats --model own.cfg --batch 8 --epochs 1 -q --no-curves --no-report --grid 2x2 --out keys
run --epochs 1 --out options --loss hinge --ema 0.5 --augment cutout
weights keys a
weights options b
same a b
exits 0 --data cats --model own.cfg --batch 8 --epochs 2 -q --no-curves --no-report --grid 2x2 --out none --loss bce \
    --ema 0 --augment none
weights none a
same a plain/weights
exits 0 --resume --out none --epochs 3 -q

# mistakes
exits 2 --data cats --loss wgan
says '--loss wgan: unknown; allowed: bce, '
exits 2 --data cats --ema 1
says '--ema 1: out of range; allowed: 0 to below 1'
for list in blur color,color 'color,' ,color; do
    exits 2 --data cats --augment "$list"
    says "--augment $list: color, translation and cutout, each once and with commas between, or none"
done
sed 's/augment = cutout/augment = blur/' own.cfg > wrong.cfg
exits 2 --data cats --model wrong.cfg
says '[train] augment = blur: color, translation and cutout'
exits 0 data --synthesize shapes --classes 10 --count 40 --size 28 || finish
for o in '--loss hinge' '--ema 0.9' '--augment cutout' '--preset paper'; do
    exits 2 --data shapes --model cnn-mnist --epochs 1 $o
    says "${o%% *}: is for GANs; model cnn-mnist is a classifier"
done

# what D sees
exits 0 data cats --size 16 --augment color,translation,cutout --aug-preview seen.png
exits 0 info seen.png
exits 0 data cats --size 16 --augment translation --aug-preview other.png
if cmp -s seen.png other.png; then fact 1 'what is augmented should be seen'; fi
exits 2 data cats --aug-preview seen.png
says '--augment color,translation,cutout'
finish
