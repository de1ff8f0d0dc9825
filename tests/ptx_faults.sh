#!/bin/sh
# Faults that the simulator cannot see and an executor of PTX reports: each is planted in a copy of the sources, the
# kernels that it is in are compiled by nvcc, and their test has to fail on the executor; in the simulator, plain, the
# same test of the same sources has to pass. A part of `make ptx-soak`: scripts/ptx-check --long sets BUILD, CUDA_ARCH,
# KEEP_PTX and PTXRUN, and has built the test programs. The last line is "N passed, N failed, N skipped".
set -u
cd "$(dirname "$0")/.." || exit 2
passed=0 failed=0
tree=$(mktemp -d) || exit 2
trap 'rm -rf "$tree"' EXIT
trap 'exit 1' INT TERM
git ls-files -z | xargs -0 cp --parents -p -t "$tree" || exit 2
rest=$(make -s PTXRUN="$PTXRUN" ptx-rest) || exit 2
nvcc=$(sed -n 's/^NVCC := //p' "$BUILD/cuda-found.mk")
export DG_TEST_SMALL=1 PTXRUN_VERBOSE=1 PTXRUN_COUNT=1
# The simulator is built here, so that what did not change is compiled once.
(cd "$tree" && unset KEEP_PTX && make -s -j"$(nproc)" NVCC= BUILD=build FLAVOURS=plain build/sim/plain/test_wrappers \
    build/sim/plain/test_wrappers_wgmma build/sim/plain/test_fused_dense build/sim/plain/test_conv_mma \
    build/sim/plain/cuda_act) > "$tree/make.log" 2>&1 ||
    { tail -n 5 "$tree/make.log"; exit 1; }

verdict() # verdict CODE WORDS
{
    if [ "$1" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    [ "$1" -eq 0 ] && echo "ok    $2" || echo "FAIL  $2"
}

# fault NAME FILE SED TEST SOURCE...: in FILE, seen by TEST, for which SOURCE has to be compiled.
fault()
{
    name=$1 file=$2 change=$3 test=$4
    shift 4
    cp -p "$tree/$file" "$tree/kept"
    sed -i "$change" "$tree/$file"
    cmp -s "$tree/kept" "$tree/$file" && { verdict 1 "$name: the fault does not change $file"; return; }
    objects=''
    for source; do
        arch=90
        case $source in *wgmma*) arch=90a ;; esac
        "$nvcc" -std=c++17 -O3 -I"$tree" -I"$tree/include" -I"$tree/tests" --no-compress \
            -gencode arch=compute_$arch,code=sm_$arch -gencode arch=compute_$arch,code=compute_$arch \
            -c -o "$tree/${source##*/}.o" "$tree/$source" > "$tree/nvcc.log" 2>&1 || break
        objects="$objects $tree/${source##*/}.o"
    done
    case $test in cuda_*) objects="$BUILD/sim/tests/test_${test#cuda_}.o $objects" ;; esac
    case " $* " in *" tests/"*) ;; *)
        case $test in test_*) objects="$BUILD/gpu/$test.cu.o $objects" ;; esac ;;
    esac
    # shellcheck disable=SC2086 # words
    if g++ -fopenmp -o "$tree/program" $objects $rest > "$tree/link.log" 2>&1; then
        timeout 300 "$tree/program" > "$tree/log" 2>&1
        code=$?
        said=$(grep -m 1 -E '^ptxrun: ERROR|FAIL|refused|differ' "$tree/log" | cut -c1-160)
        [ "$code" -ne 0 ] || grep -qE '^ptxrun: ERROR' "$tree/log"
        verdict $? "$name: the executor ends with $code: $said"
    else
        verdict 1 "$name does not build: $(cat "$tree/nvcc.log" "$tree/link.log" | head -n 3)"
    fi
    (cd "$tree" && unset KEEP_PTX && make -s -j"$(nproc)" NVCC= BUILD=build FLAVOURS=plain "build/sim/plain/$test") \
        > "$tree/make.log" 2>&1 && "$tree/build/sim/plain/$test" > "$tree/sim.log" 2>&1
    verdict $? "$name: the simulator passes it"
    cp "$tree/kept" "$tree/$file"
}

fault 'a function for the device in a template for the host' kernels/ops/act/act.cu \
    '/static void launch_act(/,/^}/s|dg_grid(a->n / n,|dg_grid(a->n / n + 0 * dg_thread(),|' \
    cuda_act kernels/ops/act/act.cu
fault 'a wrong letter of a constraint' kernels/dev/tensor.cuh \
    '/cvt.rna.tf32/s/"f"(x)/"r"((int)x)/' test_wrappers tests/kernels/dev/test_wrappers.cu
fault 'operands of cvt exchanged' kernels/dev/tensor.cuh \
    '/cvt.rn.bf16x2/s/"f"(high), "f"(low)/"f"(low), "f"(high)/' test_wrappers tests/kernels/dev/test_wrappers.cu
fault 'registers of a fragment exchanged' kernels/dev/tensor.cuh \
    's/"r"(a\[0\]), "r"(a\[1\]), "r"(a\[2\])/"r"(a[0]), "r"(a[2]), "r"(a[1])/' test_wrappers \
    tests/kernels/dev/test_wrappers.cu
fault 'vectors that are not aligned' kernels/fused/fused_dense.cu \
    's/LINE = DEPTH + 4;/LINE = DEPTH + 3;/' test_fused_dense kernels/fused/fused_dense.cu
fault 'more shared memory than was asked for' kernels/dev/launch.cuh \
    's/if (!shared) return cudaSuccess;/return cudaSuccess;/' test_conv_mma kernels/ops/conv/sm80/conv_mma_fwd.cu
fault 'no wgmma.fence' kernels/dev/dev_wgmma.cuh \
    '/wgmma.fence.sync/d' test_wrappers_wgmma tests/kernels/dev/test_wrappers_wgmma.cu
fault 'stores behind the end' kernels/ops/act/act.cu \
    '/act_kernel(real/,/^}/s/if (i >= count) return;/if (i >= count + 64) return;/' cuda_act kernels/ops/act/act.cu
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
