#!/bin/sh
# Every tenth (TORTURE_EVERY) of the calls that tests/torture makes fail, of its limits and power failures, of
# allocations every fiftieth; `make torture` has all. And what is said where threads cannot be started, or the stack not
# be had.
. "$(dirname "$0")/kit"
export PRELOADS="${PRELOADS:-$root/build/tests/preload}"
faults=$PRELOADS/faults.so
case $faults in /*) ;; *) faults=$root/$faults ;; esac
if [ ! -e "$faults" ] || ! command -v python3 > /dev/null; then
    skip "calls that fail: there is no python3 or no $faults"
    finish
fi

every=${TORTURE_EVERY:-10}
[ "$every" -gt 100 ] && set -- calls # a look at each command: limits and power failures are set up anew each time
DCGAN=$program python3 tests/torture/torture.py --every "$every" "$@" > "$dir/said"
fact $? "$(grep '^FAIL\|Error\|torture:' "$dir/said" | head -n 20)"
tail -n 1 "$dir/said"

# without THREADS ARGUMENT...: none from that number on can be started
without()
{
    from=$1
    shift
    ran="dcgan $*"
    FAULT=fail:thread:$from LD_PRELOAD=$faults ASAN_OPTIONS=verify_asan_link_order=0 GOMP_SPINCOUNT=5000 "$program" \
        "$@" > "$dir/.out" 2> "$dir/.err" < /dev/null
    code=$?
    [ $code -eq 5 ]
    fact $? "'$ran' without threads exited $code, not 5"
}
# shellcheck disable=SC3045 # dash and bash have it
(ulimit -s 1024 && "$program" --version > "$dir/said" 2>&1)
fact $(($? != 5)) "a stack of 1024 kB: $(cat "$dir/said")"
grep -q 'the stack may have 1024 kB, and 2048 kB are needed: ulimit -s 8192' "$dir/said"
fact $? "a stack of 1024 kB: $(cat "$dir/said")"
exits 0 data --synthesize "$dir/cats" --count 24 --size 16 -q
set -- --data "$dir/cats" --model tests/tiny.cfg --batch 8 --epochs 1 -q --out "$dir/new" --threads 4
without 2+ "$@"
says '4 threads cannot be started, only 2'
says '--threads 2'
lacks "$dir/new"
without 1+ data "$dir/cats" --model tests/tiny.cfg --threads 3
says '3 threads cannot be started, only 1'
without 1+ data --synthesize "$dir/new" --count 3 --threads 3
says '3 threads cannot be started, only 1'
without 1+ bench tests/tiny.cfg --batch 4 --repeats 1 --threads 3
says '3 threads cannot be started, only 1'
# one that is not to be had later on ends the program by OpenMP's hand
without 4 bench tests/tiny.cfg --batch 4 --repeats 1 --threads 4
says 'a library has ended the program'
finish
