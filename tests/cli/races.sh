#!/bin/sh
# The thread that opens a GPU concurrently, under ThreadSanitizer. The kernels' tests are in tests/sim.
. "$(dirname "$0")/kit"
ran=race_open_async
if ! echo 'int main(void) { return 0; }' | ${CC:-cc} -fsanitize=thread -x c -o "$dir/race" - > "$dir/.err" 2>&1; then
    skip "${CC:-cc} does not link with ThreadSanitizer: $(head -n 1 "$dir/.err")"
    finish
fi
${CC:-cc} -std=c11 -D_GNU_SOURCE -g -O1 -fsanitize=thread -fopenmp -I. -o "$dir/race" tests/cli/race_open_async.c \
    host/cli/open_async.c core/base/err.c core/base/limits.c core/base/cgroup.c core/base/cores.c \
    -pthread -lm > "$dir/.err" 2>&1
fact $? "the program does not link: $(head -n 3 "$dir/.err")" || finish
export TSAN_OPTIONS='exitcode=66'
"$dir/race" planted > "$dir/.out" 2> "$dir/.err"
code=$?
if [ $code -ne 66 ]; then
    skip "ThreadSanitizer does not find a planted race here, exit code $code: $(head -n 1 "$dir/.err")"
    finish
fi
ends 0 'the opening of a GPU' "$dir/race"
finish
