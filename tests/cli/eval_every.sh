#!/bin/sh
# --eval-every: its columns and files. Training computes the same with it; a run that was stopped or started
# without it ends in the same bytes; eval prints the same metrics for its checkpoints.
# shellcheck disable=SC2086 # options are words
. "$(dirname "$0")/kit"
export DCGAN_THREADS=1
exits 0 data --synthesize "$dir/toy" --count 96 --size 16 -q
gan="--data $dir/toy --model $root/tests/gan16.cfg --batch 32 --seed 3 --checkpoint-every 1 --keep 9 -q"
timeless() { cut -d, -f1-9,12- "$1"; } # without img_s and seconds
all='checkpoint.safetensors checkpoint-best.safetensors'

exits 0 $gan --epochs 4 --eval-every 1 --out "$dir/run"
exits 0 $gan --epochs 4 --out "$dir/plain"
same "$dir/run/checkpoint.safetensors" "$dir/plain/checkpoint.safetensors"
lacks "$dir/plain/checkpoint-best.safetensors"
head -n 1 "$dir/run/log.csv" | grep -q 'seconds,swd,random_frechet,recall,coverage,nearest,kid$'
fact $? "columns should follow: $(head -n 1 "$dir/run/log.csv")"
[ "$(awk -F, 'NR > 1 && NF != 17' "$dir/run/log.csv" | wc -l)" -eq 0 ] &&
    [ "$(awk -F, 'NR > 1 && $13 != "" && $2 % 3 == 0' "$dir/run/log.csv" | wc -l)" -eq 4 ] &&
    [ "$(awk -F, 'NR > 1 && $13 != ""' "$dir/run/log.csv" | wc -l)" -eq 4 ]
fact $? "the last step of each epoch should have metrics: $(cat "$dir/run/log.csv")"
ensure 'and each line of an epoch' [ "$(grep -c '"kind":"epoch".*"random_frechet":' "$dir/run/log.jsonl")" -eq 4 ]

# the best checkpoint is that of the epoch with the smallest distance, and eval prints the same distance
best=$(awk -F, 'NR > 1 && $13 != "" && (!e || $13 < least) { e = $1; least = $13 } END { printf "%04d %s", e, least }' \
    "$dir/run/log.csv")
kept="$dir/run/checkpoint-${best% *}.safetensors"
[ -e "$kept" ] || kept="$dir/run/checkpoint.safetensors"
same "$dir/run/checkpoint-best.safetensors" "$kept"
exits 0 eval "$dir/run/checkpoint-best.safetensors" --data "$dir/toy" --seed 3 --json -q
is=$(sed -n 's/.*"random_frechet".*"judged": \([^,]*\),.*/\1/p' "$dir/.out" | sort -u)
ensure "eval prints $is for the best state, the log ${best#* }" [ "$is" = "${best#* }" ]

# stopped within and after an epoch, with and without the option in between, killed
exits 0 $gan --epochs 4 --eval-every 1 --steps 4 --out "$dir/stopped"
exits 0 --resume --out "$dir/stopped" --steps 0 -q
exits 0 $gan --epochs 1 --eval-every 1 --out "$dir/longer"
exits 0 --resume --out "$dir/longer" --epochs 4 -q
cp -r "$dir/run" "$dir/killed" # as after a kill that lost the last two checkpoints
mv "$dir/killed/checkpoint-0002.safetensors" "$dir/killed/checkpoint.safetensors"
rm "$dir/killed/checkpoint-0003.safetensors"
exits 0 --resume --out "$dir/killed" -q
for r in stopped longer killed; do
    for f in $all; do same "$dir/$r/$f" "$dir/run/$f"; done
    timeless "$dir/$r/log.csv" > "$dir/a"
    timeless "$dir/run/log.csv" > "$dir/b"
    same "$dir/a" "$dir/b"
done

# a run that started without it: its rows get empty columns
exits 0 --resume --out "$dir/plain" --epochs 5 --eval-every 1 -q
[ "$(awk -F, 'NF != 17' "$dir/plain/log.csv" | wc -l)" -eq 0 ] &&
    [ "$(awk -F, 'NR > 1 && $13 != ""' "$dir/plain/log.csv" | wc -l)" -eq 1 ]
fact $? "the log should be widened: $(cat "$dir/plain/log.csv")"
shows 'epoch: 5' info "$dir/plain"
exits 0 report "$dir/plain" "$dir/run" --out "$dir/both.html"
has "$dir/both.html" 'sliced Wasserstein distance'
exits 0 --resume --out "$dir/plain" --epochs 6 --eval-every 0 -q # the columns stay
ensure "and stay so: $(tail -n 2 "$dir/plain/log.csv")" [ "$(awk -F, 'NF != 17' "$dir/plain/log.csv" | wc -l)" -eq 0 ]

# a log of an older version has no column kid: it is read, and resumed with and without new columns
cp -r "$dir/longer" "$dir/older"
cut -d, -f1-16 "$dir/longer/log.csv" > "$dir/older/log.csv"
exits 0 report "$dir/older" "$dir/run" --out "$dir/both.html"
has "$dir/both.html" 'KID, random network'
exits 0 --resume --out "$dir/older" --epochs 5 --eval-every 0 -q
ensure 'the log keeps its columns' [ "$(awk -F, 'NF != 16' "$dir/older/log.csv" | wc -l)" -eq 0 ]
exits 0 --resume --out "$dir/older" --epochs 6 --eval-every 1 -q
head -n 1 "$dir/older/log.csv" | grep -q ',nearest,kid$' &&
    [ "$(awk -F, 'NF != 17' "$dir/older/log.csv" | wc -l)" -eq 0 ] &&
    [ "$(awk -F, 'NR > 1 && $17 != ""' "$dir/older/log.csv" | wc -l)" -eq 1 ] &&
    [ "$(awk -F, 'NR > 1 && $16 != ""' "$dir/older/log.csv" | wc -l)" -eq 5 ]
fact $? "the log should get the column kid: $(cat "$dir/older/log.csv")"

# rewound: the best of the remaining epochs
exits 0 --resume "$dir/run/checkpoint-0001.safetensors" --epochs 1 -q
same "$dir/run/checkpoint-best.safetensors" "$dir/run/checkpoint.safetensors"
holds "$dir/run/later-than-0001/checkpoint-best.safetensors"

# refused
exits 0 data --synthesize "$dir/few" --count 30 --size 16 -q
exits 3 --data "$dir/few" --model "$root/tests/gan16.cfg" --batch 8 --epochs 1 --eval-every 1 --out "$dir/no"
says few-to-evaluate 30
mkdir "$dir/classes"
cp -r "$dir/few" "$dir/classes/a"
cp -r "$dir/few" "$dir/classes/b"
refuses 2 eval-every-classifier --data "$dir/classes" --model "$root/tests/eyes16.cfg" --eval-every 1 --out "$dir/no"
finish
