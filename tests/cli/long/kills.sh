#!/bin/sh
# Kills at every phase of a run, of a GAN and of a classifier with dropout: at the k-th call that changes a file, in a
# start, in what goes on from it, and while a run goes back to an older checkpoint. However often it is killed it ends
# in the weights, the log and the files of a run that was left alone, and none of it is a dead end. KILLS: how many
# (80), three in eight of them of the classifier; SEED: where they fall.
. "$(dirname "$0")/../kit"
preload=${PRELOADS-build/tests/preload}/kill_at.so
case $preload in /*) ;; *) preload=$PWD/$preload ;; esac
[ -e "$preload" ] || { skip "no $preload: sanitizers do not load it"; finish; }
all=${KILLS:-80} seed=${SEED:-1}

# A new number in [1, $1] as $number, from the one before.
random()
{
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    number=$((seed / 65536 % $1 + 1))
}

# What a run left that does not depend on time. Curves show no seconds.
left()
{
    (cd "$1" && ls -A && sed 's/,[^,]*,[^,]*$//' log.csv && sed 's/,"img_s.*//' log.jsonl &&
        cat confusion.csv 2> /dev/null; sha256sum ./*.png ./*.safetensors)
}

# killed K ARGUMENT...: the program, killed at its K-th call; 0: it ended before. What else it answers is a dead end.
killed()
{
    k=$1
    shift
    DG_KILL_AT=$k LD_PRELOAD=$preload "$program" "$@" -q > "$dir/.out" 2> "$dir/.err" < /dev/null
    code=$?
    case $code in
        0) return 0 ;;
        137) done=$((done + 1)); return 1 ;;
    esac
    fact 1 "after $done kills 'dcgan $*' exited $code: $(cat "$dir/.err")"
    finish
}

# A start, or a resume where one can be resumed.
step()
{
    at=$1
    shift
    if [ -e "$run/config.ini" ]; then
        killed "$at" --resume --out "$run"
    else
        killed "$at" "$@" --out "$run"
    fi
}

compare()
{
    cmp "$dir/expected" "$dir/got" > /dev/null
    fact $? "$1: $(diff "$dir/expected" "$dir/got" | head -n 5)" || finish
}

# kill_runs KILLS LATER ARGUMENT...: of a run of nine epochs, which goes back to the seventh and then has the files
# LATER in the other directory.
kill_runs()
{
    kills=$1 files=$2 done=0
    shift 2
    rm -rf "$dir/run" "$dir/whole"
    set -- "$@" --batch 4 --epochs 9 --checkpoint-every 1 --sample-every 2 --keep 3
    DG_KILL_COUNT=$dir/count LD_PRELOAD=$preload "$program" "$@" --out "$dir/run" -q
    fact $? 'the run that is left alone ends' || finish
    calls=$(cat "$dir/count")
    mkdir "$dir/whole"
    mv "$dir/run" "$dir/whole/run" # its pictures bear the name of its directory
    left "$dir/whole/run" > "$dir/expected"

    # The first kill moves through the whole run; those of what goes on fall anywhere, every other time right at its
    # beginning.
    run=$dir/run round=0
    while [ $done -lt $((kills * 3 / 4)) ]; do
        rm -rf "$run"
        random 4
        first=$(((round * 37 + number) % calls + 1))
        round=$((round + 1))
        step $first "$@" || for i in 1 2; do
            random $((i == 1 ? 70 : calls))
            step $number "$@" && break
        done
        until step 0 "$@"; do :; done
        left "$run" > "$dir/got"
        compare "run $round, killed at call $first of $calls"
    done

    # Back to an older checkpoint: what came later is moved, whole, or still where it was.
    k=0
    while [ $done -lt "$kills" ]; do
        rm -rf "$run"
        cp -a "$dir/whole/run" "$run"
        random 3
        k=$(((k + number) % 60))
        killed $((k + 1)) --resume "$run/checkpoint-0007.safetensors" || step 0
        later=$run/later-than-0007
        if [ -e "$later" ]; then
            for f in config.ini curves.png log.csv log.jsonl checkpoint-0008.safetensors checkpoint.safetensors \
                $files; do
                cmp -s "$later/$f" "$dir/whole/run/$f" ||
                    fact 1 "killed at call $k: $f is not in $later, or is another" || finish
            done
            rm -rf "$later"
        fi
        left "$run" > "$dir/got"
        compare "back to epoch 7, killed at call $k"
    done
    fact 0 "$done kills"
    echo "$done kills in $round runs and while going back"
}

"$program" data --synthesize "$dir/pictures" --count 42 --size 16 -q
kill_runs $((all * 5 / 8)) 'epoch-0008.png epoch-0009.png' --data "$dir/pictures" --model tests/tiny.cfg
"$program" data --synthesize "$dir/shapes" --classes 4 --count 48 --size 20 -q
kill_runs $((all * 3 / 8)) 'confusion.csv confusion.png worst.png best.safetensors' --data "$dir/shapes" --test 0.2 \
    --model tests/oracles/adagrad-dropout.cfg --seed 1
finish
