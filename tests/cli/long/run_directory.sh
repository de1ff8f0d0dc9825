#!/bin/sh
# The directory of a run is moved, removed, or replaced while it trains: it ends with exit code 4, says where its files
# are, and nothing of it gets into what bears the name then. And starts that were cut off or cannot write.
. "$(dirname "$0")/../kit"
exits 0 data --synthesize "$dir/pictures" --count 200 --size 16 -q
set -- --data "$dir/pictures" --model tests/tiny.cfg --batch 4 --checkpoint-every 1

# Begin a run without end in $dir/NAME and wait until it has a checkpoint.
begin()
{
    name=$1
    shift
    "$program" "$@" --epochs 1000000 --out "$dir/$name" > "$dir/.out" 2> "$dir/.err" &
    pid=$! ran="a run in $name"
    until [ -e "$dir/$name/checkpoint.safetensors" ] || ! kill -0 $pid 2> /dev/null; do sleep 0.02; done
    kill -STOP $pid
}
ended() # ended CODE
{
    kill -CONT $pid
    wait $pid
    code=$?
    [ "$code" -eq "$1" ]
    fact $? "$ran should end with $1, not $code: $(tail -n 2 "$dir/.err")"
}

# A second run, with other pictures to show, in the directory NAME of the one that waits, which then ends and leaves it
# as it is.
spares_a_second()
{
    name=$1
    shift
    exits 0 "$@" --seed 9 --epochs 2 --out "$dir/$name" -q
    left=$(cd "$dir/$name" && sha256sum ./*)
    ran="a run in $name"
    ended 4
    [ "$left" = "$(cd "$dir/$name" && sha256sum ./*)" ]
    fact $? "a second run in $name was touched by the first"
}

begin moved "$@"
mv "$dir/moved" "$dir/there"
ended 4
says "moved to $dir/there"
lacks "$dir/moved"
exits 0 --resume --out "$dir/there" --steps 1 -q

begin linked "$@"
mv "$dir/linked" "$dir/real"
mkdir "$dir/victim"
ln -s "$dir/victim" "$dir/linked"
ended 4
says "moved to $dir/real"
[ -z "$(ls -A "$dir/victim")" ]
fact $? "the target of a link got $(ls -A "$dir/victim")"

begin removed "$@"
rm -rf "$dir/removed"
spares_a_second removed "$@"
says 'was removed while the run wrote to it'

# As rm -rf leaves it over NFS, where files that are open keep a name: without its lock the directory may be another
# run's.
begin emptied "$@"
rm -f "$dir/emptied"/*
spares_a_second emptied "$@"
says 'run.lock was removed'

# Without config.ini the way on is the one that the message names.
rm "$dir/emptied/config.ini"
exits 2 "$@" --epochs 2 --out "$dir/emptied" -q
exits 2 --resume --out "$dir/emptied" -q
says 'its config.ini is gone'
{
    printf '[run]\ndata = %s\n' "$dir/pictures"
    "$program" info "$dir/emptied/checkpoint.safetensors" | sed -n '/^config:/,$s/^    //p'
} > "$dir/emptied/config.ini"
exits 0 --resume --out "$dir/emptied" --epochs 3 -q
exits 0 "$@" --seed 9 --epochs 3 --out "$dir/three" -q
same "$dir/emptied/checkpoint.safetensors" "$dir/three/checkpoint.safetensors"

# A start that is cut off can be begun again or gone on with, and one that fails leaves nothing.
mkdir "$dir/cut"
printf 'epoch,step' > "$dir/cut/.log.csv.1-1.dcgan-tmp"
: > "$dir/cut/log.jsonl"
exits 0 "$@" --epochs 1 --out "$dir/cut" -q
lacks "$dir/cut/.log.csv.1-1.dcgan-tmp"
exits 3 --data "$dir/cut" --model tests/tiny.cfg --batch 4096 --out "$dir/failed" -q
[ ! -e "$dir/failed/config.ini" ]
fact $? 'a start that failed left config.ini'
mkdir "$dir/only"
cp "$dir/cut/config.ini" "$dir/only/"
exits 2 "$@" --epochs 1 --out "$dir/only" -q
says '--resume --out'
exits 0 --resume --out "$dir/only" --epochs 1 -q
same "$dir/only/checkpoint.safetensors" "$dir/cut/checkpoint.safetensors"
mkdir "$dir/results"
cp "$dir/cut/log.csv" "$dir/results/"
exits 2 "$@" --epochs 1 --out "$dir/results" -q
says 'neither its config.ini nor a checkpoint'
mkdir -p "$dir/blocked/config.ini"
exits 2 "$@" --epochs 1 --out "$dir/blocked" -q

# Without its newest checkpoint, but with older ones, a run does not begin anew.
exits 0 --resume --out "$dir/cut" --epochs 3 -q
mv "$dir/cut/checkpoint.safetensors" "$dir/safe"
exits 4 --resume --out "$dir/cut" -q
says 'checkpoint-0002.safetensors'
exits 0 --resume "$dir/cut/checkpoint-0002.safetensors" -q
same "$dir/cut/checkpoint.safetensors" "$dir/safe"

# Back to an older one: what was later can be resumed, too.
exits 0 --resume "$dir/cut/checkpoint-0002.safetensors" --epochs 2
says "moved to $dir/cut/later-than-0002"
holds "$dir/cut/later-than-0002/epoch-0003.png"
lacks "$dir/cut/epoch-0003.png"
exits 0 --resume --out "$dir/cut/later-than-0002" --epochs 4 -q
exits 0 --resume --out "$dir/cut" --epochs 4 -q
same "$dir/cut/checkpoint.safetensors" "$dir/cut/later-than-0002/checkpoint.safetensors"
finish
