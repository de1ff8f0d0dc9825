#!/bin/sh
# No memory and no threads are exit code 5 with a message, in every command: allocations fail one after the other, in
# strides (FAULT_TRIES a command; 1000000 for all of them). What ends with 0 all the same has to print what it prints
# undisturbed.
. "$(dirname "$0")/../kit"
faults=${PRELOADS-$root/build/tests/preload}/faults.so tries=${FAULT_TRIES:-6}
if [ ! -e "$faults" ]; then
    skip "allocations that fail: there is no $faults (under a sanitizer allocations are its own)"
    finish
fi
cd "$dir" || exit 1
export GOMP_SPINCOUNT=5000 OMP_NUM_THREADS=2
model="$root/tests/tiny.cfg" oracle="$root/tests/golden/oracle16.safetensors"
exits 0 data --synthesize cats --count 24 --size 16 -q || finish
exits 0 --data cats --model "$model" --batch 8 --epochs 1 --out run --cache cache -q || finish
exits 0 export run/checkpoint.safetensors generator.safetensors
exits 0 generate run/checkpoint.safetensors -n 2 --out pictures
cat "$root"/kernels/tuning/*.tune > a.tune

run() # run FAULT ARGUMENT...: from the same files each time; leaves $code, .out and .err
{
    fault=$1
    shift
    rm -rf new
    case $* in *again*) rm -rf again && cp -r run again ;; esac
    FAULT=$fault FAULT_COUNT=$dir/calls LD_PRELOAD=$faults "$program" "$@" > .out 2> .err < /dev/null
    code=$?
}

# survives KIND PRINTED ARGUMENT...: PRINTED is `same` where the results are the same each time
survives()
{
    kind=$1 printed=$2
    shift 2
    ran="dcgan $*"
    run "$kind:0" "$@"
    fact $code "'dcgan $*' exited $code: $(head -c 300 .err)" || return
    cp .out undisturbed
    calls=$(sed -n "s/^$kind //p" calls)
    stride=$((calls / tries + 1)) k=1 wrong=''
    while [ "$k" -le "$calls" ]; do
        run "$kind:$k" "$@"
        case $code in
            5) grep -qE 'memory|thread' .err || wrong="$wrong; $k says '$(head -c 200 .err)'" ;;
            0) [ "$printed" != same ] || cmp -s .out undisturbed || wrong="$wrong; $k prints something else" ;;
            *) wrong="$wrong; $k exits $code and says '$(tail -n 1 .err | head -c 200)'" ;;
        esac
        k=$((k + stride))
    done
    [ -z "$wrong" ]
    fact $? "dcgan $* without the k-th $kind of $calls: $(echo "$wrong" | head -c 1500)"
}

for f in run/checkpoint.safetensors generator.safetensors "$oracle" run/log.csv run/log.jsonl run/config.ini "$model" \
    cache \
    pictures/grid.png run; do
    survives memory same info "$f" --json
done
survives memory same info run
survives memory same export run/checkpoint.safetensors new
survives memory same import generator.safetensors new
survives memory same curves run --out new
survives memory same report run --out new
survives memory same report run run --out new
survives memory same data cats --cache cache --model "$model" --json --sheet new
survives memory same data --synthesize new --count 3 --size 16
survives memory same generate run/checkpoint.safetensors -n 2 --out new
survives memory same interpolate run/checkpoint.safetensors --seeds 1-2 --frames 2 --out new
survives memory same plan "$model" --json
survives memory same plan "$model" --arch h200
survives memory same profile "$model" --predict h200
survives memory other profile "$model" --batch 4 --repeats 1 --json
survives memory other bench "$model" --batch 4 --repeats 1 --json
survives memory same plan "$model" --fit --device-memory 1
survives memory other batch "$model" --data cats --most 8 --seconds 0.1 --json
survives memory other batch "$model" --data cats --sweep 8-8 --seconds 0.01 --out new
survives memory other batch "$model" --data cats --rule epoch-time --from 8 --steps 1
survives memory same tune --merge a.tune a.tune --out new
survives memory other check "$model" --batch 3
survives memory other replay "$oracle" --tol 1
survives memory other --data cats --cache cache --model "$model" --batch 8 --epochs 1 -q --out new
survives memory other --data cats --cache cache --model "$model" --batch auto --seconds 0.1 --epochs 1 -q --out new
survives memory other --resume --out again --epochs 2 -q
survives memory same --help

# threads: of a team, of the writers; a run that could not begin leaves nothing
survives thread other --data cats --model "$model" --batch 8 --epochs 1 -q --out new --threads 4
run thread:2+ --data cats --model "$model" --batch 8 --epochs 1 -q --out new --threads 4
[ $code -eq 5 ]
fact $? "without a second thread: exit $code, not 5"
says '4 threads cannot be started, only 2'
says '--threads 2'
lacks new
for command in "data cats --model $model" 'data --synthesize new --count 3' "bench $model --batch 4 --repeats 1"; do
    # shellcheck disable=SC2086
    run thread:1+ $command --threads 3
    [ $code -eq 5 ]
    fact $? "'dcgan $command' without threads: exit $code, not 5"
    says '3 threads cannot be started, only 1'
done
# one that is not to be had later on ends the program by OpenMP's hand
run thread:4 bench "$model" --batch 4 --repeats 1 --threads 4
[ $code -eq 5 ]
fact $? "a thread that OpenMP cannot start: exit $code, not 5"
says 'a library has ended the program'
finish
