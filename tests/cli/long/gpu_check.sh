#!/bin/sh
# scripts/gpu-check without a GPU: all steps, tiny, with the program on the simulated GPU ($SIM_DCGAN; on the CPU
# without it); then with stubs for the program, the compiler and the tools, to run every step as on a machine with a
# GPU, and every failure.
. "$(dirname "$0")/../kit"
. "$(dirname "$0")/../gpu_kit"

check() # check CODE OPTION...: run it into $dir/out; its table is the output
{
    check_code=$1
    shift
    rm -rf "$dir/out"
    ends "$check_code" "gpu-check $*" sh scripts/gpu-check "$dir/out" "$@" || { sed 's/^/    /' "$dir/.out"; return 1; }
}
line() { grep "^| $1 " "$dir/.out"; }
row() { line "$1" | grep -qE "^\\| $1 +\\| $2 +\\|"; fact $? "'$ran': $1 should be $2: $(line "$1")"; }
about() { line "$1" | grep -qF -e "$2"; fact $? "'$ran': the row of $1 should say '$2': $(line "$1")"; }
logged() # logged STEP WORDS
{
    grep -qF -e "$2" "$dir"/out/logs/*-"$1".log
    fact $? "'$ran': the log of $1 should say '$2': $(head -n 20 "$dir"/out/logs/*-"$1".log)"
}
json() # json: gpu-check.json is JSON
{
    command -v python3 > /dev/null || return
    python3 -m json.tool "$dir/out/gpu-check.json" > /dev/null 2> "$dir/.err"
    fact $? "'$ran': gpu-check.json is not JSON: $(head -c 300 "$dir/.err")"
}

# Without OUTDIR, with unknown options.
exit_2() { ends 2 "gpu-check $*" sh scripts/gpu-check "$@"; }
exit_2
stderr_has 'scripts/gpu-check OUTDIR'
exit_2 "$dir/out" --fast
exit_2 "$dir/out" --only nothing
stderr_has 'unknown step nothing'
exit_2 "$dir/out" --budget many
ends 0 'gpu-check --steps' sh scripts/gpu-check --steps
prints 'ten runs of 300 steps'

# The real program.
printf '#!/bin/sh\nexit 0\n' > "$dir/good"
printf '#!/bin/sh\necho a fault; exit 3\n' > "$dir/bad"
printf '#!/bin/sh\nexit 77\n' > "$dir/none"
printf '#!/bin/sh\nexec sleep 100\n' > "$dir/hangs"
printf '#!/bin/sh\nexit 1\n' > "$dir/no-python"
chmod +x "$dir/good" "$dir/bad" "$dir/none" "$dir/hangs" "$dir/no-python"
case ${SIM_DCGAN:-} in
    '' | */asan/*) # takes minutes with a sanitizer; sim_*.sh test that
        DCGAN=$program DEVICE=cpu
        skip 'no simulated GPU, or a sanitized one: on the CPU instead'
        ;;
    *) DCGAN=$SIM_DCGAN DEVICE=cuda ;;
esac
export DCGAN DEVICE PYTHON="$dir/no-python"
TESTS="$dir/good $dir/none" check 0 --simulate --skip tune
json
for s in machine build kernels check replay repeat resume classifier train long; do row $s ok; done
for s in tests memcheck drift batch; do row $s skipped; done
about kernels '1 passed, 0 failed, 1 skipped'
about repeat '1 checkpoint'
prints 'images: drawn by dcgan data --synthesize'
logged repeat "--device $DEVICE"
tail -n 1 "$dir/.out" | grep -qE '^[0-9]+ passed, 0 failed, [0-9]+ skipped$'
fact $? 'the last line should be the count'
holds "$dir/out/table.md"
for f in train-epoch-0002.png train-report.html generated.png; do
    holds "$dir/out/images/$f"
done

# Failing, hanging and missing.
TESTS="$dir/good $dir/bad" check 1 --simulate --only kernels,replay
row kernels FAILED
about kernels '1 passed, 1 failed, 0 skipped'
about kernels 'bad failed'
row replay ok
TESTS="$dir/good $dir/hangs" check 1 --simulate --only kernels --limit 3
about kernels '1 passed, 0 failed, 0 skipped; stopped after the 3 s'
TESTS="$dir/hangs $dir/good" TEST_SECONDS=1 check 1 --simulate --only kernels
about kernels '1 passed, 1 failed, 0 skipped'
about kernels 'hangs hung'
TESTS="$dir/hangs" check 1 --simulate --only kernels,machine --limit 3
row kernels FAILED
about kernels 'stopped after the 3 s'
row machine ok
TESTS="$dir/hangs" check 0 --simulate --only kernels,replay --budget 9
row kernels cut
about kernels 'that were left'
row replay skipped
about replay 'no time left'
TESTS="$dir/not-there" check 1 --simulate --only kernels
row kernels FAILED

# Stopped by a signal, it leaves the table so far.
rm -rf "$dir/out"
TESTS=$dir/hangs sh scripts/gpu-check "$dir/out" --simulate --only machine,kernels > "$dir/.err" 2>&1 < /dev/null &
pid=$!
until [ -e "$dir/out/logs/02-kernels.log" ] || ! kill -0 $pid; do sleep 0.1; done
kill $pid
wait $pid
ensure 'gpu-check should hear SIGTERM' [ $? -eq 143 ]
ran='a gpu-check that was stopped'
cp "$dir/out/table.md" "$dir/.out"
row machine ok
prints 'and then stopped in kernels.'
json

# A program whose second run and resumed runs have a higher learning rate.
cat > "$dir/other" << 'END'
#!/bin/sh
case "$*" in *repeat-2* | '--resume --out '*) exec "$REAL" "$@" --lr-g 0.00021 ;; esac
exec "$REAL" "$@"
END
chmod +x "$dir/other"
real=$DCGAN
REAL=$real DCGAN=$dir/other check 1 --simulate --only repeat,resume,train
row repeat FAILED
about repeat '2 checkpoints'
row resume FAILED
row train ok
DEVICE=cuda:99 check 1 --simulate --only check,replay,repeat,resume,train
for s in check replay repeat resume train; do row $s FAILED; done
json

pretend_gpu
every='machine build tests kernels check replay repeat resume classifier train memcheck racecheck'
every="$every initcheck synccheck drift long tune batch"

check 0
for s in $every; do row "$s" ok; done
prints 'DCGAN_SHARED names no folder with data/cats'
about machine 'Pretended GPU "X"'
about build 'dcgan 0.0 (pretended)'
about kernels '2 passed, 0 failed, 0 skipped'
about check '11 passed, 0 failed, 0 skipped'
about memcheck '3 passed, 0 failed, 0 skipped'
about tune 'W1 bf16 0.1235 ms'
about repeat '10 runs of 300 steps'
about resume 'kill -9'
logged build 'CUDA_ARCH=native'
logged kernels 'small: '
about long 'in bf16'
logged memcheck 'small: 1'
logged drift '--precision bf16'
prints '| drift |'
holds "$dir/out/images/long-epoch-0300.png"
check 0 --quick --only repeat,kernels --skip kernels
about repeat '3 runs of 100 steps'
if grep -q '^| kernels' "$dir/.out"; then fact 1 '--skip kernels should skip it'; fi

# each step can fail without the others
fails() # fails FAIL STEP
{
    FAIL=$1 check 1 --only "$2,machine"
    row "$2" FAILED
    row machine ok
    grep -q '^1 passed, [1-9][0-9]* failed\|^[0-9]* passed, [1-9][0-9]* failed' "$dir/.out"
    fact $? "'$ran' with FAIL=$1 should count a failure"
}
fails repeat repeat
about repeat '10 checkpoints'
fails resumed resume
about resume 'resumed: differs'
fails check memcheck
about memcheck '2 passed, 1 failed, 0 skipped'
about memcheck 'dcgan check failed'
for both in make:build make:tests test_a:kernels check:check replay:replay generate:train racecheck:racecheck \
    drift.py:drift tune:tune batch:batch; do
    fails ${both%:*} ${both#*:}
done
HANG=replay check 1 --only replay,repeat --limit 6
row replay FAILED
about replay 'stopped after the 6 s'
row repeat ok
json

# missing tools are named, and are not failures
FAIL=torch check 0 --only drift
row drift skipped
rm "$dir/bin/compute-sanitizer"
check 0 --only memcheck
row memcheck skipped
about memcheck 'compute-sanitizer is not installed'
printf '#!/bin/sh\nexit 9\n' > "$dir/bin/nvidia-smi"
check 1 --only machine,kernels
about machine 'nvidia-smi shows no GPU'
row kernels ok

# built elsewhere
echo 'dcgan 1.2 for 90' > "$GPU_BUILD/prepared"
FAIL="make" check 0 --only build,tests
about build 'prepared elsewhere: dcgan 1.2 for 90'
row tests skipped
finish
