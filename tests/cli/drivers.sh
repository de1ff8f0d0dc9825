#!/bin/sh
# No driver, an old or a broken driver: each has its message. A stub replaces libcuda.so.1.
. "$(dirname "$0")/kit"
"$program" --list-devices | grep -q 'built without CUDA' && { skip 'this dcgan was built without CUDA'; finish; }
mkdir "$dir/lib"
if ! ${CC:-cc} -w -shared -fPIC -o "$dir/lib/libcuda.so.1" "$root/tests/cli/libcuda_stub.c" 2> "$dir/.err"; then
    skip "no C compiler for the stub: $(head -n 1 "$dir/.err")"
    finish
fi
export LD_LIBRARY_PATH="$dir/lib"
built=$("$program" --version | sed -n 's/^.*CUDA [0-9.]* for \(.*\) and PTX [0-9]*$/\1/p' | sed 's/ sm_/, sm_/g')
runtime=$("$program" --version | sed -n 's/^.*CUDA \([0-9]*\)\.\([0-9]*\) for .*$/\1.\2/p')
new=$((${runtime%.*} * 1000 + ${runtime#*.} * 10)) # as a driver reports it
old=$((new - 1000))

# answers INIT VERSION KEY VALUE...: the results of cuInit and cuDriverGetVersion, and the message
answers()
{
    export STUB_INIT="$1" STUB_VERSION="$2"
    shift 2
    shows "no CUDA device: [$1]" --list-devices
    exits 5 plan dcgan32 --device cuda
    says "$@"
    stderr_has "--device cuda: [$1]" '--device cpu' ' plan --arch sm_90 '
    exits 0 plan dcgan32 --device auto # uses the CPU
}
answers 0 $old old-driver "CUDA $((old / 1000)).$((old % 1000 / 10))" "$runtime"
answers 46 $new exclusive-gpu nvidia-smi
answers 100 $new no-visible-gpu CUDA_VISIBLE_DEVICES nvidia-smi
answers 209 $new no-code-for-gpu "$built"
answers 222 $new old-driver-for-ptx "$built" CUDA_ARCH=native
answers 803 $new driver-mismatch
answers 804 $new compatibility-package
answers 999 $new cuda-start-failed 'unknown error (cudaErrorUnknown, 999)'

# a library without the functions of a driver counts as no driver
echo 'int nothing;' | ${CC:-cc} -w -shared -fPIC -o "$dir/lib/libcuda.so.1" -x c - 
answers 0 0 no-driver

# --device auto trains on the CPU, to the same bytes
exits 0 data --synthesize "$dir/cats" --count 8 --size 16
for d in cpu auto; do
    quietly --data "$dir/cats" --model "$root/tests/tiny.cfg" --batch 4 --epochs 1 -q --device $d --out "$dir/$d/run"
done
same "$dir/cpu/run/checkpoint.safetensors" "$dir/auto/run/checkpoint.safetensors"
exits 5 --data "$dir/cats" --model "$root/tests/tiny.cfg" --batch 4 --epochs 1 -q --device cuda --out "$dir/cuda/run"
lacks "$dir/cuda"
finish
