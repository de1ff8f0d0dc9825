#!/bin/sh
# Training on the simulated GPU: the same bytes for every order of threads and streams, with and without the graph, with
# all images on the device and with windows, uninterrupted and resumed; runs move between the CPU and the device.
. "$(dirname "$0")/sim_kit"
exits 0 data --synthesize "$dir/cats" --count 22 --size 16 || finish

trains forward 0 one --epochs 2
silent
ensure 'two epochs of 22 images with batch size 4 should give 12 rows' [ "$(wc -l < "$dir/one/run/log.csv")" -eq 13 ]

# orders, streams, the graph
trains 'reverse deferred' 0 reverse --epochs 2
same_run one reverse
trains 'random seed=4 lazy uneven threads=3' 0 eager --epochs 2 --no-graph
same_run one eager

# with gradient penalties, another loss, EMA, augmentation and flips, and stopped within an epoch
all='--loss ralsgan --augment color,translation,cutout --ema 0.995 --flip' network=$root/tests/penalty.cfg
# shellcheck disable=SC2086 # the options of $all
{
    trains 'random seed=3 lazy uneven' 0 all --epochs 2 $all --no-graph
    trains uneven 0 all-stopped --epochs 2 $all --steps 8
}
goes_on random 0 all-stopped --epochs 2 --steps 0
same_run all all-stopped
awk -F, 'NR > 1 && !($10 > 0 && $11 > 0) { bad = 1 } END { exit bad || NR < 13 }' "$dir/all/run/log.csv"
fact $? "r1 and r2 should be above 0: $(head -n 2 "$dir/all/run/log.csv")"
network=

# with values that change in every step, stopped within an epoch
cosine='--schedule cosine --lr-end 1e-5 --beta2-end 0.9 --ema-half-life 12 --augment cutout --augment-p 0.5'
# shellcheck disable=SC2086 # the options of $cosine
{
    trains 'random lazy uneven deferred' 0 cosine --epochs 3 $cosine --schedule-length 53
    trains 'reverse deferred' 0 cosine-eager --epochs 3 $cosine --no-graph
    trains uneven 0 cosine-stopped --epochs 3 $cosine --steps 8 --schedule-length 53
    trains forward 0 constant --epochs 3 --ema-half-life 12 --augment cutout --augment-p 0.5
}
goes_on random 0 cosine-stopped --epochs 3 --steps 0
same_run cosine cosine-stopped
same_run cosine cosine-eager
differ "$dir/cosine/run/checkpoint.safetensors" "$dir/constant/run/checkpoint.safetensors" 'a schedule should matter'

# several short steps per graph: up to the end of the epoch, or to --steps
quick() # quick WORDS NAME ARGUMENT...: 28 steps
{
    words=$1 out=$2
    shift 2
    sim "$words" 0 --data "$dir/cats" --model "$root/tests/tiny.cfg" --batch 1 --limit 14 --seed 5 -q --no-curves \
        --sample-every 0 \
        --out "$dir/$out/run" --epochs 2 "$@"
}
quick 'forward calls' many
graphs=$(sed -n 's/^sim: \([0-9]*\) graphs$/\1/p' "$dir/.err")
ensure "28 steps should be 28 graphs at most, not ${graphs:-none}" [ "${graphs:-99}" -le 28 ]
[ "${graphs:-99}" -lt 28 ] || skip 'a step takes too long here for several to be given at once'
quick uneven each --no-graph
same "$dir/many/run/checkpoint.safetensors" "$dir/each/run/checkpoint.safetensors"
[ "$(sed 's/,[^,]*,[^,]*$//' "$dir/many/run/log.csv" | cksum)" = \
    "$(sed 's/,[^,]*,[^,]*$//' "$dir/each/run/log.csv" | cksum)" ]
fact $? 'the logs of both should hold the same numbers'
quick deferred part --steps 19
[ "$(tail -n 1 "$dir/part/run/log.csv" | cut -d , -f 2)" = 19 ]
fact $? "--steps 19 should end at step 19: $(tail -n 1 "$dir/part/run/log.csv")"
goes_on forward 0 part --steps 0
same "$dir/many/run/checkpoint.safetensors" "$dir/part/run/checkpoint.safetensors"
# shellcheck disable=SC2086 # the options of $cosine
{
    quick deferred cosine-many $cosine
    quick forward cosine-each $cosine --no-graph
}
same "$dir/cosine-many/run/checkpoint.safetensors" "$dir/cosine-each/run/checkpoint.safetensors"

# two windows: of one batch, and of two, which the short batch ends
trains forward 0 dry --epochs 2 --dry-run=ops
all=$(awk '$1 == "all" { print $2 }' "$dir/.out")
for n in 4 8; do
    rm -rf "$dir/windows"
    sim 'uneven deferred' 0 --data "$dir/cats" --model "$root/tests/tiny.cfg" --batch 4 --seed 5 --flip --no-curves \
        --out "$dir/windows/run" --epochs 2 \
        --device-memory "$(awk -v all="$all" -v n=$n 'BEGIN { print all - 0.000768 * (22 - 2.5 * n) }')"
    says note-windows "$n"
    same_run one windows
done

# stopped in the middle of an epoch, also of a window
trains uneven 0 stopped --epochs 2 --steps 9
goes_on random 0 stopped --epochs 2 --steps 0 --no-graph
same_run one stopped

# kill -9 after the first checkpoint
killed() # killed OUT ROWS: kill a run when its log has ROWS rows
{
    SIM=uneven "$program" --data "$dir/cats" --model "$root/tests/tiny.cfg" --batch 4 --seed 5 --flip -q --no-curves \
        --out "$dir/$1/run" --epochs 1000 > "$dir/.out" 2>&1 &
    pid=$!
    for _ in $(seq 3000); do
        [ "$(cat "$dir/$1/run/log.csv" 2> /dev/null | wc -l)" -ge "$2" ] && break
        sleep 0.01
    done
    kill -9 $pid
    wait $pid 2> /dev/null
    exited $? 137 "the run '$1'"
}
killed killed 9
shows 'checksums: right' info "$dir/killed/run/checkpoint.safetensors"
at=$(sed -n 's/^epoch: \([0-9]*\).*/\1/p' "$dir/.out")
last=$((${at:-0} + 2))
goes_on random 0 killed --epochs "$last"
trains forward 0 whole --epochs "$last"
same "$dir/whole/run/checkpoint.safetensors" "$dir/killed/run/checkpoint.safetensors"
grid=$(printf 'run/epoch-%04d.png' "$last")
same "$dir/whole/$grid" "$dir/killed/$grid"

# from one device to the other: the same file format, and only rounding differs
near() # near A B: all losses of the last epoch within 1%
{
    awk -F, 'FNR < 8 { next } NR == FNR { for (i = 3; i < 6; i++) a[FNR, i] = $i; n++; next }
        { for (i = 3; i < 6; i++) { d = $i - a[FNR, i]; if (d < 0) d = -d; 
            if (!(d <= 0.01 * (a[FNR, i] + 0.1))) bad++; m++ } }
        END { exit bad || m < 3 * n || !n }' "$dir/$1/run/log.csv" "$dir/$2/run/log.csv"
    fact $? "$1 and $2 should end with nearly the same losses: \
$(tail -n 1 "$dir/$1/run/log.csv") and $(tail -n 1 "$dir/$2/run/log.csv")"
}
trains uneven 0 cpu --epochs 2 --device cpu
near one cpu
trains uneven 0 moved --epochs 1
goes_on '' 0 moved --epochs 2 --device cpu
near one moved
trains '' 0 taken --epochs 1 --device cpu
goes_on uneven 0 taken --epochs 2
near one taken
exits 0 generate "$dir/one/run/checkpoint.safetensors" --seeds 1-2 --out "$dir/g"

# the search for latents: the same bytes in every order and without the graph, and nearly the latents of the CPU
finds() # finds WORDS NAME ARGUMENT...
{
    words=$1 out=$2
    shift 2
    sim "$words" 0 find "$dir/one/run" "$dir/cats" -n 2 --starts 2 --steps 5 -q --out "$dir/$out" "$@"
}
finds 'random lazy uneven' found
finds 'reverse deferred' found-eager --no-graph
finds '' found-cpu --device cpu
same "$dir/found/latents.safetensors" "$dir/found-eager/latents.safetensors"
ensure 'the GPU and the CPU should find nearly the same latents' "${python:-python3}" - "$dir" << 'END'
import st, struct, sys
def values(name):
    data = st.read(sys.argv[1] + '/' + name + '/latents.safetensors')[2]
    return struct.unpack('<%df' % (len(data) // 4), data)
a, b = values('found'), values('found-cpu')
assert len(a) == 16 and max(abs(x - y) for x, y in zip(a, b)) < 0.01 and max(map(abs, a)) > 0.5, (a, b)
END
finish
