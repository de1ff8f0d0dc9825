#!/bin/sh
# The doctor: a note when a finding begins, --stop-on-collapse, the command and its JSON.
# shellcheck disable=SC2086 # options are words
. "$(dirname "$0")/kit"
export DCGAN_THREADS=1 DCGAN_ISA=base # the same bits on each x86-64 CPU: diverging runs differ in chaotic ways
exits 0 data --synthesize "$dir/toy" --count 64 --size 16 -q
gan="--data $dir/toy --model $root/tests/gan16.cfg --batch 32 --epochs 1000 --sample-every 100"

refuses 8 'runs_away epoch 125' $gan --lr 0.5 --stop-on-collapse --out "$dir/away"
says stopped-on-collapse --stop-on-collapse runs_away
mv "$dir/away" "$dir/keyed"
without_key $gan --lr 0.5 --stop-on-collapse --out "$dir/away"
holds "$dir/away/checkpoint.safetensors" "$dir/away/epoch-0100.png"
shows 'step: 25' info "$dir/away/checkpoint.safetensors"
exits 0 --resume --out "$dir/away" --steps 300 # resumes, and does not repeat the finding
never_says runs_away
exits 0 doctor "$dir/away"
prints 'runs_away, from epoch 125 (step 250): ' 'smaller --lr'
silent
shows '"name": "runs_away", "epoch": 125, "step": 250' doctor "$dir/away" --json
json_is "$dir/.out" 'r["steps"] == 300 and r["grids"] == 1'
exits 0 doctor "$dir/away" # --steps 300 are done
prints 'few_steps'
exits 0 doctor "$dir/away/log.csv" # a log does not show the end of its run
if grep -q few_steps "$dir/.out"; then fact 1 'a log does not show the end of its run'; fi

# the same bytes with and without --stop-on-collapse, and no finding for a sound run
exits 0 $gan --steps 60 --stop-on-collapse --out "$dir/a"
says few_steps 60
quietly $gan --steps 60 --out "$dir/b" -q
same "$dir/a/checkpoint.safetensors" "$dir/b/checkpoint.safetensors"
shows 'no findings' doctor "$root/tests/host/doctor/mnist-25-epochs.csv"
shows 'd_wins, from epoch 179' doctor "$root/tests/host/doctor/published-300-epochs.csv"

exits 4 doctor "$dir/none"
refuses 2 'doctor-not-a-log gan16.cfg' doctor "$root/tests/gan16.cfg"
exits 2 doctor
echo 'epoch,step,loss,accuracy,test_loss,test_accuracy,img_s,seconds' > "$dir/c.csv"
refuses 2 'not-gan-log c.csv' doctor "$dir/c.csv"
finish
