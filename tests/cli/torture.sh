#!/bin/sh
# Every tenth (TORTURE_EVERY) of the calls that tests/torture makes fail, of its limits and power failures, of
# allocations every fiftieth; `make torture` has all. And the messages for threads that do not start and a small stack.
. "$(dirname "$0")/kit"
export PRELOADS="${PRELOADS:-$root/build/tests/preload}"
faults=$PRELOADS/faults.so
case $faults in /*) ;; *) faults=$root/$faults ;; esac
if [ ! -e "$faults" ] || ! command -v python3 > /dev/null; then
    skip "calls that fail: there is no python3 or no $faults"
    finish
fi

every=${TORTURE_EVERY:-10}
[ "$every" -gt 200 ] && set -- calls # limits and power failures take long to set up
DCGAN=$program python3 tests/torture/torture.py --every "$every" "$@" > "$dir/said"
fact $? "$(grep '^FAIL\|Error\|torture:' "$dir/said" | head -n 20)"
tail -n 1 "$dir/said"

# without THREADS ARGUMENT...: threads from this number on do not start
without()
{
    from=$1
    shift
    ends 5 "dcgan $*" env FAULT="fail:thread:$from" LD_PRELOAD="$faults" ASAN_OPTIONS=verify_asan_link_order=0 \
        GOMP_SPINCOUNT=5000 "$program" "$@"
}
# shellcheck disable=SC3045 # dash and bash have it
(ulimit -s 1024 && "$program" --version > "$dir/.out" 2> "$dir/.err")
fact $(($? != 5)) "a stack of 1024 kB: $(cat "$dir/.err")"
says small-stack 1024 2048 'ulimit -s 8192'
exits 0 data --synthesize "$dir/cats" --count 24 --size 16 -q
set -- --data "$dir/cats" --model tests/tiny.cfg --batch 8 --epochs 1 -q --out "$dir/new" --threads 4
without 2+ "$@"
says threads-not-started 4 2 '--threads 2'
lacks "$dir/new"
without 1+ data "$dir/cats" --model tests/tiny.cfg --threads 3
says threads-not-started 3 1
without 1+ data --synthesize "$dir/new" --count 3 --threads 3
says threads-not-started 3 1
without 1+ bench tests/tiny.cfg --batch 4 --repeats 1 --threads 3
says threads-not-started 3 1
# OpenMP ends the program if a later thread does not start
without 4 bench tests/tiny.cfg --batch 4 --repeats 1 --threads 4
says ended-by-library
finish
