#!/bin/sh
# Limits of a shell and of a cgroup, from too little upwards: a message or success, never a kill.
. "$(dirname "$0")/kit"

exits 0 data --synthesize "$dir/cats" --count 24 --size 32 -q
set -- train --data "$dir/cats" --model dcgan32 --batch 8 --epochs 1 -q --device cpu
ok=0 refused=0
outcome() # outcome CODE LIMIT WORDS
{
    if [ "$1" -eq 0 ]; then ok=$((ok + 1)); else refused=$((refused + 1)); fi
    [ "$1" -eq 0 ] || { [ "$1" -eq 5 ] && grep -qF "$3" "$dir/said"; }
    fact $? "with $2 bytes the run exited $1: $(tail -n 2 "$dir/said")"
    rm -rf "$dir/run"
}
# Address space that the program needs to start, in KB. A CUDA build is larger; sanitizers need terabytes.
empty=''
for kb in $(seq 12000 4000 200000); do
    # shellcheck disable=SC3045 # dash and bash have it
    if (ulimit -v "$kb" && exec "$program" --version) > "$dir/said" 2>&1; then empty=$kb && break; fi
done 2> /dev/null # the shell reports programs that did not start
if [ -n "$empty" ]; then
    for more in 0 4000 36000 66000 250000; do
        # shellcheck disable=SC3045
        (ulimit -v $((empty + more)) && exec "$program" "$@" --out "$dir/run" > "$dir/said" 2>&1)
        outcome $? $((empty + more))000 'ulimit -v'
    done
    [ $ok -ge 1 ] && [ $refused -ge 1 ]
    fact $? "ulimit -v: $ok runs and $refused messages"
else
    skip 'ulimit -v: this build does not start with 200 MB of addresses'
fi

mount=$(sed -n 's/.* - cgroup .*[ ,]memory.*/&/p' /proc/self/mountinfo 2> /dev/null | cut -d' ' -f5 | head -n 1)
own=$mount$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup 2> /dev/null)/dcgan-test-$$
limit=memory.limit_in_bytes
if [ -z "$mount" ]; then
    mount=$(sed -n 's/.* - cgroup2 .*/&/p' /proc/self/mountinfo 2> /dev/null | cut -d' ' -f5 | head -n 1)
    own=$mount$(sed -n 's/^0:://p' /proc/self/cgroup 2> /dev/null)/dcgan-test-$$
    limit=memory.max
fi
if [ -z "$empty" ]; then
    skip 'a cgroup: nor with little memory'
elif [ -n "$mount" ] && mkdir "$own" 2> /dev/null && echo 200000000 2> /dev/null > "$own/$limit"; then
    for mb in 12 24 40 200; do
        echo ${mb}000000 > "$own/$limit"
        # shellcheck disable=SC2016 # the inner shell joins the group
        sh -c 'echo $$ > "$0/cgroup.procs"; exec "$@"' "$own" "$program" "$@" --out "$dir/run" > "$dir/said" 2>&1
        outcome $? ${mb}000000 cgroup
    done
else
    skip 'a real cgroup: this user cannot make one here'
fi
rmdir "$own" 2> /dev/null
finish
