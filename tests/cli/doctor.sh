#!/bin/sh
# The doctor as users meet it: a line when something begins, --stop-on-collapse, the command and its JSON.
. "$(dirname "$0")/kit"
export DCGAN_THREADS=1
exits 0 data --synthesize "$dir/toy" --count 64 --size 16 -q
gan="--data $dir/toy --model $root/tests/gan16.cfg --batch 32 --epochs 1000 --sample-every 100"

# shellcheck disable=SC2086 # words
exits 8 $gan --lr 0.5 --stop-on-collapse --out "$dir/away"
says 'doctor, epoch 125: the losses run away'
says 'by --stop-on-collapse: runs_away'
holds "$dir/away/checkpoint.safetensors"
holds "$dir/away/epoch-0100.png"
exits 0 info "$dir/away/checkpoint.safetensors"
prints 'step: 25'
exits 0 --resume --out "$dir/away" --steps 300 # goes on all the same, and does not tell it again
if grep -q 'losses run away' "$dir/.err"; then fact 1 'what was told is not told again'; fi
exits 0 doctor "$dir/away"
prints 'runs_away, from epoch 125 (step 250) '
prints 'smaller --lr'
silent
exits 0 doctor "$dir/away" --json
prints '"name": "runs_away", "epoch": 125, "step": 250'
if command -v python3 > /dev/null; then
    python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); assert r["steps"] == 300 and r["grids"] == 1' \
        "$dir/.out"
    fact $? "JSON: $(cat "$dir/.out")"
else
    skip 'JSON is not read: there is no python3'
fi
exits 0 doctor "$dir/away" # --steps 300 are done
prints 'few_steps'
exits 0 doctor "$dir/away/log.csv" # which may go on
if grep -q few_steps "$dir/.out"; then fact 1 'a log does not tell whether its run is over'; fi

# the same bits with and without the doctor's stop, and nothing where nothing is wrong
# shellcheck disable=SC2086
exits 0 $gan --steps 60 --stop-on-collapse --out "$dir/a"
says 'the run ends after 60 of some thousand steps that pictures need'
# shellcheck disable=SC2086
exits 0 $gan --steps 60 --out "$dir/b" -q
silent
same "$dir/a/checkpoint.safetensors" "$dir/b/checkpoint.safetensors"
exits 0 doctor "$root/tests/host/doctor/mnist-25-epochs.csv"
prints 'nothing stands out'
exits 0 doctor "$root/tests/host/doctor/published-300-epochs.csv"
prints 'd_wins, from epoch 179'

exits 4 doctor "$dir/none"
exits 2 doctor "$root/tests/gan16.cfg"
says 'not that of a log.csv'
exits 2 doctor
echo 'epoch,step,loss,accuracy,test_loss,test_accuracy,img_s,seconds' > "$dir/c.csv"
exits 2 doctor "$dir/c.csv"
says 'the rules are for GANs'
finish
