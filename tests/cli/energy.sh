#!/bin/sh
# Energy: in the log, in the report and in dcgan batch, with counters of 60 W from tests/preload/powercap.c.
. "$(dirname "$0")/kit"
PRELOADS=${PRELOADS:-$root/build/tests/preload}
[ -e "$PRELOADS/powercap.so" ] || { skip 'no tests/preload/powercap.so'; finish; }
cd "$dir" || exit 1
exits 0 data --synthesize cats --count 40 --size 16 -q || finish
counted() { ends 0 "dcgan $*" env LD_PRELOAD="$PRELOADS/powercap.so" "$program" "$@"; }
# columns FILE: step, seconds and joules of each row of log.jsonl that has joules
columns() { sed -n 's/.*"step":\([0-9]*\),.*"seconds":\([0-9.e+-]*\).*"joules":\([0-9.e+-]*\),.*/\1 \2 \3/p' "$1"; }

counted --data cats --size 16 --batch 8 --epochs 12 --out run
says note-energy 'package-0, dram'
columns run/log.jsonl > rows
# 60 W; the counters are read ten times per second
awk 'NR > 1 && $3 < before { bad = 1 } { before = $3; apart = $3 - 60 * $2; if (apart < -12 || apart > 120) bad = 1 }
    END { exit bad || NR < 40 }' rows
fact $? "joules should be 60 times the seconds: $(tail -n 3 rows)"
grep -q '"energy_of":"package-0, dram"' run/log.jsonl
fact $? 'a row has the names of the counters'
grep -q 'Energy</th><td>[0-9.]* kJ (package-0, dram)' run/report.html
fact $? "the report has the energy: $(grep -o 'Energy.*' run/report.html | head -c 200)"

# a resumed run adds to it; without the counters, or with others before, it has none
before=$(tail -n 1 rows | cut -d ' ' -f 3)
counted --resume --out run --epochs 24 -q
columns run/log.jsonl | tail -n 1 | awk -v before="$before" '{ exit !($3 > before && $3 < 60 * $2 + 200) }'
fact $? "a resumed run continues at $before J: $(columns run/log.jsonl | tail -n 1)"
exits 0 --resume --out run --epochs 25 -q
if tail -n 1 run/log.jsonl | grep -q joules; then fact 1 'a session without counters should have no joules'; fi
if grep -q 'Energy</th>' run/report.html; then fact 1 'the report should have no energy of a part of the run'; fi
counted --resume --out run --epochs 26 -q
if tail -n 1 run/log.jsonl | grep -q joules; then fact 1 'joules of a part of the run should not be written'; fi

# dcgan batch: a column, and the thriftiest size
counted batch dcgan-16x3 --data cats --sweep 4-8 --seconds 0.3 --json
prints '"joules_per_image":'
counted batch dcgan-16x3 --data cats --rule energy --seconds 6 --min-batch 2 --min-steps 4 -q
prints 'J per image, the least' 'J/image'
exits 5 batch dcgan-16x3 --data cats --rule energy
says no-energy-counter
finish
