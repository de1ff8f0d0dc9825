#!/bin/sh
# The directory of a run is moved, removed or replaced while it trains: it exits 4, prints where its files are, and
# writes nothing into the new directory of that name. And starts that were interrupted or cannot write.
. "$(dirname "$0")/../kit"
exits 0 data --synthesize "$dir/images" --count 200 --size 16 -q
set -- --data "$dir/images" --model tests/tiny.cfg --batch 4 --checkpoint-every 1

# Start an endless run in $dir/NAME and wait until it has a checkpoint, or the file $awaited.
awaited=checkpoint.safetensors
begin()
{
    name=$1
    shift
    "$program" "$@" --epochs 1000000 --out "$dir/$name" > "$dir/.out" 2> "$dir/.err" &
    pid=$! ran="a run in $name"
    until [ -e "$dir/$name/$awaited" ] || ! kill -0 $pid 2> /dev/null; do sleep 0.02; done
    kill -STOP $pid
}
ended() # ended CODE
{
    kill -CONT $pid
    wait $pid
    exited $? "$1" "$ran"
}

# A second run in the directory NAME of the stopped one, which then ends and does not change it.
spares_a_second()
{
    name=$1
    shift
    exits 0 "$@" --seed 9 --epochs 2 --out "$dir/$name" -q
    left=$(cd "$dir/$name" && sha256sum ./*)
    ran="a run in $name"
    ended 4
    ensure "a second run in $name was touched by the first" [ "$left" = "$(cd "$dir/$name" && sha256sum ./*)" ]
}

begin moved "$@"
mv "$dir/moved" "$dir/there"
ended 4
says run-moved "$dir/there"
lacks "$dir/moved"
exits 0 --resume --out "$dir/there" --steps 1 -q

begin linked "$@"
mv "$dir/linked" "$dir/real"
mkdir "$dir/victim"
ln -s "$dir/victim" "$dir/linked"
ended 4
says run-moved "$dir/real"
ensure "the target of a link got $(ls -A "$dir/victim")" [ -z "$(ls -A "$dir/victim")" ]

begin removed "$@"
rm -rf "$dir/removed"
spares_a_second removed "$@"
says run-removed

# A run that writes no checkpoints notices it when it is stopped, a classifier after a test.
awaited=log.csv
begin unsaved "$@" --checkpoint-every 0 --sample-every 0
kill -CONT $pid
while [ "$(wc -l < "$dir/unsaved/log.csv")" -lt 2 ] && kill -0 $pid; do sleep 0.02; done
rm -rf "$dir/unsaved"
kill -TERM $pid
ended 4
says run-removed
exits 0 data --synthesize "$dir/shapes" --classes 3 --count 40 --size 16 -q
awaited=worst.png
begin tested --data "$dir/shapes" --model tests/eyes16.cfg --batch 4 --test 0.5 --checkpoint-every 0 \
    --sample-every 1
rm -rf "$dir/tested"
ended 4
says run-removed
lacks "$dir/tested"
awaited=checkpoint.safetensors

# As after rm -rf on NFS, where open files keep a name: without its lock the directory may belong to another run.
begin emptied "$@"
rm -f "$dir/emptied"/*
spares_a_second emptied "$@"
says run-lock-removed

# Without config.ini: as the message explains.
rm "$dir/emptied/config.ini"
exits 2 "$@" --epochs 2 --out "$dir/emptied" -q
refuses 2 config-gone --resume --out "$dir/emptied" -q
{
    printf '[run]\ndata = %s\n' "$dir/images"
    "$program" info "$dir/emptied/checkpoint.safetensors" | sed -n '/^config:/,$s/^    //p'
} > "$dir/emptied/config.ini"
exits 0 --resume --out "$dir/emptied" --epochs 3 -q
exits 0 "$@" --seed 9 --epochs 3 --out "$dir/three" -q
same "$dir/emptied/checkpoint.safetensors" "$dir/three/checkpoint.safetensors"

# An interrupted start can be repeated or resumed; a failed one leaves no files.
mkdir "$dir/cut"
printf 'epoch,step' > "$dir/cut/.log.csv.1-1.dcgan-tmp"
: > "$dir/cut/log.jsonl"
exits 0 "$@" --epochs 1 --out "$dir/cut" -q
lacks "$dir/cut/.log.csv.1-1.dcgan-tmp"
exits 3 --data "$dir/cut" --model tests/tiny.cfg --batch 4096 --out "$dir/failed" -q
ensure 'a start that failed left config.ini' [ ! -e "$dir/failed/config.ini" ]
mkdir "$dir/only"
cp "$dir/cut/config.ini" "$dir/only/"
refuses 2 'run-exists --resume --out' "$@" --epochs 1 --out "$dir/only" -q
exits 0 --resume --out "$dir/only" --epochs 1 -q
same "$dir/only/checkpoint.safetensors" "$dir/cut/checkpoint.safetensors"
mkdir "$dir/results"
cp "$dir/cut/log.csv" "$dir/results/"
refuses 2 run-incomplete "$@" --epochs 1 --out "$dir/results" -q
mkdir -p "$dir/blocked/config.ini"
exits 2 "$@" --epochs 1 --out "$dir/blocked" -q

# With older checkpoints only, a run does not start again.
exits 0 --resume --out "$dir/cut" --epochs 3 -q
mv "$dir/cut/checkpoint.safetensors" "$dir/safe"
refuses 4 'only-older-checkpoints checkpoint-0002.safetensors' --resume --out "$dir/cut" -q
exits 0 --resume "$dir/cut/checkpoint-0002.safetensors" -q
same "$dir/cut/checkpoint.safetensors" "$dir/safe"

# Rewound: the later state can be resumed, too.
notes "note-later-moved $dir/cut/later-than-0002" --resume "$dir/cut/checkpoint-0002.safetensors" --epochs 2
holds "$dir/cut/later-than-0002/epoch-0003.png"
lacks "$dir/cut/epoch-0003.png"
exits 0 --resume --out "$dir/cut/later-than-0002" --epochs 4 -q
exits 0 --resume --out "$dir/cut" --epochs 4 -q
same "$dir/cut/checkpoint.safetensors" "$dir/cut/later-than-0002/checkpoint.safetensors"
finish
