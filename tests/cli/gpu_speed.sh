#!/bin/sh
# scripts/gpu-speed with stubs for the program, the compiler and the tools: every step as on a machine with a GPU, and
# failures. Calls that are killed: long/gpu_speed_sim.sh, which runs the steps with the simulated GPU.
. "$(dirname "$0")/kit"
. "$(dirname "$0")/gpu_kit"
pretend_gpu

speed() # speed CODE OPTION...: runs it into $dir/out; its table is the output
{
    speed_code=$1
    shift
    ends "$speed_code" "gpu-speed $*" sh scripts/gpu-speed "$dir/out" "$@" || sed 's/^/    /' "$dir/.out"
}
row() { grep -qE "^\\| [0-5] \\| $1 +\\| $2 +\\|" "$dir/.out"; fact $? "'$ran': $1 should be $2" "$dir/.out"; }
about()
{
    grep -E "^\\| [0-5] \\| $1 " "$dir/.out" | grep -qF -e "$2"
    fact $? "'$ran': $1 should say '$2'" "$dir/.out"
}
logged() { grep -qF -e "$2" "$dir/out/logs/$1.log"; fact $? "the log of $1 should say '$2'" "$dir/out/logs/$1.log"; }

ends 2 'gpu-speed' sh scripts/gpu-speed
stderr_has 'scripts/gpu-speed OUTDIR'
ends 2 'gpu-speed --part 6' sh scripts/gpu-speed "$dir/out" --part 6
ends 0 'gpu-speed --steps' sh scripts/gpu-speed --steps
prints '5  penalty'
names=$(awk '{ print $2 }' "$dir/.out")
eval "$(grep '^budget_of' "$root/scripts/gpu-speed")"
sum=0
for p in 1 2 3 4 5; do
    ensure "part $p should take at most 360 s" [ "$(budget_of $p)" -le 360 ]
    sum=$((sum + $(budget_of $p)))
done
ensure 'all parts should take at most 1,620 s' [ $sum -le 1620 ]

# The parts in any order; together they run every step once.
speed 0 --part 1
for s in machine build probe bench graphs proof; do row $s ok; done
about machine 'Pretended GPU "X"'
about bench 'W2 3: 0.1235 ms'
about graphs 'W1: 12.5 us, predicted 11.5 us'
about proof '6 passed, 0 failed'
prints 'clusters: 15'
logged proof 'check dcgan64-paper --batch 17'
holds "$dir/out/bench/ours-W1-bf16-3.json"
if grep -q 'torch-w1' "$dir/.out"; then fact 1 'part 1 should not run steps of part 2'; fi
speed 0
for s in $names; do row "$s" ok; done
logged torch-w2 'bench_pytorch.py --width 64 --size 64 --batch 128'
logged networks 'bench_pytorch.py --classifier models/vgg16-cifar.cfg --batch 128'
logged networks 'bench_pytorch.py --width 64 --size 128 --batch 64'
logged rows-w1 "rows.py $GPU_BUILD/dcgan dcgan64-paper 64 bf16 cuda"
logged tuned "--tuning $dir/out/bench/rows-W1.tune"
about ncu 'W2: 1 launches'

about torch-w1 'W1 with-torch-last: 0.1235 ms'
holds "$dir/out/bench/torch-W2-3.json"
about tuned 'W1 tuned: 0.1235 ms'
about networks 'resnet50 1: 0.1235 ms'

# Steps that have passed are not run again; those that failed or were skipped are.
FAIL=nvidia-smi HANG=bench speed 0
rm "$dir/out/done/ncu" "$dir/out/done/tuned"
FAIL=ncu speed 1
row ncu FAILED
row tuned ok
FAIL='' speed 0 --part 4
row ncu ok

# Rows need a minute, because a step that has passed is not repeated.
export GPU_CHECK_OUT="$dir/out" GPU_CHECK_STATE="$dir"
ends 124 'rows with 59 s' env GPU_CHECK_LIMIT=59 sh scripts/gpu/steps rows-w1
ends 0 'rows with 60 s' env GPU_CHECK_LIMIT=60 sh scripts/gpu/steps rows-w1
unset GPU_CHECK_OUT GPU_CHECK_STATE

# Each step can fail without the others.
for both in nvidia-smi:machine probe:probe bench:bench profile:graphs test_fused_mma:proof bench_pytorch.py:torch-w1 \
    rows.py:rows-w2 repeat:tuned bench_penalty.py:penalty; do
    rm -f "$dir/out/done/ncu" "$dir/out/done/${both#*:}"
    FAIL=${both%:*} speed 1
    row "${both#*:}" FAILED
    row ncu ok
    FAIL='' speed 0
done
rm -rf "$dir/out"
FAIL="make" speed 1 --part 3
row build FAILED
stderr_has 'no program to measure'
lacks "$dir/out/done/overlap"

# Each part runs without the others.
FAIL=torch speed 0 --part 2
row torch-w1 skipped
about torch-w1 'has no torch'
FAIL='' speed 0 --part 5
row tuned skipped
about tuned 'run part 3'
row networks ok
speed 0 --part 3
speed 0 --part 2
row torch-w1 ok
speed 0 --part 5
row tuned ok
finish
