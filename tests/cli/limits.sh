#!/bin/sh
# Runs at the limits of a shell and of real cgroups, from too little upwards: each succeeds or names the limit, none is
# killed, and the number of threads fits the limit.
. "$(dirname "$0")/kit"
unset OMP_NUM_THREADS

exits 0 data --synthesize "$dir/cats" --count 24 --size 32 -q
set -- --data "$dir/cats" --model dcgan32 --batch 8 --epochs 1 --device cpu --out "$dir/run"
# outcome LIMIT WORDS COMMAND...: the command trains, or exits 5 with these words
ok=0 refused=0
outcome()
{
    at=$1 words=$2
    shift 2
    "$@" > "$dir/.out" 2> "$dir/.err"
    code=$?
    if [ $code -eq 0 ]; then ok=$((ok + 1)); else refused=$((refused + 1)); fi
    [ $code -eq 0 ] || { [ $code -eq 5 ] && grep -qF "$words" "$dir/.err"; }
    fact $? "with $at the run exited $code: $(tail -n 2 "$dir/.err")"
    rm -rf "$dir/run"
}
both() { [ $ok -ge 1 ] && [ $refused -ge 1 ]; fact $? "$1: $ok runs and $refused messages"; ok=0 refused=0; }
threads() { sed -n 's/^device.* \([0-9]*\) threads\{0,1\},.*/\1/p' "$dir/.out"; } # of a dry run

# shellcheck disable=SC3045 # dash and bash have it
(ulimit -s 400 && exec "$program" "$@" -q) > "$dir/.out" 2> "$dir/.err"
[ $? -eq 5 ] && grep -qF '[small-stack]' "$dir/.err"
fact $? "a stack of 400 kB should be refused: $(cat "$dir/.err")"
# shellcheck disable=SC3045 # dash and bash have it
(ulimit -s 400 && DCGAN_MESSAGE_KEYS='' exec "$program" --version) > "$dir/.out" 2> "$dir/.err"
[ $? -eq 5 ] && grep -q '^dcgan: stack limit: ' "$dir/.err"
fact $? "without keys, a stack of 400 kB should be refused: $(cat "$dir/.err")"
# shellcheck disable=SC3045 # dash and bash have it
if (ulimit -s unlimited) 2> "$dir/.err"; then
    (ulimit -s unlimited && exec "$program" --version) > "$dir/.out" 2> "$dir/.err"
    fact $? "a stack without a limit should be accepted: $(cat "$dir/.err")"
else
    skip 'ulimit -s unlimited: a hard limit'
fi
# shellcheck disable=SC3045 # dash and bash have it
within() { (ulimit -v "$1" && shift && exec "$program" "$@"); } # within KB ARGUMENT...
# Address space that the program needs to start, in KB. A CUDA build is larger; sanitizers need terabytes.
empty=''
for kb in $(seq 12000 4000 200000); do
    if within "$kb" --version; then empty=$kb && break; fi
done > "$dir/.out" 2>&1 # the shell reports programs that did not start
if [ -n "$empty" ]; then
    for more in 0 4000 36000 66000 250000; do
        outcome "ulimit -v $((empty + more))" 'ulimit -v' within $((empty + more)) "$@" -q
        # a thread needs 2 MB for its stack; a CUDA build may fail before it counts its threads
        [ $more -gt 4000 ] || grep -qE ', 1 thread,|^dcgan: (dcgan32: )?out of memory; ulimit' "$dir/.err"
        fact $? "with ulimit -v $((empty + more)) no message has 1 thread or the limit: $(cat "$dir/.err")"
    done
    both 'ulimit -v'
else
    skip 'ulimit -v: this build does not start with 200 MB of addresses'
fi

# group CONTROLLER FILE VALUE FILE2 VALUE2: a cgroup $own with this limit, in version 1 or in version 2
group()
{
    mount=$(awk -v name="$1" '$(NF - 2) == "cgroup" && "," $NF "," ~ "," name "," { print $5; exit }' \
        /proc/self/mountinfo 2> /dev/null)
    path=$(awk -F: -v name="$1" '"," $2 "," ~ "," name "," { print $3 }' /proc/self/cgroup 2> /dev/null)
    file=$2 value=$3
    if [ -z "$mount" ]; then
        mount=$(awk '$(NF - 2) == "cgroup2" { print $5; exit }' /proc/self/mountinfo 2> /dev/null)
        path=$(sed -n 's/^0:://p' /proc/self/cgroup 2> /dev/null) file=$4 value=$5
    fi
    for parent in "$mount$path" "$mount"; do # in version 2 a group with processes can have no limited child
        own=$parent/dcgan-test-$$
        if [ -z "$mount" ] || ! mkdir "$own" 2> /dev/null; then continue; fi
        (echo "$value" > "$own/$file") 2> /dev/null && return
        rmdir "$own"
    done
    skip "a cgroup of $1: this user cannot make one here"
    return 1
}
trap 'rmdir "$own" 2> /dev/null; rm -rf "$dir"' EXIT
own=''
# shellcheck disable=SC2016,SC2317 # the inner shell joins the group; outcome calls it
grouped() { sh -c 'echo $$ > "$0/cgroup.procs"; exec "$@"' "$own" "$program" "$@"; }

if [ -z "$empty" ]; then
    skip 'a cgroup of memory: nor with little memory'
elif group memory memory.limit_in_bytes 200000000 memory.max 200000000; then
    for mb in 12 24 40 200; do
        echo ${mb}000000 > "$own/$file"
        outcome "$mb MB in $file" cgroup grouped "$@" -q
    done
    both "$file"
    rmdir "$own"
fi
if group cpu cpu.cfs_quota_us 90000 cpu.max '90000 100000'; then
    ends 0 'dcgan in a cgroup of 0.9 processors' grouped "$@" --dry-run
    [ "$(threads)" = 1 ]
    fact $? "$(threads) threads with 0.9 processors"
    rmdir "$own"
fi
if group pids pids.max 2 pids.max 2; then
    ends 5 'dcgan --threads 4 in a cgroup of 2 tasks' grouped "$@" -q --threads 4
    says threads-not-started 4 2 "pids.max of the cgroup"
    rmdir "$own"
fi
finish
