#!/bin/sh
# The same seed gives the same checkpoint bytes (weights and Adam) for any number of threads, and however often a run
# is killed and resumed.
# shellcheck disable=SC2086,SC2317 # $all is words; ensure calls functions
. "$(dirname "$0")/../kit"
awk 'BEGIN { split("12 6 3 5 10 1", width) } $1 == "filters" { $3 = width[++n] } { print }' tests/tiny.cfg \
    > "$dir/tiny.cfg"
exits 0 data --synthesize "$dir/cats" --count 45 --size 16 || finish

train() # train OUT OPTION...; `exec="exec" train ... &` in the background, so that $! is dcgan and not a shell
{
    out=$1
    shift
    ${exec:-} "$program" --data "$dir/cats" --model "$dir/tiny.cfg" --batch 8 --seed 5 --flip -q --out "$dir/$out" "$@"
}
same_checkpoint() { cmp "$dir/$1/checkpoint.safetensors" "$dir/$2/checkpoint.safetensors"; }

# threads and precision
for p in fp32 fp64; do
    for t in 1 2 3 7; do
        ensure "$p, $t threads trains" train "$p-$t" --epochs 3 --threads "$t" --precision "$p"
        [ "$t" = 1 ] || ensure "$p: $t threads give the bytes of one" same_checkpoint "$p-1" "$p-$t"
    done
done
differ "$dir/fp32-1/checkpoint.safetensors" "$dir/fp64-1/checkpoint.safetensors" "the precision matters"

# a loss, an average of G's weights, augmentation, flips
all='--loss ralsgan --augment color,translation,cutout --ema 0.995 --flip'
for p in fp32 fp64; do
    for t in 1 2 3 7; do
        ensure "all, $p, $t threads trains" train "all-$p-$t" --epochs 3 --threads "$t" --precision "$p" $all
        [ "$t" = 1 ] || ensure "all, $p: $t threads give the bytes of one" same_checkpoint "all-$p-1" "all-$p-$t"
    done
done

# 6 epochs uninterrupted, and 3, then kill -9, then resumed
killed() # killed NAME OPTION...
{
    name=$1
    shift
    ensure "$name: 6 epochs in one go" train "$name-six" --epochs 6 "$@"
    ensure "$name: 3 epochs" train "$name-parts" --epochs 3 "$@"
    "$program" --resume --out "$dir/$name-parts" --epochs 6 -q > /dev/null 2>&1 &
    pid=$!
    tries=0
    while kill -0 $pid 2> /dev/null && [ "$(wc -l < "$dir/$name-parts/log.csv")" -lt 21 ] && [ $tries -lt 1000 ]; do
        tries=$((tries + 1))
        sleep 0.01
    done
    kill -9 $pid 2> /dev/null
    wait $pid 2> /dev/null
    ensure "$name: resumed to 6 epochs" "$program" --resume --out "$dir/$name-parts" --epochs 6 -q
    ensure "$name: 3 + kill -9 + resume gives the bytes of 6" same_checkpoint "$name-six" "$name-parts"
    ensure "$name: and the same log" sh -c "cut -d, -f1-9 '$dir/$name-six/log.csv' > '$dir/a'
        cut -d, -f1-9 '$dir/$name-parts/log.csv' | cmp - '$dir/a'"
}
killed plain
killed all $all

# a signal saves within the epoch
ensure "7 steps stop within epoch 2" train stopped --epochs 6 --steps 7
ensure "and go on to the same bytes" "$program" --resume --out "$dir/stopped" --steps 0 --epochs 6 -q
ensure "steps do not change the bytes" same_checkpoint plain-six stopped
# a shell ignores SIGINT in the background; the caller may ignore other signals
for s in INT TERM HUP; do
    case $s in HUP) code=129 ;; INT) code=130 ;; TERM) code=143 ;; esac
    exec="exec env --default-signal=INT,TERM,HUP" train sig$s --epochs 100000 > "$dir/out" 2>&1 &
    pid=$!
    tries=0
    while [ "$(cat "$dir/sig$s/log.csv" 2> /dev/null | wc -l)" -lt 3 ] && [ $tries -lt 1000 ]; do
        tries=$((tries + 1))
        sleep 0.01
    done
    kill -$s $pid
    wait $pid
    exited $? "$code" "SIG$s: the run"
    ensure "SIG$s: a checkpoint is there" "$program" info "$dir/sig$s/checkpoint.safetensors"
done

# kill -9 at 12 random times of one run, or of several if one ends earlier. The time is given in steps or in seconds, so
# that starts are hit, too.
ensure "60 epochs in one go" train long --epochs 60
steps() { cat "$dir/killed/long/log.csv" 2> /dev/null | wc -l; }
kills=0 tries=0
while [ $kills -lt 12 ] && [ $tries -lt 100 ]; do
    tries=$((tries + 1))
    if [ -e "$dir/killed/long/config.ini" ]; then
        "$program" --resume --out "$dir/killed/long" -q > "$dir/out" 2>&1 &
    else
        exec="exec" train killed/long --epochs 60 > "$dir/out" 2>&1 &
    fi
    pid=$!
    number=$(awk -v n=$tries -v s="$(date +%N)" 'BEGIN { srand(s + n); print int(40 * rand()) }')
    if [ $((tries % 3)) -eq 0 ]; then
        sleep "0.$(printf %02d "$number")"
    else
        until=$(($(steps) + number))
        while [ "$(steps)" -lt $until ] && kill -0 $pid 2> /dev/null; do sleep 0.002; done
    fi
    kill -9 $pid 2> /dev/null
    wait $pid 2> /dev/null
    code=$?
    case $code in
    137)
        kills=$((kills + 1))
        [ ! -e "$dir/killed/long/checkpoint.safetensors" ] ||
            ensure "kill $kills: the checkpoint is whole" "$program" info "$dir/killed/long/checkpoint.safetensors"
        ;;
    0)
        ensure "after $kills kills it ended in the bytes of one run" same_checkpoint long killed/long
        rm -rf "$dir/killed"
        ;;
    *) ensure "a run to be killed: exit code $code" sh -c "cat '$dir/out'; exit 1" ;;
    esac
done
ensure "12 kills in $tries tries, not $kills" [ $kills -eq 12 ]
[ -e "$dir/killed/long/config.ini" ] || train killed/long --epochs 60
ensure "resumed after $kills kills" "$program" --resume --out "$dir/killed/long" -q
ensure "kill -9 and resume give the bytes of one run" same_checkpoint long killed/long
ensure "no temporary files are left" sh -c "! ls -A '$dir/killed/long' | grep -q tmp"
ensure "the last samples are the same" cmp "$dir/long/epoch-0060.png" "$dir/killed/long/epoch-0060.png"
finish
