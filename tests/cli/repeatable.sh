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

train() # train OUT OPTION...; in the background as `exec=exec train ... &`, so that $! is dcgan and not a shell
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

# 6 epochs in one go; 3, then kill -9 within the next ones, then resumed
check "6 epochs in one go" train six --epochs 6
check "3 epochs" train parts --epochs 3
"$dcgan" --resume --out "$dir/parts" --epochs 6 -q > /dev/null 2>&1 &
pid=$!
tries=0
while kill -0 $pid 2> /dev/null && [ "$(wc -l < "$dir/parts/log.csv")" -lt 21 ] && [ $tries -lt 1000 ]; do
    tries=$((tries + 1))
    sleep 0.01
done
kill -9 $pid 2> /dev/null
wait $pid 2> /dev/null
check "resumed to 6 epochs" "$dcgan" --resume --out "$dir/parts" --epochs 6 -q
check "3 + kill -9 + resume gives the bytes of 6" same six parts
check "and the same log" sh -c "cut -d, -f1-9 '$dir/six/log.csv' > '$dir/a'; cut -d, -f1-9 '$dir/parts/log.csv' | cmp - '$dir/a'"

# a signal saves within the epoch and says how to go on
check "7 steps stop within epoch 2" train stopped --epochs 6 --steps 7
check "and go on to the same bytes" "$dcgan" --resume --out "$dir/stopped" --steps 0 --epochs 6 -q
check "steps do not change the bytes" same six stopped
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
    check "SIG$s: exit code $code, not $got" [ $got -eq $code ]
    check "SIG$s: a checkpoint is there" "$dcgan" info "$dir/sig$s/checkpoint.safetensors"
done

# kill -9 at 20 random moments of one run
check "60 epochs in one go" train long --epochs 60
kills=0
out=--data
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    if [ "$out" = --data ] && [ ! -e "$dir/killed/config.ini" ]; then
        exec=exec train killed --epochs 60 > /dev/null 2>&1 &
    else
        "$dcgan" --resume --out "$dir/killed" -q > "$dir/out" 2>&1 &
    fi
    pid=$!
    sleep "0.$(awk -v n=$n -v s="$(date +%N)" 'BEGIN { srand(s + n); printf "%02d", 4 + int(30 * rand()) }')"
    if kill -9 $pid 2> /dev/null; then kills=$((kills + 1)); fi
    wait $pid 2> /dev/null
    if [ -e "$dir/killed/checkpoint.safetensors" ]; then
        check "kill $n: the checkpoint is whole" "$dcgan" info "$dir/killed/checkpoint.safetensors"
    fi
done
check "resumed after $kills kills" "$dcgan" --resume --out "$dir/killed" -q
check "at least 10 of 20 kills hit" [ $kills -ge 10 ]
check "$kills times kill -9 and resume give the bytes of one run" same long killed
check "no temporary files are left" sh -c "! ls -A '$dir/killed' | grep -q tmp"

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
