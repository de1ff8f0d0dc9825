#!/bin/sh
# Faults that the simulator passes and an executor of PTX finds: each is planted in a copy of the sources, and the file
# that it is in, or whose header it is in, is compiled by nvcc and for the simulator. Its test has to fail on the
# executor, which passes without the fault, and has to pass in the simulator. A part of `make ptx-soak`:
# scripts/ptx-check --long sets BUILD, CUDA_ARCH, KEEP_PTX and PTXRUN. The last line is "N passed, N failed, N skipped".
# shellcheck disable=SC2086 # commands and lists of objects are words
set -u
cd "$(dirname "$0")/.." || exit 2
passed=0 failed=0 controlled=' '
tree=$(mktemp -d) || exit 2
trap 'rm -rf "$tree"' EXIT
trap 'exit 1' INT TERM
cp -R core kernels sim tests "$tree" || exit 2
export DG_TEST_SMALL=1 PTXRUN_VERBOSE=1 PTXRUN_COUNT=1 OMP_NUM_THREADS=1

programs=''
for t in cuda_each_op test_wrappers test_wrappers_wgmma test_fused_conv; do
    programs="$programs $BUILD/ptx/$t $BUILD/sim/plain/$t"
done
make -s -j"$(nproc)" FLAVOURS=plain $programs > "$tree/make.log" 2>&1 || { tail -n 5 "$tree/make.log"; exit 1; }
commands=$(make -s ptx-commands) || exit 2
nvcc='' ptx_link='' ptx_rest='' sim='' sim_link='' sim_rest='' # they are in what follows
eval "$commands"

verdict() # verdict CODE WORDS
{
    if [ "$1" -eq 0 ]; then passed=$((passed + 1)) && echo "ok    $2"
    else failed=$((failed + 1)) && echo "FAIL  $2"; fi
}
# ops TEST: its arguments, the ops whose kernels have a fault.
ops() { case $1 in cuda_each_op) echo sgd adagrad adadelta ;; esac; }
code=0 said=''
# on_executor TEST SOURCE: sets code, of the test with this source of the copy, and said, what it complains of.
on_executor()
{
    arch=90 objects=$tree/object.o
    case $2 in *wgmma*) arch=90a ;; esac
    case $1:$2 in
    *:tests/*) ;;
    cuda_*) objects="$BUILD/sim/tests/test_${1#cuda_}.o $objects" ;;
    *) objects="$BUILD/gpu/$1.cu.o $objects" ;;
    esac
    if ! { (cd "$tree" && $nvcc -gencode arch=compute_$arch,code=sm_$arch \
        -gencode arch=compute_$arch,code=compute_$arch -c -o object.o "$2") &&
        $ptx_link -o "$tree/program" $objects $ptx_rest; } > "$tree/log" 2>&1; then
        code=-1 said=$(head -n 3 "$tree/log")
        return
    fi
    # shellcheck disable=SC2046 # words
    timeout 300 "$tree/program" $(ops "$1") > "$tree/log" 2>&1
    code=$?
    said=$(grep -m 1 '^ptxrun: ERROR' "$tree/log" || grep -m 1 FAILED "$tree/log")
    case $said in
    'ptxrun: ERROR not known'*) code=-1 ;; # of what the executor lacks
    'ptxrun: ERROR'*) [ $code -ne 0 ] || code=1 ;;
    esac
}
# in_simulator TEST SOURCE: does it pass?
in_simulator()
{
    case $2 in
    tests/*) objects="$tree/object.o $sim_rest" ;;
    *) objects=$(echo " $sim_rest " | sed "s| [^ ]*/${2%.cu}\.o | $tree/object.o |") ;;
    esac
    case $1:$2 in
    *:tests/*) ;;
    cuda_*) objects="$BUILD/sim/tests/test_${1#cuda_}.o $objects" ;;
    *) objects="$BUILD/sim/plain/$1.o $objects" ;;
    esac
    # shellcheck disable=SC2046 # words
    (cd "$tree" && $sim -c -o object.o "$2") && $sim_link -o "$tree/program" $objects &&
        timeout 300 "$tree/program" $(ops "$1")
}

# fault NAME FILE SED TEST SOURCE: in FILE, seen by TEST, for which SOURCE has to be compiled.
fault()
{
    case $controlled in *" $5 "*) ;; *)
        on_executor "$4" "$5"
        verdict $code "without a fault, $4 with $5: $code${said:+, $said}"
        controlled="$controlled$5 " ;;
    esac
    sed "$3" "$2" > "$tree/$2"
    if cmp -s "$2" "$tree/$2"; then verdict 1 "$1: the fault changes nothing in $2"; return; fi
    on_executor "$4" "$5"
    [ "$code" -gt 0 ]
    verdict $? "$1: the executor: $code, $(echo "$said" | cut -c1-200)"
    in_simulator "$4" "$5" > "$tree/log" 2>&1
    verdict $? "$1: the simulator: $(tail -n 1 "$tree/log")"
    cp "$2" "$tree/$2"
}

wrappers=tests/kernels/dev/test_wrappers.cu
alone='template <class> struct same { static __device__ int of(int n) { return n; } };'
fault 'a function for the device alone, called by a template for the host' kernels/ops/update/update.cu \
    "/^#include.*sweep.cuh/s/\$/\\n$alone/;/^static void launch(/,/^}/s/n, width/n, same<real>::of(width)/" \
    cuda_each_op kernels/ops/update/update.cu
fault 'a wrong letter of a constraint' kernels/dev/tensor.cuh '/cvt.rn.bf16x2/s/"f"(low)/"r"((int)low)/' \
    test_wrappers $wrappers
fault 'operands of cvt exchanged' kernels/dev/tensor.cuh \
    '/cvt.rn.bf16x2/s/"f"(high), "f"(low)/"f"(low), "f"(high)/' test_wrappers $wrappers
fault 'a map of a fragment off by one register' kernels/dev/tensor.cuh \
    's/"r"(a\[0\]), "r"(a\[1\]), "r"(a\[2\])/"r"(a[0]), "r"(a[2]), "r"(a[1])/' test_wrappers $wrappers
fault 'more shared memory than was asked for' kernels/dev/launch.cuh \
    's/if (!shared) return cudaSuccess;/return cudaSuccess;/' test_wrappers $wrappers
fault 'a copy that nothing waits for' kernels/dev/async.cuh '/cp.async.wait_group/d' test_wrappers $wrappers
fault 'a store past the end of shared memory' kernels/dev/async.cuh \
    '/cp.async.cg/s/(dev_shared_address(dst))/(dev_shared_address(dst) + 16)/' test_wrappers $wrappers
fault 'vectors that are not aligned' kernels/fused/fused_thin_fwd.cuh \
    '/dg_thin_leave(/,/^}/{s/(shared + 2/(shared + 1 + 2/;s/shared\[2/shared[1 + 2/}' \
    test_fused_conv kernels/fused/fused_thin.cu
fault 'no wgmma.fence' kernels/dev/dev_wgmma.cuh '/wgmma.fence.sync/d' \
    test_wrappers_wgmma tests/kernels/dev/test_wrappers_wgmma.cu
fault 'stores that are not published to wgmma' kernels/dev/dev_wgmma.cuh '/fence.proxy.async/d' \
    test_wrappers_wgmma tests/kernels/dev/test_wrappers_wgmma.cu
fault 'a cluster that does not wait for its blocks' kernels/dev/cluster.cuh '/barrier.cluster.wait/d' \
    test_wrappers_wgmma tests/kernels/dev/test_wrappers_wgmma.cu
fault 'shared memory of the wrong block of a cluster' kernels/dev/cluster.cuh 's/"r"(rank)/"r"(rank ^ 1)/' \
    test_wrappers_wgmma tests/kernels/dev/test_wrappers_wgmma.cu
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
