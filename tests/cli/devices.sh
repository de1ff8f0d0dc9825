#!/bin/sh
# --device, --list-devices, and commands on a machine without a driver.
. "$(dirname "$0")/kit"

# the program starts without a driver: neither it nor cuBLAS is linked
if command -v ldd > /dev/null; then
    ldd "$program" > "$dir/.out" 2>&1
    ran="ldd $program"
    prints libpng
    ! grep -E 'libcuda|libcublas|libcurand|libnvidia' "$dir/.out"
    fact $? "$program is linked to CUDA's libraries"
else
    skip 'no ldd'
fi

quietly --list-devices
prints 'cpu '
grep -qE '^(cuda:0 |no CUDA device: .)' "$dir/.out"
fact $? "--list-devices should name a GPU or say why there is none: $(cat "$dir/.out")"
cp "$dir/.out" "$dir/list"
for c in train generate plan replay bench; do # also without the other arguments of a command
    exits 0 $c --list-devices
    same "$dir/list" "$dir/.out"
done

# --device cuda never falls back to the CPU; auto does
exits 5 plan dcgan32 --device cuda:999
stderr_has '--device cuda'
quietly plan dcgan32 --device cpu
cp "$dir/.out" "$dir/cpu"
if grep -q '^no CUDA device: ' "$dir/list"; then
    exits 5 plan dcgan32 --device cuda
    stderr_has "--device cuda: $(sed -n 's/^no CUDA device: //p' "$dir/list")"
    exits 0 plan dcgan32 --device auto
    same "$dir/cpu" "$dir/.out"
else
    skip 'a machine with a GPU: no device cannot be tried'
fi
refuses 2 'bad-device cuda:x' plan --device cuda:x

# an option for the other kind of device
notes "tuning-unused $dir/none.tune" plan dcgan32 --device cpu --tuning "$dir/none.tune"

# config.ini has the full path of the tuning file
exits 0 data --synthesize "$dir/cats" --count 8 --size 32
cd "$dir" || exit 1
exits 0 --data cats --model dcgan32 --batch 8 --epochs 1 -q --out run --tuning my.tune
config run "tuning = $dir/my.tune"
finish
