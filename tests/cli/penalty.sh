#!/bin/sh
# Gradient penalties (--r1, --r2): columns of the log, resuming, a kill, commands on such a run, refused models.
. "$(dirname "$0")/kit"
cd "$dir" || exit 1
exits 0 data --synthesize cats --count 21 --size 16 -q || finish
run() { exits 0 --data cats --size 16 --batch 8 -q --no-curves --grid 2x2 "$@"; }
columns() { head -n 1 "$1/log.csv" | grep -q ',d_gz2,r1,r2,img_s,'; } # of run $1

# only runs with a penalty have the columns; with weight 0 there is no penalty
recipe='--norm-d none --loss rpgan --beta1 0'
# shellcheck disable=SC2086 # words
{
    run $recipe --epochs 3 --out plain/run
    run $recipe --r1 0 --r2 0 --epochs 3 --out zero/run
    run $recipe --r1 2 --r2 1 --epochs 3 --out both/run
    run $recipe --r2 1 --epochs 3 --out second/run
    run $recipe --r1 2 --r2 1 --epochs 1 --out parts/run --threads 1
    run $recipe --r1 2 --r2 1 --epochs 20 --out whole/run
    killed killed/run --data cats --size 16 --batch 8 --no-curves --no-report $recipe --r1 2 --r2 1 --epochs 20
}
if columns plain/run || columns zero/run; then fact 1 'a run without a penalty should not have its columns'; fi
columns both/run && columns second/run
fact $? 'runs with a penalty should have columns r1 and r2'
awk -F, 'NR > 1 && !($10 > 0 && $11 > 0 && $10 != $11) { bad = 1 } END { exit bad || NR < 8 }' both/run/log.csv
fact $? 'r1 and r2 should be above 0'
ensure 'log.jsonl should have r1' grep -q '"r1":' both/run/log.jsonl
config both/run 'r1 = 2'

# resumed with another number of threads, and after a kill: the same weights
exits 0 --resume --out parts/run --epochs 3 -q --threads 3
exits 0 --resume --out killed/run -q
refuses 2 'fixed-in-run --r1 3' --resume --out both/run --r1 3
equal plain/run zero/run
equal both/run parts/run
equal whole/run killed/run
for net in G D; do
    weights second/run $net
    differ both/run/$net.safetensors plain/run/$net.safetensors 'a penalty should change the weights'
    differ both/run/$net.safetensors second/run/$net.safetensors 'R1 should change the weights'
done

# families without norm: the same weights with another number of threads and resumed
for family in bilinear residual r3gan; do
    penalised="--data cats --model $family-16x3 --loss rpgan --beta1 0 --r1 2 --r2 1 --batch 8 -q --no-curves"
    # shellcheck disable=SC2086 # words
    {
        exits 0 $penalised --epochs 3 --out $family/run --threads 3
        exits 0 $penalised --epochs 1 --out $family-parts/run --threads 1
    }
    exits 0 --resume --out $family-parts/run --epochs 3 -q --threads 2
    equal $family/run $family-parts/run
    exits 0 doctor $family/run
    [ $family != r3gan ] || continue
    "$root/tests/oracles/model.py" gan-$family > $family.cfg
    printf '[train]\nr1 = 2\nr2 = 1\n' >> $family.cfg
    shows 'gradient penalty: squared norms agree' check $family.cfg --batch 3
done

# readers of logs, also of two runs of which one has a penalty
exits 0 doctor both/run
exits 0 info both/run
exits 0 report both/run
ensure 'the report should plot the penalties' grep -q 'Gradient of D at the image' both/run/report.html
exits 0 report plain/run both/run --out two.html
exits 0 report both/run plain/run --out other.html
! grep -q 'Gradient of D at the image' two.html
fact $? 'a comparison with a run without a penalty should not have r1'
exits 0 report both/run second/run --out penalised.html
ensure 'a comparison of runs with penalties should have r1' grep -q 'Gradient of D at the image' penalised.html

# check compares the squared norms with their tangents
cat "$root/tests/tiny.cfg" > own.cfg
printf '[train]\nr1 = 2\nr2 = 0.5\n' >> own.cfg
refuses 2 'penalty-batch-norm norm = batch' check own.cfg --batch 3
sed 's/norm = batch/norm = none\nbias = yes/' own.cfg > none.cfg
for precision in fp32 fp64; do
    shows 'gradient penalty: squared norms agree' check none.cfg --batch 3 --precision $precision
    for op in fill mix bias_dw penalty; do prints " $op "; done
done
exits 0 check none.cfg --batch 3 --conv winograd
exits 0 plan none.cfg

# refused
refuses 2 'penalty-batch-norm norm = batch' --data cats --model "$root/tests/tiny.cfg" --r1 1 --epochs 1
refuses 2 'penalty-batch-norm --norm-d none' --data cats --size 16 --r2 1 --epochs 1
refuses 2 'penalty-fp16 --precision' plan none.cfg --arch sm_75 --precision fp16
exits 0 plan none.cfg --arch sm_90
sed -e '/^\[D[.]2\]/,/^\[D[.]3\]/{/^\[D/!d' -e '}' -e 's/^\[D[.]2\]/&\nop = max_pool\nkernel = 2/' none.cfg > pool.cfg
refuses 2 'penalty-op max_pool' --data cats --model pool.cfg --epochs 1
sed 's/act = leaky/act = tanh/' none.cfg > tanh.cfg
refuses 2 'penalty-act act = tanh' --data cats --model tanh.cfg --epochs 1
mkdir -p two/a two/b && cp cats/*1.png two/a && cp cats/*2.png two/b
refuses 2 penalty-for-gans --data two --model cnn-mnist --batch 2 --r1 1 --epochs 1
exits 2 --data cats --r1 -1
finish
