#!/bin/sh
# Images that are too large for memory: the same checkpoints from memory, from a file and through windows, also for
# several processes; no temporary file after a kill; damage, a full disk, a slow disk. A cache of a million
# images is in long/large_cache.sh.
. "$(dirname "$0")/kit"
. "$(dirname "$0")/ranks_kit"
PRELOADS=${PRELOADS:-$root/build/tests/preload}
cd "$dir" || exit 1
mkdir tmp
export TMPDIR="$dir/tmp"
exits 0 data --synthesize cats --count 303 --size 16 -q || finish
exits 0 data --synthesize shapes --count 300 --size 16 --classes 3 -q || finish
network few.cfg '[model] name=few size=16 classes=3 input=standard' '[C] kernel=3 norm=batch act=relu' \
    '[C.1] filters=6 stride=2' '[C.2] op=dropout p=0.3' '[C.3] op=dense filters=3 norm=none act=none'

left_nothing() # left_nothing WORDS
{
    [ -z "$(ls -A tmp)" ]
    fact $? "$1: nothing is left in TMPDIR"
}
# in_all_ways NAME ARGUMENT...: checkpoints are equal. The last limit of device memory is just too small for the images.
in_all_ways()
{
    name=$1
    shift
    set -- "$@" --batch 8 --no-curves --no-report --grid 3x3 --threads 1
    exits 5 "$@" --out none -q --device-memory 0.1
    least=$(sed -n 's/.* needs \([0-9.]*\) MB.*/\1/p' "$dir/.err" | awk '{ print $1 + 0.06 }')
    exits 0 "$@" --out "$name" -q
    for way in '--image-memory 0.001' '--image-memory 0.001 --cache made' '--image-memory 0.001 --cache made' \
        "--device-memory $least" "--device-memory $least --image-memory 0.001 --cache made" '--cache made'; do
        rm -rf other
        # shellcheck disable=SC2086 # words
        exits 0 "$@" --out other $way
        case $way in *device-memory*) says note-windows ;; *) never_says note-windows ;; esac
        case $way in
        *image-memory*made) says note-images-in-cache ;;
        *image-memory*) says note-images-in-file ;;
        *) never_says note-images-in-file ;;
        esac
        same "$name/checkpoint.safetensors" other/checkpoint.safetensors
        left_nothing "$name with $way"
    done
    rm -f made
}
in_all_ways gan --data cats --size 16 --epochs 2 --flip
gan_least=$least
in_all_ways classes --data shapes --size 16 --epochs 2 --conditional --eval-every 1
in_all_ways classifier --data shapes --model few.cfg --epochs 2 --test 0.2

gan='--data cats --size 16 --batch 8 --epochs 2 --no-report --grid 2x2'
# the first process of a machine decodes, the others read its file; windows have only the images of own shards
if with_mpi openmpi || with_mpi mpich; then
    # shellcheck disable=SC2086 # words
    {
        exits 0 $gan --shards 4 --threads 1 --out one -q
        ranks 5 4 $gan --shards 4 --threads 1 --out none -q --device-memory 0.1
        least=$(sed -n 's/.* needs \([0-9.]*\) MB.*/\1/p' "$dir/.err" | awk '{ print $1 + 0.06 }')
        for way in '' "--device-memory $least" "--image-memory 0.001 --device-memory $least"; do
            rm -rf four
            ranks 0 4 $gan --shards 4 --threads 1 --out four $way
            case $way in '') never_says note-windows ;; *) says note-windows ;; esac
            same one/checkpoint.safetensors four/checkpoint.safetensors
            left_nothing "4 processes $way"
        done
    }
    # rank 1 on another machine, and processes without a file to share: they decode images themselves
    # shellcheck disable=SC2016,SC2086 # for wrapper; words
    {
        printf '%s\n' '#!/bin/sh' '[ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}" != 1 ] || export LD_PRELOAD="$other"' \
            'exec "$@"' > wrapper
        chmod +x wrapper
        other=$PRELOADS/other_host.so ends 0 'processes of two machines' $mpirun -n 2 ./wrapper "$program" $gan \
            --shards 4 --threads 1 --out two
        says note-group '2 machines'
        same one/checkpoint.safetensors two/checkpoint.safetensors
        rm -rf two
        TMPDIR=$dir/nowhere ends 0 'processes without TMPDIR' env OMPI_MCA_orte_tmpdir_base="$dir" \
            $mpirun -n 2 "$program" $gan --shards 4 --threads 1 --out two -q
        same one/checkpoint.safetensors two/checkpoint.safetensors
    }
    if command -v strace > /dev/null; then
        # shellcheck disable=SC2086 # words
        strace -f -qq -e trace=openat -o opened $mpirun -n 4 "$program" $gan --shards 4 --out counted -q \
            > "$dir/.out" 2> "$dir/.err"
        [ "$(grep 'cat-00000.png' opened | awk '{ print $1 }' | sort -u | wc -l)" -eq 1 ]
        fact $? 'one process of four opens the images'
    fi
fi

# shellcheck disable=SC2086 # words
{
    # a killed run leaves nothing in TMPDIR
    "$program" $gan --epochs 9999 --out killed -q --image-memory 0.001 > "$dir/.killed" 2>&1 &
    pid=$!
    until [ -e killed/checkpoint.safetensors ]; do sleep 0.1; done
    kill -9 $pid
    wait $pid 2> /dev/null
    left_nothing 'a killed run'

    # a disk without room for the images; the images would fit into memory without the limit
    ends 4 'a limit of the file size' sh -c "ulimit -f 100; exec \"\$0\" \"\$@\"" "$program" $gan --out none -q \
        --image-memory 0.001
    says disk-space
    stderr_has 'too large for memory' 'set TMPDIR'
    TMPDIR=$dir/nowhere exits 4 $gan --out none -q --image-memory 0.001
    says no-temporary nowhere

    # an interrupted command leaves no part of a cache
    if [ -e "$PRELOADS/faults.so" ]; then
        ends 130 'data with Ctrl-C' env --default-signal=INT LD_PRELOAD="$PRELOADS/faults.so" \
            FAULT=signal:write:20 "$program" data cats --size 16 --cache made --image-memory 0.001
        [ -z "$(find . -maxdepth 1 -name '*made*')" ]
        fact $? "an interrupted command leaves no cache: $(ls -A)"
    fi
    exits 0 data cats --size 16 --image-memory 0.001 --augment color --aug-preview preview.png
    ensure 'a preview of augmentations' test -s preview.png

    # a damaged image ends the run with its name when it is read; the checkpoint before it is resumed without the cache
    exits 0 $gan --out damaged -q --cache made --image-memory 0.001 --checkpoint-every 1
    printf '?' | dd of=made bs=1 seek=$((4096 + 77 * 768 + 5)) conv=notrunc 2> /dev/null
    exits 3 --resume --out damaged --epochs 3
    says image-file-wrong 77, cat-00077.png:
    rm made
    exits 0 --resume --out damaged --epochs 3 -q
    exits 0 $gan --epochs 3 --out whole -q
    equal damaged whole

    # dcgan data reads and checks all images of a cache
    exits 0 data cats --size 16 --cache made --image-memory 0.001
    prints '303 usable images'
    printf '?' | dd of=made bs=1 seek=$((4096 + 5 * 768)) conv=notrunc 2> /dev/null
    exits 3 data cats --size 16 --cache made --image-memory 0.001
    says image-file-wrong 5, cat-00005.png:
    rm made

    # a slow disk: 240 images, two of which are read in 20 ms; then a disk that fails
    set -- $gan --image-memory 0.001 --device-memory "$gan_least" --epochs 1 --limit 240
    if [ -e "$PRELOADS/slow_reads.so" ]; then
        ends 0 'a slow disk' env LD_PRELOAD="$PRELOADS/slow_reads.so" "$program" "$@" --out slow
        says note-waited
        ends 4 'a failing disk' env LD_PRELOAD="$PRELOADS/slow_reads.so" SLOW_READS=100 "$program" "$@" --out fails -q
        says image-file-unread Input/output
    fi
}
finish
