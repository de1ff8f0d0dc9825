#!/bin/sh
# scripts/gpu-speed --simulate: all parts, tiny, with the program on the simulated GPU ($SIM_DCGAN). A call is killed at
# the beginning of each step, and the results of the step before must remain. The last call runs to its end.
. "$(dirname "$0")/sim_kit"
soaks || { skip 'each step in the simulator: make soak'; finish; }
export DCGAN="$program" DEVICE=cuda TESTS=true TMPDIR="$dir"
unset DCGAN_DEVICE DCGAN_PRECISION DCGAN_MESSAGE_KEYS
out=$dir/out

# killed_at STEP: a call whose processes are all killed when STEP has begun
killed_at()
{
    ran="gpu-speed, killed at $1"
    rm -f "$out/logs/$1.log"
    setsid sh scripts/gpu-speed "$out" --simulate > "$dir/.out" 2> "$dir/.err" < /dev/null &
    pid=$!
    until [ -e "$out/logs/$1.log" ] || ! kill -0 $pid 2> /dev/null; do sleep 0.02; done
    while
        alive=$(cat /proc/[0-9]*/stat 2> /dev/null | awk -v session=$pid '$6 == session && $3 != "Z" { print $1 }')
        [ -n "$alive" ]
    do # shellcheck disable=SC2086 # numbers of processes
        kill -9 $alive 2> /dev/null
    done
    wait $pid 2> /dev/null
    [ $? -eq 137 ]
    fact $? "'$ran' should end by SIGKILL"
}
row() # row STEP RESULT [WORDS]: a row of table.md
{
    grep -qE "^\\| [0-5] \\| $1 +\\| $2 +\\| +[0-9]+ \\| ${3-}" "$out/table.md"
    fact $? "'$ran': $1 should be $2 ${3-}" "$out/table.md"
}
left_by() # left_by STEP: the files of this step are there and whole
{
    case $1 in
        bench) files='ours-W1-bf16-1.json ours-W2-bf16-1.json' ;;
        graphs) files='graphs-W1.json graphs-W1.txt graphs-W1.md' ;;
        overlap) files='overlap-W1-overlap.json overlap-W1-all.json' ;;
        rows-w1) files='rows-W1.jsonl rows-W1.md' ;;
        rows-w2) files='rows-W2.jsonl rows-W2.md' ;;
        penalty) files='penalty.txt penalty.md' ;;
        *) files='' ;;
    esac
    for file in $files; do
        holds "$out/bench/$file"
        case $file in
            *.json)
                [ "$(tail -c 2 "$out/bench/$file" | tr -d '\n')" = '}' ]
                fact $? "'$ran': $file is cut off"
                ;;
        esac
    done
}
passed() { grep -qs '| ok ' "$out/done/$1"; }

names=$(sh scripts/gpu-speed --steps | awk '$1 > 0 { print $2 }')
before=machine
for name in $names; do
    killed_at "$name"
    if passed "$before"; then
        row "$before" ok
        left_by "$before"
        echo "$before has ended" >> "$out/logs/$before.log" # a second run of the step would begin the log anew
    fi
    before=$name
done
ends 0 'gpu-speed --simulate' sh scripts/gpu-speed "$out" --simulate
prints 'no time on this page means anything' 'launches in CUDA graphs'
for name in $names; do
    if grep -qxF "$name has ended" "$out/logs/$name.log"; then
        ended="${ended-} $name"
    else
        [ "$name" = "$before" ] || row "$name" skipped
    fi
    left_by "$name"
done
for name in bench graphs proof overlap; do
    row "$name" ok
    case "$ended " in *" $name "*) ;; *) fact 1 "$name had ended when the next step was killed, and ran again" ;; esac
done
for name in probe ncu; do row "$name" skipped; done
if [ -n "$python" ]; then
    for name in rows-w1 rows-w2; do row "$name" ok '1 rows timed'; done
    row tuned ok
    row penalty ok
    ensure 'the launches should add up to the step' "$python" -c 'import json, sys
m = json.load(open(sys.argv[1]))["models"][0]
assert len(m["in_graph"]) > 10, len(m["in_graph"])
assert abs(sum(l["us"] for l in m["in_graph"]) / m["in_graph_us"] - 1) < 1e-6
assert all(l["clocks_per_instruction"] != 0 for l in m["in_graph"] if "instructions_per_warp" in l)
assert any(l.get("instructions_per_warp", 0) > 100 for l in m["in_graph"])' "$out/bench/graphs-W1.json"
fi
finish
