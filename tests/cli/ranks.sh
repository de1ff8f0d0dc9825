#!/bin/sh
# Several processes: with equal --shards, checkpoints have equal bytes for 1, 2 and 4 processes, with both MPIs, for all
# kinds of training, and after a resume by another number of processes.
. "$(dirname "$0")/kit"
. "$(dirname "$0")/ranks_kit"
PRELOADS=${PRELOADS:-$root/build/tests/preload}
cd "$dir" || exit 1
exits 0 data --synthesize cats --count 37 --size 16 -q || finish
exits 0 data --synthesize shapes --count 108 --size 16 --classes 3 -q || finish

# kind NAME ARGUMENT...: 12 steps of 4 shards, by one process and by 4 and 2
kind()
{
    kind=$1
    shift
    exits 0 "$@" --shards 4 --threads 2 --out "$kind-1" -q --no-report --grid 2x2 --cache "$kind.cache"
    for w in 4 2; do
        ranks 0 "$w" "$@" --shards 4 --threads 1 --out "$kind-$w" -q --no-report --grid 2x2
        same "$kind-1/checkpoint.safetensors" "$kind-$w/checkpoint.safetensors"
    done
}
gan="--data cats --size 16 --batch 8 --steps 12"
for mpi in openmpi mpich; do
    with_mpi "$mpi" || continue
    # shellcheck disable=SC2086 # $gan has several words
    kind "plain-$mpi" $gan
    rm -rf plain-"$mpi"-*
done
with_mpi openmpi || with_mpi mpich || { skip 'no MPI: no mpirun, or no plugin'; finish; }
# shellcheck disable=SC2086
{
    kind steady $gan --preset steady --augment color,translation,cutout --flip
    kind classes --data shapes --size 16 --batch 8 --steps 12 --conditional --eval-every 2
    if [ -z "${SAN-}" ]; then # the same code of processes and shards with other losses and optimizers
        kind double $gan --loss ralsgan --precision fp64 --norm-d spectral --ema 0.9 --schedule 1:0.5
        kind hinge $gan --loss hinge --r1 1 --norm-d none --optimizer sgd --momentum 0.9 --decay 1e-3 --lr 0.01
        kind penalty $gan --loss lsgan --r2 0.5 --norm-d spectral --optimizer adadelta
        kind adagrad $gan --optimizer adagrad --lr 0.01 --drop-last
    fi
}
network few.cfg '[model] name=few size=16 classes=3' '[C] kernel=3 norm=batch act=relu' '[C.1] filters=6 stride=2' \
    '[C.2] op=dropout p=0.3' '[C.3] op=dense filters=3 norm=none act=none'
kind classifier --data shapes --model few.cfg --batch 8 --steps 12 --test 0.2

# on by 2 processes, then by 1: the bytes of an uninterrupted run
ranks 0 4 --data cats --size 16 --batch 8 --shards 4 --epochs 1 --preset steady --schedule-length 200 --out parts -q \
    --no-report --grid 2x2
ranks 0 2 --resume --out parts --epochs 2 -q
shows 'follows from checkpoint-0001.safetensors' verify parts -q
exits 0 --resume --out parts --epochs 3 -q
exits 0 --data cats --size 16 --batch 8 --shards 4 --epochs 3 --preset steady --schedule-length 200 --out whole -q \
    --no-report --grid 2x2
same parts/checkpoint.safetensors whole/checkpoint.safetensors

# --shards auto is the number of processes, which rank 0 prints once
ranks 0 2 --data cats --size 16 --batch 8 --steps 2 --out auto --no-report
config auto 'shards = 2'
says note-group '2 processes on 1 machine by'
says note-shards '2 shards of 4 images'
fact "$(grep -c 'note-group' "$dir/.err" | grep -cvx 1)" 'only rank 0 should print'
if [ -e "$PRELOADS/many_cores.so" ] && [ "$plugin" = openmpi ] && [ "$(nproc)" -gt 1 ]; then
    unbound=$mpirun mpirun="env LD_PRELOAD=$PRELOADS/many_cores.so ${mpirun%% *} --bind-to core"
    ranks 0 2 --resume --out auto --steps 3 --no-report
    says note-bound '2 of 64 processors'
    mpirun=$unbound
fi
OMP_NUM_THREADS=3 ranks 0 2 --resume --out auto --steps 4 --no-report
says note-group '3 threads each'
ranks 2 4 --resume --out auto -q
says ranks-not-shards '4 processes cannot share 2 shards'
# messages per step: two of gradients and two of weights for a GAN, one of each for a classifier, one of statistics and
# metrics, and one turn. A run of 6 steps more has the others as often.
counted() # counted RUN STEPS ARGUMENT...: $counts has the counts of rank 1
{
    counted=$1 steps=$2
    shift 2
    COUNT_MPI=${program%/*}/dcgan-mpi-${plugin}.so COUNT_MPI_OUT=$PWD/$counted$steps
    export COUNT_MPI COUNT_MPI_OUT
    DCGAN_MPI=$PRELOADS/count_mpi.so ranks 0 2 "$@" --steps "$steps" --out "$counted$steps.run" -q --no-report
}
per_step() # per_step RUN TO_ALL GATHERED: of 6 steps
{
    "$python" - "$1" "$2" "$3" << 'END'
import sys
name, to_all, gathered = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def read(steps):
    return {w[0]: (int(w[1]), int(w[2])) for w in map(str.split, open(f'{name}{steps}.1'))}
few, many = read(6), read(12)
each = {k: (many[k][0] - few[k][0], many[k][1] - few[k][1]) for k in few}
calls = {'all_to_all': 6 * to_all, 'all_gather': 6 * gathered, 'broadcast': 0, 'gather': 0, 'turn': 6}
print(each)
small = (each['all_gather'][1] - each['all_to_all'][1]) / 6
sys.exit({k: v[0] for k, v in each.items()} != calls or not 0 < small < 40000)
END
    fact $? "messages per step of $1" "$dir/.out"
}
if [ -n "$python" ] && [ -e "$PRELOADS/count_mpi.so" ]; then
    for steps in 6 12; do
        counted gan "$steps" --data cats --size 16 --batch 8 --epochs 9 --checkpoint-every 90
        counted few "$steps" --data shapes --model few.cfg --batch 8 --epochs 9 --checkpoint-every 90
    done
    per_step gan 2 3
    per_step few 1 2
fi

exits 0 --data cats --size 16 --batch 8 --steps 2 --out none -q --no-report
ranks 0 1 --data cats --size 16 --batch 8 --steps 2 --out one -q --no-report
OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1 exits 0 --alone --data cats --size 16 --batch 8 --steps 2 --out alone -q \
    --no-report
for run in one alone; do same none/checkpoint.safetensors $run/checkpoint.safetensors; done
finish
