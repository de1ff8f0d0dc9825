#!/bin/sh
# The thread that opens a GPU beside other work, under ThreadSanitizer. The kernels' tests have theirs in tests/sim.
. "$(dirname "$0")/kit"
ran=race_open_async
if ! ${CC:-cc} -std=c11 -D_GNU_SOURCE -g -O1 -fsanitize=thread -I. -o "$dir/race" tests/cli/race_open_async.c \
    host/cli/open_async.c \
    core/base/err.c -pthread > "$dir/.err" 2>&1; then
    skip "${CC:-cc} does not link with ThreadSanitizer: $(head -n 1 "$dir/.err")"
    finish
fi
export TSAN_OPTIONS='exitcode=66'
"$dir/race" planted > "$dir/.out" 2> "$dir/.err"
code=$?
if [ $code -ne 66 ]; then
    skip "ThreadSanitizer does not find a planted race here, exit code $code: $(head -n 1 "$dir/.err")"
    finish
fi
"$dir/race" > "$dir/.out" 2> "$dir/.err"
code=$?
[ $code -eq 0 ]
fact $? "the opening of a GPU races, exit code $code: $(head -n 30 "$dir/.err" "$dir/.out")"
finish
