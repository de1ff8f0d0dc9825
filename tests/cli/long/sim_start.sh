#!/bin/sh
# Starting to train on the simulated GPU: it is opened while the pictures are read, which is seen in no result and no
# message.
. "$(dirname "$0")/sim_kit"
exits 0 data --synthesize "$dir/cats" --count 10 --size 16 || finish

# begun WORDS ARGUMENT...: a run in the background, when it has read its pictures
begun()
{
    words=$1
    shift
    rm -rf "$dir/run" "$dir/go"
    ran="dcgan $*"
    SIM="wait=$dir/go $words" "$program" --data "$dir/cats" --model "$root/tests/tiny.cfg" --batch 4 --seed 5 \
        --no-curves --epochs 2 --out "$dir/run/run" "$@" > "$dir/.out" 2> "$dir/.err" < /dev/null &
    pid=$!
    for _ in $(seq 3000); do
        grep -q '^10 pictures from' "$dir/.err" && break
        sleep 0.01
    done
    says '10 pictures from'
    ! grep -q 'Simulated GPU' "$dir/.err" && [ ! -e "$dir/run/run/log.csv" ]
    fact $? 'the pictures should be there before the device is'
}
ended() # ended CODE: now the device opens
{
    : > "$dir/go"
    wait $pid
    code=$?
    [ $code -eq "$1" ]
    fact $? "'$ran' exited $code, not $1: $(head -n 5 "$dir/.err")"
}
begun forward
ended 0
says 'fp32 on cuda:0, Simulated GPU 0'
cp "$dir/run/run/checkpoint.safetensors" "$dir/beside"
sim forward 0 --data "$dir/cats" --model "$root/tests/tiny.cfg" --batch 4 --seed 5 --no-curves --epochs 2 -q \
    --out "$dir/again/run"
silent
same "$dir/beside" "$dir/again/run/checkpoint.safetensors"
begun forward --device auto
ended 0
says 'fp32 on cuda:0, Simulated GPU 0'

# a signal meanwhile (SIGINT is ignored in the background)
begun forward
kill -TERM $pid
ended 143
# there is no log yet where the signal came before the run was set up
[ ! -e "$dir/run/run/log.csv" ] || [ "$(wc -l < "$dir/run/run/log.csv")" -le 1 ]
fact $? 'nothing should be trained after a signal'

# what is wrong with the device comes before what is wrong with the pictures, and leaves nothing behind
mkdir "$dir/none" "$dir/some"
cp "$dir"/cats/*.png "$dir/some"
echo no picture > "$dir/some/notes.txt"
for folder in none some cats; do
    for words in devices=0 sm=70 'fail=4:999'; do
        sim "$words" 5 --data "$dir/$folder" --model "$root/tests/tiny.cfg" --batch 4 --epochs 1 --out "$dir/new/run"
        grep -q '^dcgan: ' "$dir/.err" && ! grep -q '^dcgan: .*pictur' "$dir/.err"
        fact $? "only the device should be blamed: $(cat "$dir/.err")"
        lacks "$dir/new"
    done
done
sim forward 3 --data "$dir/none" --model "$root/tests/tiny.cfg" --batch 4 --epochs 1 --out "$dir/new/run"
says "$dir/none: "
lacks "$dir/new"
sim forward 3 --data "$dir/cats" --model "$root/tests/tiny.cfg" --batch 64 --epochs 1 --out "$dir/new/run"
says 'only 10 usable pictures'

# no GPU that can be used, --device auto: the CPU, and a warning where there is a reason
sim devices=0 0 --data "$dir/cats" --model "$root/tests/tiny.cfg" --batch 4 --epochs 1 --device auto \
    --out "$dir/cpu/run"
says 'fp32 on cpu'
sim sm=70 0 --data "$dir/cats" --model "$root/tests/tiny.cfg" --batch 4 --epochs 1 --device auto --out "$dir/cpu2/run"
says 'going on with the CPU'
says 'fp32 on cpu'
finish
