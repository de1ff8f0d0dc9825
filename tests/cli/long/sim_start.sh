#!/bin/sh
# Start of training on the simulated GPU: it is opened while the images are decoded, without effect on results and
# messages.
. "$(dirname "$0")/sim_kit"
exits 0 data --synthesize "$dir/cats" --count 10 --size 16 || finish

# begun WORDS ARGUMENT...: a background run that has decoded its images
begun()
{
    words=$1
    shift
    rm -rf "$dir/run" "$dir/go" "$dir/.err" # the background shell may empty an old .err too late
    ran="dcgan $*"
    SIM="wait=$dir/go $words" "$program" --data "$dir/cats" --model "$root/tests/tiny.cfg" --batch 4 --seed 5 \
        --no-curves --epochs 2 --out "$dir/run/run" "$@" > "$dir/.out" 2> "$dir/.err" < /dev/null &
    pid=$!
    for _ in $(seq 3000); do
        grep -q '^\[note-images\] 10 ' "$dir/.err" && break
        sleep 0.01
    done
    says note-images 10
    ! grep -q 'Simulated GPU' "$dir/.err" && [ ! -e "$dir/run/run/log.csv" ]
    fact $? 'the images should be there before the device is'
}
ended() # ended CODE: now the device opens
{
    : > "$dir/go"
    wait $pid
    exited $? "$1" "$ran"
}
begun forward
ended 0
says note-device fp32 'cuda:0, Simulated GPU 0'
cp "$dir/run/run/checkpoint.safetensors" "$dir/other"
sim forward 0 --data "$dir/cats" --model "$root/tests/tiny.cfg" --batch 4 --seed 5 --no-curves --epochs 2 -q \
    --out "$dir/again/run"
silent
same "$dir/other" "$dir/again/run/checkpoint.safetensors"
begun forward --device auto
ended 0
says note-device fp32 'cuda:0, Simulated GPU 0'

# a signal in between (SIGINT is ignored in the background)
begun forward
kill -TERM $pid
ended 143
# there may be no log yet
[ ! -e "$dir/run/run/log.csv" ] || [ "$(wc -l < "$dir/run/run/log.csv")" -le 1 ]
fact $? 'nothing should be trained after a signal'

# an error of the device comes before errors of the images, and leaves no files
mkdir "$dir/none" "$dir/some"
cp "$dir"/cats/*.png "$dir/some"
echo text > "$dir/some/notes.txt"
for folder in none some cats; do
    for words in devices=0 sm=70 'fail=4:999'; do
        sim "$words" 5 --data "$dir/$folder" --model "$root/tests/tiny.cfg" --batch 4 --epochs 1 --out "$dir/new/run"
        grep -q '^dcgan: ' "$dir/.err" && ! grep -q '^dcgan: \[[a-z-]*\(images\|folder\)' "$dir/.err"
        fact $? "the message should be about the device: $(cat "$dir/.err")"
        lacks "$dir/new"
    done
done
sim forward 3 --data "$dir/none" --model "$root/tests/tiny.cfg" --batch 4 --epochs 1 --out "$dir/new/run"
stderr_has "$dir/none: "
lacks "$dir/new"
sim forward 3 --data "$dir/cats" --model "$root/tests/tiny.cfg" --batch 64 --epochs 1 --out "$dir/new/run"
says few-images 10

# --device auto without a usable GPU: the CPU, and a warning if there is a GPU
sim devices=0 0 --data "$dir/cats" --model "$root/tests/tiny.cfg" --batch 4 --epochs 1 --device auto \
    --out "$dir/cpu/run"
says note-device fp32 cpu
sim sm=70 0 --data "$dir/cats" --model "$root/tests/tiny.cfg" --batch 4 --epochs 1 --device auto --out "$dir/cpu2/run"
says going-on-with-cpu
says note-device fp32 cpu
finish
