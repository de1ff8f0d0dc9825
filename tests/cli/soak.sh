#!/bin/sh
# The end of `make soak`: the counts of its parts, and the table of docs/testing.md.
. "$(dirname "$0")/kit"
SOAK=$dir/soak.txt
export SOAK
part() # part CODE NAME COMMAND...
{
    part_code=$1
    shift
    ends "$part_code" "part $*" sh "$root/scripts/soak/part" "$@"
}
noted() { grep -qE "^$1 [0-9]+\$" "$SOAK"; fact $? "there is no line '$1' in: $(cat "$SOAK")"; }

part 0 kills echo '12 passed, 0 failed, 3 skipped'
noted 'kills 12 0 3'
part 1 tests sh -c 'echo "5 passed, 2 failed, 0 skipped"; exit 1'
noted 'tests 5 2 0'
part 3 tsan sh -c 'echo "5 passed, 0 failed, 0 skipped"; exit 3' # it failed after its tests
noted 'tsan 5 1 0'
part 0 architectures true
noted 'architectures 1 0 0'
part 0 valgrind echo '0 passed, 0 failed, 1 skipped'
part 0 fuzz printf 'all  77000  \n15 passed, 0 failed, 0 skipped\n' # executions, not targets
noted 'fuzz 77000 0 0'
part 1 --sum
tail -n 1 "$dir/.out" | grep -qx 'soak: 12 kills, 5 tests, .*, 77000 fuzz passed, 3 failed, 4 skipped'
fact $? "the last line is $(tail -n 1 "$dir/.out")"

printf 'before\n<!-- soak -->\nold\n<!-- /soak -->\nafter\n' > "$dir/testing.md"
table() { sh "$root/scripts/soak/table" "$dir/testing.md" > "$dir/said" 2>&1; }
row() { grep -qE "$1" "$dir/testing.md"; fact $? "no row $1 in: $(cat "$dir/testing.md")"; }
table
fact $? "soak/table: $(cat "$dir/said")"
row '^\| A run killed .*\| 12 \| none failed, 3 skipped \|$'
row '\| 5 \| \*\*2 failed\*\* \|$'
row 'Valgrind \| 0 \| skipped \|$'
row 'fail, one by one \| +\| not run \|$'
row 'make fuzz. \| 77000 \| none failed \|$'
cp "$dir/testing.md" "$dir/once"
table
cmp -s "$dir/testing.md" "$dir/once" && [ "$(grep -cxE 'old|before|after' "$dir/once")" -eq 2 ]
fact $? "written again it is not the same: $(cat "$dir/testing.md")"
echo 'no marks' > "$dir/testing.md"
table
fact $((! $?)) 'a table without marks was written somewhere'

# after a failed part has passed, the sum has no failures
part 0 tests echo '9 passed, 0 failed, 0 skipped'
part 0 tsan echo '1 passed, 0 failed, 0 skipped'
part 0 --sum
finish
