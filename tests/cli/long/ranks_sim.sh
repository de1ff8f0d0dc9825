#!/bin/sh
# Several processes with simulated GPUs, whose messages go by the simulator's NCCL (sim/nccl): with equal --shards,
# checkpoints have equal bytes for 1, 2 and 4 processes, with and without graphs; what is refused at the start; late and
# failing ranks. No deferred streams: in the simulator, only a process that waits for its GPU lets the GPU work.
. "$(dirname "$0")/../kit"
. "$(dirname "$0")/../ranks_kit"
if [ ! -x "${SIM_DCGAN:-}" ]; then
    skip 'no program with a simulated GPU: make check-all builds one and sets SIM_DCGAN'
    finish
fi
with_mpi openmpi || with_mpi mpich || { skip 'no MPI: no mpirun, or no plugin'; finish; }
DCGAN_MPI=$(cd "${program%/*}" && pwd)/dcgan-mpi-$plugin.so
case $SIM_DCGAN in /*) ;; *) SIM_DCGAN=$root/$SIM_DCGAN ;; esac
program=$SIM_DCGAN
DCGAN_NCCL=$(cd "$(dirname "$SIM_DCGAN")/.." && pwd)/nccl.so
TMPDIR=$dir
export DCGAN_MPI DCGAN_NCCL TMPDIR
unset SIM_DCGAN DCGAN_DEVICE
cd "$dir" || exit 1
awk '/^filters = 12$/ { $3 = 32 } /^filters = 8$/ { $3 = 16 } { print }' "$root/tests/tiny.cfg" > wide.cfg
exits 0 data --synthesize cats --count 29 --size 16 -q || finish

# gpus CODE W WORDS ARGUMENT...: W processes on four GPUs, whose behaviour is WORDS
gpus()
{
    gpus_code=$1 gpus_of=$2
    export SIM="devices=4 $3"
    shift 3
    ranks "$gpus_code" "$gpus_of" "$@"
    unset SIM
}
wide="--data cats --model wide.cfg --batch 8 --seed 5 --flip --no-report --grid 2x2 --shards 4 --threads 1 --epochs 2"
# kind NAME W ARGUMENT...: checkpoints by W processes, with and without graphs, and by one
kind()
{
    kind=$1 of=$2
    shift 2
    # shellcheck disable=SC2086 # $wide has several words
    {
        SIM='random lazy uneven' exits 0 $wide --device cuda --out "$kind-1" -q "$@"
        gpus 0 "$of" 'random lazy' $wide --out "$kind-$of" -q "$@"
        gpus 0 "$of" reverse $wide --out "$kind-eager" -q --no-graph "$@"
    }
    for out in "$of" eager; do same "$kind-1/checkpoint.safetensors" "$kind-$out/checkpoint.safetensors"; done
    ensure 'no file of NCCL should be left' [ -z "$(find . -maxdepth 1 -name 'dcgan-nccl-*')" ]
}
kind bf16 2 --precision bf16
kind four 4 --precision bf16
same bf16-1/checkpoint.safetensors four-4/checkpoint.safetensors
kind fp64 2 --precision fp64 --optimizer sgd --lr 0.01
if soaks; then
    kind fp32 2 --precision fp32 --ema 0.9 --loss ralsgan --augment color,translation,cutout
    kind unfused 2 --precision bf16 --fuse none
fi

# on by 2 processes, one late: the bytes of an uninterrupted run
# shellcheck disable=SC2086
gpus 0 4 forward $wide --out parts --steps 4
says note-group-gpus '4 processes on 1 machine by' 'NCCL 2.27.3, one GPU each'
DCGAN_TWIN='late=1:3' gpus 0 2 forward --resume --out parts --steps 0 --no-report -q
same parts/checkpoint.safetensors bf16-1/checkpoint.safetensors

# refused CODE KEY WORD SIM-WORDS ARGUMENT...: 2 processes end before they train
refused()
{
    refused=$1 key=$2 word=$3 words=$4
    shift 4
    # shellcheck disable=SC2086
    gpus "$refused" 2 "$words" $wide --out refused -q "$@"
    says "$key" "$word"
    ensure 'a refused run should leave no directory' [ ! -e refused ]
}
refused 2 ranks-same-gpu 'ranks 0 and 1 on' 'devices=1'
refused 2 ranks-same-gpu 'ranks 0 and 1 on' '' --device cuda:2
DCGAN_TWIN='version=1:21703' refused 5 ranks-nccl-old 'has NCCL 2.17.3' ''
DCGAN_TWIN='version=1:22800' refused 5 ranks-nccl-version 'has NCCL 2.28.0, rank 0 has 2.27.3' ''
DCGAN_NCCL=/nowhere.so refused 5 ranks-nccl 'NCCL cannot be loaded' ''
cat > one.sh << 'END'
#!/bin/sh
# runs the program on rank 1 with $WORDS as SIM and with the tuning file $OTHER
if [ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}" = 1 ]; then
    export SIM="devices=4 $WORDS"
    [ -z "$OTHER" ] || export DCGAN_TUNING="$OTHER"
fi
exec "$PROGRAM" "$@"
END
chmod +x one.sh
export PROGRAM="$program"
program=./one.sh
WORDS=devices=0 refused 5 ranks-no-gpu 'this process has no GPU that dcgan can use' ''
WORDS=sm=80 refused 5 ranks-device 'a GPU of sm_80, bf16, rank 0 on a GPU of sm_90, bf16' ''
printf '; by hand\n[sm_90]\nconv_fwd N=4 H=16 W=16 C=3>16 K=4 S=2 P=1 : direct\n' > other.tune
OTHER=other.tune refused 5 ranks-plans 'other kernels than those of rank 0' ''
program=$PROGRAM
# shellcheck disable=SC2086
gpus 2 4 devices=3 $wide --out refused -q
says ranks-gpus '4 processes on a machine with 3 GPUs'

# a rank that hangs within steps: rank 0 waits for its GPU, whose message does not end
# shellcheck disable=SC2086
{
    SIM=devices=4 timeout 100 $mpirun -n 2 "$program" $wide --out hangs --epochs 4000 --group-timeout 4 -q \
        > hangs.out 2>&1 < /dev/null &
    launched=$!
    for i in $(seq 400); do
        [ -s hangs/log.csv ] && [ "$(wc -l < hangs/log.csv)" -ge 4 ] && break
        sleep 0.1
    done
    for pid in $(pgrep -f -- '--out hangs '); do
        tr '\0' '\n' < "/proc/$pid/environ" | grep -qxE '(OMPI_COMM_WORLD_RANK|PMI_RANK)=1' || continue
        grep -qE '^(dcgan|cuda)' "/proc/$pid/comm" && kill -STOP "$pid" && stopped=$pid
    done
    for i in $(seq 60); do
        kill -0 $launched 2> /dev/null || break
        sleep 0.5
    done
    [ "$i" -lt 60 ]
    fact $? 'a rank that hangs ends the run'
    kill -9 "${stopped:-$launched}" 2> /dev/null
    wait $launched
    grep -qE 'no (word from rank 1|end of a message)' hangs.out
    fact $? 'rank 0 says who hangs:' hangs.out
}

# torchrun's variables: RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT, without MPI
port=30000
torch() # torch CODE W WORDS ARGUMENT...: W processes end with this code; $dir/.out and $dir/.err are of rank 0
{
    torch_code=$1 torch_of=$2 words=$3 port=$((port + 2)) pids=''
    shift 3
    for rank in $(seq $((torch_of - 1))) 0; do
        RANK=$rank WORLD_SIZE=$torch_of LOCAL_RANK=$rank MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
            SIM="devices=4 $words" timeout 120 "$program" "$@" > "$dir/.out" 2> "$dir/.err" &
        pids="$pids $!"
    done
    for pid in $pids; do
        wait "$pid"
        exited $? "$torch_code" "one of $torch_of processes, dcgan $*"
    done
}
mpi_plugin=$DCGAN_MPI
unset DCGAN_MPI
for of in 2 $(soaks && echo 4); do
    # shellcheck disable=SC2086
    torch 0 $of 'random lazy' $wide --out torch-$of
    says note-group-gpus "$of processes on 1 machine by torchrun and NCCL 2.27.3"
    same "torch-$of/checkpoint.safetensors" bf16-1/checkpoint.safetensors
done
if soaks; then
    # shellcheck disable=SC2086
    torch 0 2 reverse $wide --out torch-eager --no-graph -q
    same torch-eager/checkpoint.safetensors bf16-1/checkpoint.safetensors
fi
torchrun=${TORCHRUN:-$(command -v torchrun)}
if [ -n "$torchrun" ]; then
    # shellcheck disable=SC2086
    SIM='devices=4 random lazy' ends 0 torchrun "$torchrun" --no-python --nproc-per-node 2 "$program" $wide \
        --out torchrun -q
    same torchrun/checkpoint.safetensors bf16-1/checkpoint.safetensors
else
    skip 'no torchrun: its variables were set by this script'
fi
# shellcheck disable=SC2086
{
    torch 2 2 devices=0 $wide --out refused -q
    says torchrun-cpu 'starts no MPI'
    torch 2 2 forward $wide --out refused -q --device cpu
    torch 5 2 devices=1 $wide --out refused -q
    stderr_has 'two processes have the same GPU'
    RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 exits 2 $wide --out refused -q
    says torchrun-variable 'but no MASTER_ADDR'
    DCGAN_NCCL=/nowhere.so torch 5 2 forward $wide --out refused -q
    DCGAN_TWIN='fail=1:40' torch 5 2 forward $wide --out torch-failed -q
}
DCGAN_MPI=$mpi_plugin
export DCGAN_MPI

# a connection that fails within a step ends all ranks
# shellcheck disable=SC2086
DCGAN_TWIN='fail=1:12' gpus 5 2 forward $wide --out failed -q
stderr_has 'the connection between the GPUs has failed (NCCL 2.27.3: '
finish
