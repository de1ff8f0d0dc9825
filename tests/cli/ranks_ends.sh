#!/bin/sh
# Several processes: what is refused, and runs whose processes get signals or are killed. All processes end, the
# checkpoint is whole, and the resumed run has the bytes of an uninterrupted one. The first argument is the number of
# moments at which a process is killed (default 3).
. "$(dirname "$0")/kit"
. "$(dirname "$0")/ranks_kit"
moments=${1:-3}
PRELOADS=${PRELOADS:-$root/build/tests/preload}
with_mpi openmpi || with_mpi mpich || { skip 'no MPI: no mpirun, or no plugin'; finish; }
cd "$dir" || exit 1
exits 0 data --synthesize cats --count 37 --size 16 -q || finish
exits 0 data --synthesize others --count 37 --size 16 --seed 2 -q || finish
mkdir -p few/cats other-images nothing && cp cats/*[0-8].png few/cats && mv others other-images/cats || exit 1

# `other` changes the arguments or the environment of rank 1
cat > wrapper << 'END'
#!/bin/sh
if [ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}" = 1 ]; then . ./other; fi
exec "$real" "$@"
END
chmod +x wrapper
real=$program
export real
# odd SHELL-TEXT CODE KEY MESSAGE: rank 1 of 2 runs the text first; rank 0 says the message of rank 1, once
odd()
{
    echo "$1" > other
    program=$PWD/wrapper
    ranks "$2" 2 --data cats --size 16 --batch 8 --steps 2 --out no --no-report
    program=$real
    [ -z "$3" ] || stderr_has "[$3] "
    stderr_has "$4"
    fact "$(grep -c 'rank 1 on' "$dir/.err" | grep -cvx 1)" 'only one process should print:' "$dir/.err"
    ensure 'a refused run leaves no directory' test ! -e no
}
odd 'set -- "$@" --lr 0.5' 2 ranks-options 'lr = 0.5 here, lr = 0.0002 on rank 0'
there="export LD_PRELOAD=$PRELOADS/other_host.so" # on another machine, which decodes images itself
odd "$there; cd few" 3 ranks-image-count 'images here, 37 on rank 0'
odd "$there; cd other-images" 3 ranks-images 'cats: not the images of rank 0'
odd "$there; cd nothing" 3 '' 'cats: No such file or directory'
odd 'set -- "$@" --lrx 1' 2 option-near 'unknown option --lrx'
! grep -q avx2 /proc/cpuinfo || odd 'export DCGAN_ISA=base' 5 ranks-device 'set DCGAN_ISA to an instruction set'
sed 's/dcgan \([0-9]\)[.]\([0-9]\)[.]\([0-9]\) (/dcgan \1.\2.\3 [/' "$program" > newer && chmod +x newer
cp "${program%/*}"/dcgan-mpi-*.so . || true
odd "real=$PWD/newer" 2 ranks-version 'every process needs the same program'

gan='--data cats --size 16 --batch 8 --no-report --grid 2x2'
# shellcheck disable=SC2086
{
    ranks 2 3 $gan --out no -q
    says ranks-not-shards '3 processes cannot share 4 shards'
    ranks 2 2 $gan --shards 1 --out no -q
    says ranks-not-shards '2 processes cannot share 1 shard'
    ranks 2 2 $gan --batch auto --out no -q
    says ranks-batch-auto auto
}
network zca.cfg '[model] name=zca size=16 classes=2 input=zca' '[C] norm=none act=none' '[C.1] op=dense filters=2'
exits 0 data --synthesize shapes --count 44 --size 16 --classes 2 -q
ranks 2 2 --data shapes --model zca.cfg --batch 8 --out no -q
says ranks-zca 'input = zca'
ensure 'a refused run leaves no directory' test ! -e no
# shellcheck disable=SC2086
ranks 2 2 $gan --cache /dev/null --group-timeout 20 --out no -q # seen by rank 0 before the run begins
stderr_has /dev/null
mkdir bare && cp "$program" bare/dcgan
# shellcheck disable=SC2086
DCGAN_MPI='' ends 2 'dcgan without plugins' $mpirun -n 2 bare/dcgan $gan --out no -q
says no-mpi 'no plugin for MPI'

# pid_of RUN RANK: the process of this rank
pid_of()
{
    for p in $(pgrep -f -- "--out $1"); do
        tr '\0' '\n' < "/proc/$p/environ" 2> /dev/null | grep -qxE "(OMPI_COMM_WORLD_RANK|PMI_RANK)=$2" || continue
        tr '\0' '\n' < "/proc/$p/comm" 2> /dev/null | grep -q '^dcgan' && echo "$p" && return
    done
}
# start RUN STEPS-ARGUMENT...: 4 processes in the background
start()
{
    started=$1
    shift
    # shellcheck disable=SC2086
    timeout 60 $mpirun -n 4 "$program" $gan --shards 4 --out "$started" "$@" -q > "$started.out" 2>&1 < /dev/null &
    launched=$!
}
# gone RUN: all processes have ended within 10 s
gone()
{
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        pgrep -f -- "--out $1 " > /dev/null || break
        sleep 0.5
    done
    [ "$i" -lt 20 ]
    fact $? "the processes of $1 should end within 10 s"
    wait "$launched"
    launched_code=$?
}
# shellcheck disable=SC2086
exits 0 $gan --shards 4 --epochs 40 --out whole -q
# waits RUN LINES: until the log of the run has this many lines
waits()
{
    for i in $(seq 200); do
        [ -s "$1/log.csv" ] && [ "$(wc -l < "$1/log.csv")" -ge "$2" ] && return
        sleep 0.05
    done
    fact 1 "$1 should have $2 lines in its log"
}
for moment in $(seq "$moments"); do
    start "killed$moment" --epochs 4000 --checkpoint-every 1
    waits "killed$moment" $((3 + moment * 37 % 90))
    victim=$(pid_of "killed$moment" $(((moment + 2) % 4)))
    ensure "rank $(((moment + 2) % 4)) of killed$moment runs" kill -9 "$victim"
    gone "killed$moment"
    [ "$launched_code" -ne 0 ]
    fact $? "a launcher whose process was killed should fail"
    exits 0 --resume --out "killed$moment" --epochs 40 -q
    same whole/checkpoint.safetensors "killed$moment/checkpoint.safetensors"
done

# SIGUSR1 to a follower ends the run after its step, with a checkpoint
start noticed --epochs 4000
waits noticed 4
kill -USR1 "$(pid_of noticed 2)"
gone noticed
[ "$launched_code" -eq $((128 + 10)) ]
fact $? "SIGUSR1 to rank 2 should end the run with 128 + its number, not $launched_code" noticed.out
exits 0 --resume --out noticed --epochs 1 -q
rm cats/*7.png
ranks 3 2 --resume --out whole --epochs 50 -q
says ranks-other-images '37 images before'
finish
