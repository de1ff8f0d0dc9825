#!/bin/sh
# The same seed gives the same checkpoint bytes (weights and Adam) for any number of threads, and however often a run
# is killed and resumed. Prints "N passed, N failed".
set -u
dcgan=${DCGAN:-$PWD/dcgan}
export DCGAN_DEVICE="${DCGAN_DEVICE:-cpu}"
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT INT TERM
passed=0 failed=0
check() # check WHAT COMMAND...: one fact
{
    what=$1
    shift
    if "$@" > "$dir/said" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what"
        sed 's/^/    /' "$dir/said"
    fi
}

cat > "$dir/tiny.cfg" << 'E2'
[model]
name = tiny
size = 16
channels = 3
latent = 8
[G.1]
op = conv_transpose
filters = 12
kernel = 4
stride = 1
pad = 0
norm = batch
act = relu
[G.2]
op = conv_transpose
filters = 6
kernel = 4
stride = 2
pad = 1
norm = batch
act = relu
[G.3]
op = conv_transpose
filters = 3
kernel = 4
stride = 2
pad = 1
norm = none
act = tanh
[D.1]
op = conv
filters = 5
kernel = 4
stride = 2
pad = 1
norm = none
act = leaky
[D.2]
op = conv
filters = 10
kernel = 4
stride = 2
pad = 1
norm = batch
act = leaky
[D.3]
op = conv
filters = 1
kernel = 4
stride = 1
pad = 0
norm = none
act = none
E2
"$dcgan" data --synthesize "$dir/cats" --count 45 --size 16 > "$dir/said" 2>&1 || { cat "$dir/said"; exit 1; }

train() # train OUT OPTION...; in the background as `exec="exec" train ... &`, so that $! is dcgan and not a shell
{
    out=$1
    shift
    ${exec:-} "$dcgan" --data "$dir/cats" --model "$dir/tiny.cfg" --batch 8 --seed 5 --flip -q --out "$dir/$out" "$@"
}
same() { cmp "$dir/$1/checkpoint.safetensors" "$dir/$2/checkpoint.safetensors"; }

# threads and precision
for p in fp32 fp64; do
    for t in 1 2 3 7; do
        check "$p, $t threads trains" train "$p-$t" --epochs 3 --threads "$t" --precision "$p"
        [ "$t" = 1 ] || check "$p: $t threads give the bytes of one" same "$p-1" "$p-$t"
    done
done
check "the seed matters" sh -c "! cmp -s '$dir/fp32-1/checkpoint.safetensors' '$dir/fp64-1/checkpoint.safetensors'"

# a loss, an average of G's weights, augmentation, flips
all='--loss ralsgan --augment color,translation,cutout --ema 0.995 --flip'
for p in fp32 fp64; do
    for t in 1 2 3 7; do
        # shellcheck disable=SC2086 # the options of $all
        check "all, $p, $t threads trains" train "all-$p-$t" --epochs 3 --threads "$t" --precision "$p" $all
        [ "$t" = 1 ] || check "all, $p: $t threads give the bytes of one" same "all-$p-1" "all-$p-$t"
    done
done

# 6 epochs in one go; 3, then kill -9 within the next ones, then resumed
killed() # killed NAME OPTION...
{
    name=$1
    shift
    check "$name: 6 epochs in one go" train "$name-six" --epochs 6 "$@"
    check "$name: 3 epochs" train "$name-parts" --epochs 3 "$@"
    "$dcgan" --resume --out "$dir/$name-parts" --epochs 6 -q > /dev/null 2>&1 &
    pid=$!
    tries=0
    while kill -0 $pid 2> /dev/null && [ "$(wc -l < "$dir/$name-parts/log.csv")" -lt 21 ] && [ $tries -lt 1000 ]; do
        tries=$((tries + 1))
        sleep 0.01
    done
    kill -9 $pid 2> /dev/null
    wait $pid 2> /dev/null
    check "$name: resumed to 6 epochs" "$dcgan" --resume --out "$dir/$name-parts" --epochs 6 -q
    check "$name: 3 + kill -9 + resume gives the bytes of 6" same "$name-six" "$name-parts"
    check "$name: and the same log" sh -c "cut -d, -f1-9 '$dir/$name-six/log.csv' > '$dir/a'
        cut -d, -f1-9 '$dir/$name-parts/log.csv' | cmp - '$dir/a'"
}
killed plain
# shellcheck disable=SC2086 # the options of $all
killed all $all

# a signal saves within the epoch and says how to go on
check "7 steps stop within epoch 2" train stopped --epochs 6 --steps 7
check "and go on to the same bytes" "$dcgan" --resume --out "$dir/stopped" --steps 0 --epochs 6 -q
check "steps do not change the bytes" same plain-six stopped
# a shell has SIGINT ignored in the background; what starts tests may have others ignored
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
    got=$?
    check "SIG$s: exit code $code, not $got" [ "$got" -eq "$code" ]
    check "SIG$s: a checkpoint is there" "$dcgan" info "$dir/sig$s/checkpoint.safetensors"
done

# kill -9 at 12 random moments, of one run or, where it comes to its end between them, of several. A moment is some
# steps away, or some time: then it may be in the start.
check "60 epochs in one go" train long --epochs 60
steps() { cat "$dir/killed/long/log.csv" 2> /dev/null | wc -l; }
kills=0 tries=0
while [ $kills -lt 12 ] && [ $tries -lt 100 ]; do
    tries=$((tries + 1))
    if [ -e "$dir/killed/long/config.ini" ]; then
        "$dcgan" --resume --out "$dir/killed/long" -q > "$dir/out" 2>&1 &
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
            check "kill $kills: the checkpoint is whole" "$dcgan" info "$dir/killed/long/checkpoint.safetensors"
        ;;
    0)
        check "after $kills kills it ended in the bytes of one run" same long killed/long
        rm -rf "$dir/killed"
        ;;
    *) check "a run to be killed: exit code $code" sh -c "cat '$dir/out'; exit 1" ;;
    esac
done
check "12 kills in $tries tries, not $kills" [ $kills -eq 12 ]
[ -e "$dir/killed/long/config.ini" ] || train killed/long --epochs 60
check "resumed after $kills kills" "$dcgan" --resume --out "$dir/killed/long" -q
check "kill -9 and resume give the bytes of one run" same long killed/long
check "no temporary files are left" sh -c "! ls -A '$dir/killed/long' | grep -q tmp"
check "the last pictures are the same" cmp "$dir/long/epoch-0060.png" "$dir/killed/long/epoch-0060.png"

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
