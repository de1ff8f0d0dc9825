#!/bin/sh
# The build with and without nvcc: what scripts/build/detect-cuda finds, with a stub for nvcc, and that `make NVCC=`
# gives a program without CUDA.
. "$(dirname "$0")/kit"
fake=$dir/fake
mkdir "$fake"

# An nvcc of version $FAKE_RELEASE for the architectures $FAKE_OFFERS. It compiles unless $FAKE_ERROR is set.
cat > "$fake/nvcc" << 'END'
#!/bin/sh
case " $* " in
    *' --version '*) echo "Cuda compilation tools, release $FAKE_RELEASE, V$FAKE_RELEASE.1" ;;
    *' --list-gpu-arch '*) for a in $FAKE_OFFERS; do echo "compute_$a"; done ;;
    *' --dryrun '*) echo "#\$ LIBRARIES=  \"-L${0%/*}\"" >&2 ;;
    *' -c '*)
        if [ -n "$FAKE_ERROR" ]; then echo "$FAKE_ERROR" >&2; exit 1; fi
        for word in "$@"; do [ "$last" = -o ] && out=$word; last=$word; done
        echo 'int main(void) { return 0; }' | cc -x c -c -o "$out" - ;;
esac
END
# An nvidia-smi that lists the GPUs $FAKE_GPUS.
cat > "$fake/nvidia-smi" << 'END'
#!/bin/sh
for a in $FAKE_GPUS; do echo "$a"; done
END
chmod +x "$fake/nvcc" "$fake/nvidia-smi"
usual()
{
    unset NVCC
    export FAKE_RELEASE=12.4 FAKE_OFFERS='50 75 80 86 89 90' FAKE_ERROR='' FAKE_GPUS=''
}
usual

# finds CODE ARCH LINE...: exit code and output of scripts/build/detect-cuda; a LINE after ! must be absent. Then the
# variables are reset.
finds()
{
    status=$1 arch=$2
    shift 2
    ends "$status" "detect-cuda for $arch" env CUDA_ARCH="$arch" PATH="$fake:$PATH" sh "$root/scripts/build/detect-cuda"
    for line in "$@"; do
        case $line in
            !*) ! grep -qF -e "${line#!}" "$dir/.out"; fact $? "'$ran' should not print '${line#!}'" ;;
            *) prints "$line" ;;
        esac
    done
    usual
}
if command -v cc > /dev/null && ar rcs "$fake/libcudart_static.a" 2> "$dir/.err"; then
    finds 0 auto "NVCC := $fake/nvcc" 'CUDA_LIST := 75 80 90' 'CUDA_PTX := 90' 'CUDA_OFFERS := 75 80 86 89 90' \
        'CUDA_WIDE := 90a' '!CUDA_WHY' \
        'CUDA_WORD := CUDA 12.4 for sm_75 sm_80 sm_90 and PTX 90'
    finds 0 one 'CUDA_LIST := 90' 'CUDA_PTX := 90' 'CUDA_WIDE := 90a'
    finds 0 89,80 'CUDA_LIST := 80 89' 'CUDA_PTX := 89'
    FAKE_RELEASE=11.8
    finds 0 80,90 'CUDA_LIST := 80 90' '!CUDA_WIDE := 90a' # has sm_90, but not sm_90a
    FAKE_OFFERS='75 80 86'
    finds 0 80 'CUDA_LIST := 80' '!CUDA_WIDE := 90a'
    finds 1 80,100
    stderr_has "CUDA_ARCH=80,100: nvcc 12.4 offers 75 80 86 89 90, not '100'"
    finds 1 native
    stderr_has 'nvidia-smi shows no GPU here'
    FAKE_GPUS='8.6 7.5 8.6'
    finds 0 one 'CUDA_LIST := 75 86'
    FAKE_GPUS='8.6 7.5 8.6'
    finds 0 native 'CUDA_LIST := 75 86' 'CUDA_PTX := 86'
    FAKE_GPUS=12.0
    finds 0 one 'CUDA_PTX := 90' '!CUDA_LIST := 90'
    FAKE_GPUS=12.0
    # newer than this nvcc: PTX for the driver
    finds 0 auto 'CUDA_PTX := 90' 'CUDA_WORD := CUDA 12.4 for PTX 90'
    FAKE_GPUS=6.1
    finds 0 auto 'CUDA_LIST := 75 80 90' # older than the kernels: built for other machines
    FAKE_GPUS=6.1
    finds 1 native
    stderr_has 'the GPU here is sm_61'
    FAKE_ERROR='nvcc fatal: error -- unsupported GNU version! gcc versions later than 11 are not supported'
    finds 0 auto "CUDA_WHY := $fake/nvcc does not compile: nvcc fatal: error -- unsupported GNU version" '!NVCC :='
    FAKE_OFFERS=50
    finds 0 auto 'CUDA_WHY := nvcc 12.4 is too old'
    cc=${CC:-}
    export CC=/bin/false
    finds 0 auto "CUDA_WHY := $fake/nvcc does not link: "
    if [ -n "$cc" ]; then CC=$cc; else unset CC; fi
else
    skip "no cc or ar: $(cat "$dir/.err")"
fi
export NVCC=/bin/false
finds 0 auto 'CUDA_WHY := /bin/false does not run'
export NVCC=''
finds 0 auto 'CUDA_WHY := NVCC is empty'
export NVCC=''
finds 0 90 'CUDA_WORD := CUDA no (NVCC is empty)'

# `make NVCC=` with the objects of this build that do not depend on CUDA
build=$(dirname "$program")
[ "$build" -ef "$root" ] && build=$root/build
if command -v make > /dev/null && [ -e "$build/flags" ] && [ -e "$build/host/cli/main.o" ]; then
    mkdir "$dir/build"
    cp -pR "$build/flags" "$build/found.mk" "$build/core" "$build/host" "$build/kernels" "$dir/build"
    rm -f "$dir/build/kernels/cuda/no_cuda.o"
    ends 0 'make NVCC=' make NVCC= BUILD="$dir/build" "$dir/build/dcgan"
    prints kernels/cuda/no_cuda.c
    ! grep NVCC "$dir/.out"
    fact $? 'make NVCC= called nvcc'
    program=$dir/build/dcgan
    shows 'CUDA no (' --version
    exits 0 --list-devices
    prints 'cpu ' 'no CUDA device: this dcgan was built without CUDA ('
    refuses 5 built-without-cuda plan dcgan32 --device cuda
    exits 0 data --synthesize "$dir/cats" --count 8 --size 16
    quietly --data "$dir/cats" --model "$root/tests/tiny.cfg" --batch 4 --epochs 1 -q --device auto --out "$dir/run"
    holds "$dir/run/checkpoint.safetensors"
else
    skip 'make NVCC= is tried where the program was built'
fi
finish
