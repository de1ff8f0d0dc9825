#!/bin/sh
# Groups of processes: the calls of core/group over each MPI that was found, agreement on errors, waiting without use of
# a processor, the time limit, and how a plugin is found. The ranks are $OBJECTS/tests/test_ranks.
. "$(dirname "$0")/kit"
objects=$(cd "${OBJECTS:-build}" && pwd) || exit 1
ranks=$objects/tests/test_ranks
[ -x "$ranks" ] || { skip "there is no $ranks: make tests"; finish; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}" # MPI keeps memory until the process ends

# launcher KIND VERSION-WORD: sets mpirun to the command that starts processes of this MPI
launcher()
{
    for mpirun in "mpirun.$1" mpirun mpiexec.hydra; do
        "$mpirun" --version 2>&1 | grep -qi "$2" && return
    done
    return 1
}
# start CODE W CASE...: W ranks run a case of test_ranks and end with this code
start()
{
    started_code=$1 started=$2
    shift 2
    # shellcheck disable=SC2086 # $mpirun has options
    ends "$started_code" "$mpirun -n $started test_ranks $*" timeout 60 $mpirun -n "$started" "$ranks" "$@"
}
reports() # reports W: each of W ranks has a line of counts without failures
{
    [ "$(grep -c '^[0-9]* passed, 0 failed, 0 skipped$' "$dir/.out")" -eq "$1" ]
    fact $? "'$ran' should have $1 reports without failures:" "$dir/.out"
}

# mpi KIND NAME W...: all cases with one MPI, which counts W ranks
mpi()
{
    kind=$1 name=$2
    shift 2
    export DCGAN_MPI="${program%/*}/dcgan-mpi-$kind.so"
    for w; do
        start 0 "$w" calls "$w"
        reports "$w"
        [ "$w" -eq 1 ] || prints "name: $name"
        start 0 "$w" agree
        reports "$w"
    done
    start 0 2 unlimited 2
    start 0 2 turn 2
    reports 2
    start 0 2 paused 3
    reports 2
    host=$(uname -n)
    start 5 2 silent 1
    stderr_has "no word from rank 1 ($host) for 1 s"
    start 5 2 silent 0
    stderr_has "rank 1 on $host: no word from rank 0 ($host) for 1 s"
    start 3 2 abort 1

    mkdir -p "$dir/bin" "$dir/lib/dcgan"
    cp "$ranks" "$dir/bin/test_ranks"
    ranks=$dir/bin/test_ranks
    unset DCGAN_MPI
    start 2 2 calls 2
    stderr_has 'started as one of 2 processes by mpirun, but this dcgan has no plugin for MPI: build dcgan'
    for place in bin lib/dcgan; do
        cp "${program%/*}/dcgan-mpi-$kind.so" "$dir/$place"
        start 0 2 calls 2
        rm "$dir/$place/dcgan-mpi-$kind.so"
    done
    ranks=$objects/tests/test_ranks
}

found=''
if [ -e "${program%/*}/dcgan-mpi-openmpi.so" ] && launcher openmpi 'open mpi\|openrte'; then
    mpirun="$mpirun --oversubscribe --bind-to none" found=openmpi
    mpi openmpi 'Open MPI ' 1 2 4
    export DCGAN_MPI="${program%/*}/dcgan-mpi-openmpi.so"
    start 5 4 silent 2
    stderr_has "no word from rank 2 ($host) for 1 s"
else
    skip 'Open MPI is not here: no plugin or no mpirun'
fi
if [ -e "${program%/*}/dcgan-mpi-mpich.so" ] && launcher mpich hydra; then
    mpi mpich 'MPICH ' 2
    if [ -n "$found" ]; then # the plugin of the other MPI finds one process
        export DCGAN_MPI="${program%/*}/dcgan-mpi-openmpi.so"
        start 2 2 calls 2
        stderr_has 'mpirun started process 1 of 2, but Open MPI' 'finds process 0 of 1: it is not the MPI of mpirun'
    fi
    found="$found mpich"
else
    skip 'MPICH is not here: no plugin or no mpirun'
fi

# plugins that do not fit, without a launcher
export OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0
export DCGAN_MPI="$dir/other.so"
ends 2 'test_ranks with a missing plugin' "$ranks" calls
stderr_has "DCGAN_MPI=$dir/other.so: cannot be loaded"
if echo 'const int dcgan_mpi = 999;' | ${CC:-cc} -shared -fPIC -o "$dir/other.so" -x c - 2> "$dir/.err"; then
    ends 2 'test_ranks with a plugin of another version' "$ranks" calls
    stderr_has "$dir/other.so: plugin of another dcgan (interface 999, expected 1)"
else
    skip "no C compiler for a plugin: $(head -n 1 "$dir/.err")"
fi
finish
