#!/bin/sh
# No driver, an old one, a broken one: each is said in its own words, by a stub in the place of libcuda.so.1.
. "$(dirname "$0")/kit"
"$program" --list-devices | grep -q 'built without CUDA' && { skip 'this dcgan was built without CUDA'; finish; }
mkdir "$dir/lib"
if ! ${CC:-cc} -w -shared -fPIC -o "$dir/lib/libcuda.so.1" "$root/tests/cli/libcuda_stub.c" 2> "$dir/.err"; then
    skip "no C compiler for the stub: $(head -n 1 "$dir/.err")"
    finish
fi
export LD_LIBRARY_PATH="$dir/lib"
built=$("$program" --version |
    sed -n 's/^.*CUDA [0-9.]* for \(.*\) and PTX \([0-9]*\)$/\1 and what is newer than sm_\2/p' |
    sed 's/ sm_/, sm_/g; s/than, sm/than sm/')
runtime=$("$program" --version | sed -n 's/^.*CUDA \([0-9]*\)\.\([0-9]*\) for .*$/\1.\2/p')
new=$((${runtime%.*} * 1000 + ${runtime#*.} * 10)) # as a driver says it
old=$((new - 1000))

# answers INIT VERSION TEXT: what cuInit and cuDriverGetVersion give, and what is said then
answers()
{
    export STUB_INIT="$1" STUB_VERSION="$2"
    exits 0 --list-devices
    [ "$(sed -n 's/^no CUDA device: //p' "$dir/.out")" = "$3" ]
    fact $? "error $1 of driver $2 should be '$3', not '$(tail -n 1 "$dir/.out")'"
    exits 5 plan dcgan32 --device cuda
    hint='plan --arch sm_90 plans for a GPU that is not here' # behind the program as it was called
    case "$(cat "$dir/.err")" in "dcgan: --device cuda: $3; --device cpu needs none; "*" $hint") ok=0 ;; *) ok=1 ;; esac
    fact $ok "error $1 of driver $2: --device cuda said '$(cat "$dir/.err")'"
    exits 0 plan dcgan32 --device auto # goes on with the CPU
}
answers 0 $old \
    "the NVIDIA driver is too old: it offers CUDA $((old / 1000)).$((old % 1000 / 10)), this program needs \
$runtime; update the driver, or build with an older nvcc"
answers 46 $new 'the GPU is in exclusive use by another process (nvidia-smi shows which)'
answers 100 $new 'no NVIDIA GPU is visible (see CUDA_VISIBLE_DEVICES and nvidia-smi)'
answers 209 $new "this dcgan has no code for this GPU: it is built for $built"
answers 222 $new "the NVIDIA driver is too old for the PTX of this dcgan, which is built for $built; \
update the driver, or build with CUDA_ARCH=native"
answers 803 $new \
    'the NVIDIA driver in the kernel and its libraries are of different versions; reboot, or install the driver again'
answers 804 $new \
    'the CUDA compatibility package that is installed does not serve this GPU; remove it, or update the driver'
answers 999 $new 'CUDA does not start: unknown error (cudaErrorUnknown, 999)'

# a library that is no driver at all counts as none
echo 'int nothing;' | ${CC:-cc} -w -shared -fPIC -o "$dir/lib/libcuda.so.1" -x c - 
answers 0 0 'no NVIDIA driver is loaded on this machine'

# training goes on with the CPU, whatever the driver does, and to the same bytes
exits 0 data --synthesize "$dir/cats" --count 8 --size 16
for d in cpu auto; do
    exits 0 --data "$dir/cats" --model "$root/tests/tiny.cfg" --batch 4 --epochs 1 -q --device $d --out "$dir/$d/run"
    silent
done
same "$dir/cpu/run/checkpoint.safetensors" "$dir/auto/run/checkpoint.safetensors"
exits 5 --data "$dir/cats" --model "$root/tests/tiny.cfg" --batch 4 --epochs 1 -q --device cuda --out "$dir/cuda/run"
lacks "$dir/cuda"
finish
