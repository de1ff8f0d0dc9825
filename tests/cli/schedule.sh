#!/bin/sh
# Values by --schedule cosine, --ema-half-life and --augment-p: their lengths in config.ini, resuming, a kill, refusals.
# shellcheck disable=SC2086 # $recipe, $ends and $o are words
. "$(dirname "$0")/kit"
cd "$dir" || exit 1
exits 0 data --synthesize cats --count 21 --size 16 -q || finish
recipe='--norm-d none --loss rpgan --beta1 0 --r1 2 --r2 1'
ends='--schedule cosine --lr-end 5e-5 --beta2-end 0.9 --r1-end 0.2 --r2-end 0.1 --ema-half-life 20
      --augment color,translation,cutout --augment-p 0.5'
run() { exits 0 --data cats --size 16 --batch 8 -q --no-curves --no-report --grid 2x2 $recipe "$@"; }

# a run stores the length of its schedule: 80% of 5 epochs of 21 images. Its steps do not depend on threads
exits 0 --data cats --size 16 --batch 8 --no-curves --no-report --grid 2x2 $recipe $ends --epochs 5 --out auto/run
says note-schedule-auto 84
config auto/run 'schedule = cosine' 'schedule-length = 84' 'lr-end = 5e-05' 'augment-p = 0.5'
run $ends --epochs 5 --out said/run --schedule-length 84 --threads 3
equal auto/run said/run

# a resumed run continues the schedule, also inside an epoch and after its end; a kill changes nothing
run $ends --epochs 20 --out long/run --schedule-length 84 --threads 1
run $ends --epochs 20 --out parts/run --schedule-length 84 --steps 7
exits 0 --resume --out parts/run --steps 0 -q --threads 2
equal long/run parts/run
exits 0 --resume --out auto/run --epochs 20 -q
config auto/run 'schedule-length = 84'
equal long/run auto/run
exits 0 --resume --out auto/run --epochs 21 --schedule-length auto -q
config auto/run 'schedule-length = 84'
killed killed/run --data cats --size 16 --batch 8 --no-curves --no-report $recipe $ends --epochs 20 \
    --schedule-length 84
exits 0 --resume --out killed/run -q
equal long/run killed/run
exits 0 --resume --out said/run --epochs 6 --schedule-length 200 -q
says schedule-moved 200 84
config said/run 'schedule-length = 200'
refuses 2 'fixed-in-run --ema-half-life 5' --resume --out said/run --ema-half-life 5

# each value matters
run --epochs 3 --preset none --out plain/run
weights plain/run G
weights plain/run D
for o in '--lr-end 1e-6' '--beta2-end 0.5' '--r1-end 0.01' '--r2-end 0.01'; do
    run --schedule cosine $o --epochs 3 --out "a$o/run"
    weights "a$o/run" D
    differ plain/run/D.safetensors "a$o/run/D.safetensors" "$o should change the weights"
done
run --ema-half-life 20 --epochs 3 --out half/run
weights half/run G
weights half/run D
differ plain/run/G.safetensors half/run/G.safetensors 'averages should differ from the weights'
same plain/run/D.safetensors half/run/D.safetensors
# auto: 2.5% of the schedule, also of --preset steady; a resumed run keeps it
run --ema-half-life auto --epochs 5 --out share/run
config share/run 'ema-half-life = 2.1'
exits 0 --data cats --size 16 --batch 8 -q --no-report --preset steady --epochs 6 --schedule-length 84 --out steady/run
exits 0 --data cats --size 16 --batch 8 -q --no-report --preset steady --epochs 5 --out part/run
config part/run 'schedule-length = 84' 'ema-half-life = 2.1'
exits 0 --resume --out part/run --epochs 6 -q
equal steady/run part/run
run --ema-half-life 20 --schedule cosine --epochs 3 --out rising/run
weights rising/run G
differ rising/run/G.safetensors half/run/G.safetensors 'a schedule should change the half-life'
run --augment cutout --epochs 3 --out always/run
run --augment cutout --augment-p 1 --epochs 3 --out one/run
run --augment cutout --augment-p 0.5 --epochs 3 --out often/run
run --augment cutout --augment-p 0.5 --schedule cosine --epochs 3 --out rarely/run
equal always/run one/run
for name in often rarely; do
    weights $name/run D
    differ always/run/D.safetensors $name/run/D.safetensors '--augment-p should change the weights'
done
differ often/run/D.safetensors rarely/run/D.safetensors 'a schedule should change the probability'
if grep -qE '(-end|half-life|augment-p|schedule)' plain/run/config.ini; then
    [ "$(grep -cE '^(lr-end = 0|beta2-end = 0|r1-end = 0|r2-end = 0|ema-half-life = 0|augment-p = 1)$' \
        plain/run/config.ini)" -eq 6 ]
    fact $? 'config.ini of a run without a schedule should have defaults'
fi

# as keys of a model file, and for a classifier
{ cat "$root/tests/tiny.cfg"; printf '[train]\nschedule = cosine\nlr_end = 1e-5\nschedule_length = 50\n'; } > own.cfg
exits 0 --data cats --model own.cfg --batch 8 --epochs 2 -q --no-curves --no-report --grid 2x2 --out keys/run
config keys/run 'lr-end = 1e-05' 'schedule-length = 50'
exits 0 --data cats --model own.cfg --batch 8 --epochs 1 -q --no-curves --no-report --grid 2x2 --out paper/run \
    --preset paper
config paper/run 'schedule = none' 'lr-end = 0' 'schedule-length = auto'
exits 0 data --synthesize shapes --classes 10 --count 40 --size 28 || finish
classify() { exits 0 --data shapes --model cnn-mnist --batch 8 --test 0 -q --no-curves --no-report "$@"; }
classify --epochs 3 --schedule cosine --lr-end 1e-5 --out class/run
classify --epochs 1 --schedule cosine --lr-end 1e-5 --out class2/run --schedule-length 96
exits 0 --resume --out class2/run --epochs 3 -q --threads 3
classify --epochs 3 --out class3/run
for name in class class2 class3; do exits 0 export $name/run --out $name.safetensors -q; done
same class.safetensors class2.safetensors
differ class.safetensors class3.safetensors 'a schedule should change a classifier'

# a new run for another dataset gets a length of its own
exits 0 data --synthesize more --count 42 --size 16 -q
rm -rf other && cp -r auto/run other
exits 0 --resume --out other --data more -q
config other-2 'schedule-length = 706'

# a run that continues with another dataset or batch size counts the images of each: 21 per epoch, then 42
shown() { # shown RUN: its metadata images-shown
    head -c 100000 "$1/checkpoint.safetensors" | tr ',' '\n' > .shown
    sed -n 's/.*"images-shown": *"\([0-9]*\)".*/\1/p' .shown
}
run $ends --epochs 3 --out moved/run --schedule-length 300
[ -z "$(shown moved/run)" ]
fact $? 'without a change of the dataset there should be no images-shown'
exits 0 --resume --out moved/run --data more --allow-data-change --epochs 4 -q
[ "$(shown moved/run)" = 105 ]
fact $? "after 3 epochs of 21 images and one of 42: images-shown is $(shown moved/run)"
exits 0 --resume --out moved/run --data more --steps 18 --epochs 5 -q
[ "$(shown moved/run)" = 129 ]
fact $? "after 3 more steps of 8 images: images-shown is $(shown moved/run)"
exits 0 --resume --out moved/run --data cats --allow-data-change --steps 0 --epochs 5 -q
[ "$(shown moved/run)" = 150 ]
fact $? "the epoch with 21 images starts again after 3 steps: images-shown is $(shown moved/run)"

# --schedule none and --augment none also override the values that belong to a model's schedule
{ cat "$root/tests/gan16.cfg"; printf '\n[train]\nschedule = cosine\nlr_end = 1e-5\nschedule_length = 50\n'
    printf 'augment = cutout\naugment_p = 0.5\n'; } > own.cfg
exits 0 --data cats --model own.cfg --schedule none --augment none --dry-run -q
exits 0 --data cats --model own.cfg --schedule 3:0.1 --dry-run -q

# --ema and --ema-half-life replace each other if a preset or a model sets the other one
run --preset small --ema-half-life 123 --epochs 1 --out small/run
config small/run 'ema = 0' 'ema-half-life = 123'
refuses 2 'fixed-in-run' --resume --out small/run --ema 0.9
run --preset small --ema-half-life 0 --epochs 1 --out small2/run
config small2/run 'ema = 0.995'
{ cat "$root/tests/gan16.cfg"; printf '\n[train]\nema_half_life = 50\n'; } > own.cfg
exits 0 --data cats --model own.cfg --batch 8 --epochs 1 -q --no-curves --no-report --grid 2x2 --ema 0.9 --out half2/run
config half2/run 'ema = 0.9'

# refused
for o in '--lr-end 1e-5' '--beta2-end 0.9' '--r1-end 0.1' '--r2-end 0.1' '--schedule-length 100'; do
    refuses 2 "end-without-cosine ${o% *}" --data cats --r1 1 --r2 1 $o
    refuses 2 "end-without-cosine ${o% *}" --data cats --r1 1 --r2 1 --schedule 3:0.1 $o
done
refuses 2 cosine-without-end --data cats --schedule cosine
refuses 2 cosine-without-end --data cats --schedule cosine --schedule-length 100 --augment-p 1
refuses 2 'end-without-start --r1-end' --data cats --schedule cosine --r1-end 1
refuses 2 'end-without-start --r2' --data cats --schedule cosine --r1 1 --r2-end 1
refuses 2 beta2-end-without-adam --data cats --schedule cosine --beta2-end 0.9 --optimizer sgd
refuses 2 ema-twice --data cats --ema 0.9 --ema-half-life 100
refuses 2 ema-twice --data cats --preset small --ema-half-life 100 --ema 0.995
refuses 2 'augment-p-alone 0.3' --data cats --augment-p 0.3
for o in cosine,3:0.1 3:0.1,cosine cosin; do refuses 2 "bad-schedule $o" --data cats --schedule $o; done
exits 2 --data cats --augment cutout --augment-p 0
exits 2 --data cats --schedule cosine --beta2-end 1
refuses 2 'ema-for-gans --ema-half-life' --data shapes --model cnn-mnist --epochs 1 --ema-half-life 100
refuses 2 option-of-others generate auto/run --augment-p 0.5
finish
