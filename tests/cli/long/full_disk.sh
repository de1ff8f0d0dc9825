#!/bin/sh
# A disk that is full from the third epoch to the eighth of twelve: every checkpoint holds the epoch of its name, the
# end of a run names the last saved epoch, and resuming ends in the bytes of an undisturbed run.
if [ -z "${IN_NAMESPACE:-}" ]; then
    if unshare -m mount -t tmpfs -o size=64k none /mnt 2> /dev/null; then exec env IN_NAMESPACE=1 unshare -m sh "$0"; fi
    echo 'SKIP: may not mount a tmpfs here'
    exit 77
fi
. "$(dirname "$0")/../kit"
disk=$dir/disk
mkdir "$disk"
mount -t tmpfs -o size=20m none "$disk" || exit 1
trap 'umount "$disk"; rm -rf "$dir"' EXIT

fill() { cat /dev/zero > "$disk/filler" 2> /dev/null; }
epoch_in() { "$program" info "$1" --json | sed -n 's/.*"epoch":[^0-9]*\([0-9]*\).*/\1/p' | head -n 1; }

# Every checkpoint with an epoch in its name holds this epoch.
names_are_true()
{
    for f in "$1"/checkpoint-*.safetensors; do
        [ -e "$f" ] || continue
        name=$(basename "$f" .safetensors)
        [ "$(epoch_in "$f")" -eq "$(echo "${name#checkpoint-}" | sed 's/^0*//')" ]
        fact $? "$2: $(basename "$f") holds epoch $(epoch_in "$f")"
    done
}

# Wait until the background run ends this epoch, or ends.
reached()
{
    until grep -q "^epoch $1/" "$dir/progress" 2> /dev/null || ! kill -0 "$pid" 2> /dev/null; do sleep 0.01; done
}

exits 0 data --synthesize "$dir/images" --count 400 --size 16 -q
set -- --data "$dir/images" --model tests/tiny.cfg --batch 4 --checkpoint-every 1 --keep 5 --no-curves
exits 0 "$@" --epochs 12 --out "$dir/undisturbed/run" -q

# One process: full after the third epoch, space again after the eighth.
"$program" "$@" --epochs 12 --out "$disk/run" > "$dir/end" 2> "$dir/progress" &
pid=$!
reached 3
kill -STOP $pid 2> /dev/null
fill
kill -CONT $pid 2> /dev/null
reached 8 # or its end, on a fast machine
kill -STOP $pid 2> /dev/null
rm -f "$disk/filler"
kill -CONT $pid 2> /dev/null
wait $pid
fact $(($? != 4)) "a run on a disk that was full should exit 4; it said: $(tail -n 2 "$dir/progress")"
names_are_true "$disk/run" 'one process'

# Full to the end, killed and restarted in between: only the last saved epoch is named.
rm -rf "$disk/run"
exits 0 "$@" --epochs 3 --out "$disk/run" -q
rm "$dir/progress" # the background shell may empty it later
"$program" --resume --out "$disk/run" --epochs 11 > "$dir/end" 2> "$dir/progress" &
pid=$!
reached 4
kill -STOP $pid 2> /dev/null # or it may end before the disk is full
fill
kill -CONT $pid 2> /dev/null
wait $pid
fact $(($? != 4)) "a run that ends on a full disk should exit 4; it said: $(tail -n 2 "$dir/progress")"
safe=$(epoch_in "$disk/run/checkpoint.safetensors")
grep -q "^saved: .*(epoch $safe).*/checkpoint.safetensors" "$dir/end"
fact $? "the end should name epoch $safe as safe; it said: $(cat "$dir/end" "$dir/progress" | tail -n 4)"
! grep -q 'epoch-0011\|more:\|images:' "$dir/end"
fact $? "the end points to what is not there: $(cat "$dir/end")"
names_are_true "$disk/run" 'full to the end'
refuses 4 'disk-space config.ini' --resume --out "$disk/run" --epochs 12 -q
names_are_true "$disk/run" 'begun on a full disk'
rm "$disk/filler"
"$program" --resume --out "$disk/run" --epochs 12 -q > /dev/null 2>&1 &
pid=$!
sleep 0.3
kill -9 $pid 2> /dev/null
wait $pid
names_are_true "$disk/run" 'killed'
exits 0 --resume --out "$disk/run" --epochs 12 -q
same "$disk/run/checkpoint.safetensors" "$dir/undisturbed/run/checkpoint.safetensors"
same "$disk/run/checkpoint-0011.safetensors" "$dir/undisturbed/run/checkpoint-0011.safetensors"
same "$disk/run/epoch-0012.png" "$dir/undisturbed/run/epoch-0012.png"

# A start that cannot write config.ini is an error and leaves no files.
rm -rf "$disk/run"
fill
refuses 4 'disk-space config.ini' "$@" --epochs 2 --out "$disk/run" -q
lacks "$disk/run"
finish
