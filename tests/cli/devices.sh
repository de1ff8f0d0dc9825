#!/bin/sh
# --device, --list-devices and what a machine without a driver must be able to do.
. "$(dirname "$0")/kit"

# the program starts where there is no driver: neither it nor cuBLAS is linked
if command -v ldd > /dev/null; then
    ldd "$program" > "$dir/.out" 2>&1
    ran="ldd $program"
    prints libpng
    ! grep -E 'libcuda|libcublas|libcurand|libnvidia' "$dir/.out"
    fact $? "$program is linked to CUDA's libraries"
else
    skip 'no ldd'
fi

exits 0 --list-devices
silent
prints 'cpu '
grep -qE '^(cuda:0 |no CUDA device: .)' "$dir/.out"
fact $? "--list-devices should name a GPU or say why there is none: $(cat "$dir/.out")"
cp "$dir/.out" "$dir/list"
for c in train generate plan replay bench; do # whatever else a command would need
    exits 0 $c --list-devices
    same "$dir/list" "$dir/.out"
done

# cuda never falls back; auto does, to the CPU
exits 5 plan dcgan32 --device cuda:999
says '--device cuda'
exits 0 plan dcgan32 --device cpu
silent
cp "$dir/.out" "$dir/cpu"
if grep -q '^no CUDA device: ' "$dir/list"; then
    exits 5 plan dcgan32 --device cuda
    says "--device cuda: $(sed -n 's/^no CUDA device: //p' "$dir/list"); --device cpu needs none"
    exits 0 plan dcgan32 --device auto
    same "$dir/cpu" "$dir/.out"
else
    skip 'a machine with a GPU: no device cannot be tried'
fi
exits 2 plan --device cuda:x
says '--device cuda:x: unknown; allowed: auto, cpu, cuda or cuda:N'

# what belongs to the other kind of device is said
exits 0 plan dcgan32 --device cpu --tuning "$dir/none.tune"
says "--tuning $dir/none.tune is for CUDA devices"

# a run keeps its tuning file, by its full name
exits 0 data --synthesize "$dir/cats" --count 8 --size 32
cd "$dir" || exit 1
exits 0 --data cats --model dcgan32 --batch 8 --epochs 1 -q --out run --tuning my.tune
grep -qx "tuning = $dir/my.tune" run/config.ini
fact $? 'config.ini should hold the full name of --tuning'
finish
