#!/bin/sh
# Options of GAN training besides the published recipe: other losses, EMA of G's weights, augmentation, presets.
# shellcheck disable=SC2086 # $all and $o are words
. "$(dirname "$0")/kit"
cd "$dir" || exit 1
exits 0 data --synthesize cats --count 21 --size 16 || finish
# weights RUN FILE: the end of its export, which has weights and no metadata
weights() { exits 0 export "$1" --out all.safetensors -q; tail -c 4000 all.safetensors > "$2"; rm -f all.safetensors; }
run() { exits 0 --data cats --model "$root/tests/tiny.cfg" --batch 8 -q --no-curves --no-report --grid 2x2 "$@"; }

# by default, a run averages the weights as --preset small does
run --epochs 2 --out auto/run
run --epochs 2 --out auto-said/run --preset small
same auto/run/epoch-0002.png auto-said/run/epoch-0002.png
config auto/run 'preset = small' 'ema = 0.995'

# the other defaults, given or not, are the published recipe
run --epochs 2 --out plain/run --preset none
run --epochs 2 --out said/run --loss bce --ema 0 --augment none
same plain/run/epoch-0002.png said/run/epoch-0002.png
if grep -qE '^(loss|ema|augment)' plain/run/config.ini; then fact 1 'config.ini should not have the defaults'; fi
if grep -q 'ema[.]' plain/run/checkpoint.safetensors; then fact 1 'the checkpoint should have no averages'; fi

# each loss trains differently; an uninterrupted run, a resumed one and other thread counts give the same bytes
all='--flip --ema 0.8 --augment color,translation,cutout'
weights plain/run plain/weights
for loss in $(losses); do
    run --epochs 2 --out "$loss/run" --loss "$loss" $all
    weights "$loss/run" "$loss/weights"
    differ plain/weights "$loss/weights" "--loss $loss should give other weights"
done
for a in $(losses); do
    for b in $(losses); do
        if [ "$a" != "$b" ] && cmp -s "$a/weights" "$b/weights"; then fact 1 "--loss $a should not train as $b"; fi
    done
done
run --epochs 2 --out less/run --loss ralsgan --flip --ema 0.8 --augment color,cutout
weights less/run less/weights
differ less/weights ralsgan/weights 'other augmentation should give other weights'
grep -q '^loss = ralsgan$' ralsgan/run/config.ini &&
    config ralsgan/run 'augment = color,translation,cutout'
run --epochs 1 --out parts/run --loss ralsgan $all --threads 1
exits 0 --resume --out parts/run --epochs 2 -q --threads 3
for f in epoch-0001.png epoch-0002.png; do same parts/run/$f ralsgan/run/$f; done
"$program" export parts/run --out one.safetensors -q
"$program" export ralsgan/run --out two.safetensors -q
same one.safetensors two.safetensors
exits 2 --resume --out ralsgan/run --loss hinge
says fixed-in-run '--loss hinge' ralsgan
exits 2 --resume --out ralsgan/run --ema 0
says fixed-in-run '--ema 0' 0.8
exits 0 --resume --out less/run --epochs 3 -q --augment none

# samples and exports use the averaged weights; a checkpoint without them is refused
exits 0 info ralsgan/run/checkpoint.safetensors
exits 0 generate ralsgan/run --seeds 0-3 --out shown --scale 1 -q
holds shown/grid.png
if [ "${DCGAN_DEVICE#cuda}" = "$DCGAN_DEVICE" ]; then
    "$python" - <<'END'
import st, sys
checkpoint, export = st.values('ralsgan/run/checkpoint.safetensors'), st.values('two.safetensors')
averaged = [k for k in checkpoint if k.startswith('ema.')]
counted = [k for k in export if not k.endswith('num_batches_tracked')]
ok = len(averaged) == len(counted) and all(export[k] == checkpoint['ema.G.' + k] for k in counted)
sys.exit(not (ok and export['main.0.weight'] != checkpoint['G.main.0.weight']))
END
    fact $? 'the export should have the averaged weights'
fi
sed 's/"ema[.]G[.]main[.]0[.]weight"/"ema.G.main.9.weight"/' ralsgan/run/checkpoint.safetensors > wrong.safetensors
exits 4 generate wrong.safetensors --out no

# a preset overrides the model and the config file; options override the preset; config.ini has the values
run --epochs 1 --out small/run --preset small
run --epochs 1 --out small-said/run --ema 0.995
same small/run/epoch-0001.png small-said/run/epoch-0001.png
sed '/^;/d; /^version/d; /^preset/d' small/run/config.ini > small/config
sed '/^;/d; /^version/d; /^preset/d' small-said/run/config.ini > small-said/config
same small/config small-said/config
exits 0 --resume --out small/run --epochs 2 -q
refuses 2 preset-while-resuming --resume --out small/run --preset small
run --epochs 1 --out paper/run --preset paper --config small/run/config.ini
run --epochs 1 --out one/run --preset none
same paper/run/epoch-0001.png one/run/epoch-0001.png

# --preset steady replaces batch norm in D, unless --norm-d is given; config.ini has the preset
new='--data cats --size 16 --batch 8 --no-curves --no-report --epochs 1 -q'
# shellcheck disable=SC2086 # words
{
    exits 0 $new --preset steady --out steady/run
    exits 0 $new --preset steady --norm-d spectral --out spectral/run
    exits 0 $new --preset steady # the directory has the name of the model without norm
    exits 0 --data cats --config steady/run/config.ini --out again/run --no-report -q
    exits 0 $new --preset steady --schedule none --out constant/run
    refuses 2 'penalty-batch-norm' $new --preset steady --norm-d model --out no
}
config steady/run 'preset = steady' 'model = dcgan-16x3-spectral' 'loss = rpgan'
config again/run 'preset = steady'
config constant/run 'lr-end = 0' 'lr = 0.001'
holds samples/cats-dcgan-16x3/config.ini
for of in spectral again; do
    weights steady/run a
    weights $of/run b
    same a b
done
exits 0 --resume --out steady/run --size 16 --epochs 2 -q
refuses 2 'fixed-in-run spectral' --resume --out steady/run --size 20 --epochs 3

# as keys in a model file
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

# refused
exits 2 --data cats --loss wgan
says option-value '--loss wgan' bce,
exits 2 --data cats --ema 1
says option-value '--ema 1' '0 to below 1'
for list in blur color,color 'color,' ,color; do
    refuses 2 "bad-augment --augment $list" --data cats --augment "$list"
done
refuses 2 'option-value nonsense: unknown; allowed: auto, none, small, paper or steady' --data cats --preset nonsense
sed 's/augment = cutout/augment = blur/' own.cfg > wrong.cfg
refuses 2 'bad-augment augment = blur' --data cats --model wrong.cfg
exits 0 data --synthesize shapes --classes 10 --count 40 --size 28 || finish
for o in 'loss-for-gans --loss hinge' 'ema-for-gans --ema 0.9' 'augment-for-gans --augment cutout' \
    'preset-for-gans --preset paper'; do
    refuses 2 "${o%% *} cnn-mnist" --data shapes --model cnn-mnist --epochs 1 ${o#* }
done

# --aug-preview
exits 0 data cats --size 16 --augment color,translation,cutout --aug-preview seen.png
exits 0 info seen.png
exits 0 data cats --size 16 --augment translation --aug-preview other.png
differ seen.png other.png 'other augmentation should give another image'
refuses 2 'preview-without-augment --augment color,translation,cutout' data cats --aug-preview seen.png
finish
