#!/bin/sh
# dcgan batch on the simulated GPU: measured times, the utilisation of an NVML stub, windows, rules, and a run with
# --batch auto.
. "$(dirname "$0")/sim_kit"
model="$root/tests/tiny.cfg"
"$program" data --synthesize "$dir/cats" --count 24 --size 16 -q
export DCGAN_SECONDS=0.3

sim forward 0 batch "$model" --data "$dir/cats" --min-batch 4 --max-batch 6 -q
silent
prints 'cuda:0, Simulated GPU 0' 'The GPU is simulated' '4: the smallest size that was tried'
! grep -q busy "$dir/.out"
fact $? 'without NVML there is no column of the usage'
sim forward 0 batch "$model" --data "$dir/cats" --min-batch 4 --max-batch 4 --json -q
prints '"percent_of_peak":'
sim forward 5 batch "$model" --data "$dir/cats" --device-memory 0.1 -q
says does-not-fit 'cuda:0, Simulated GPU 0'
sim forward 0 batch "$model" --data "$dir/cats" --min-batch 16 --rule epoch-time --steps 1 -q
prints 'epoch-time: '
sim forward 5 batch "$model" --data "$dir/cats" --min-batch 16 --rule usage --steps 1 -q
stderr_has libnvidia-ml.so.1
sim forward 0 plan "$model" --fit
prints 'the largest batch that fits is '

# an NVML stub that reports 87% for the GPU at this bus address
if ${CC:-cc} -w -shared -fPIC -o "$dir/libnvidia-ml.so.1" -x c - << 'END'; then
#include <string.h>
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **out) { *out = 0; return strcmp(bus, "0000:01:00.0"); }
int nvmlDeviceGetUtilizationRates(void *device, unsigned *out) { out[0] = 87; out[1] = 12; return device != 0; }
END
    export LD_LIBRARY_PATH="$dir"
    sim forward 0 batch "$model" --data "$dir/cats" --min-batch 4 --max-batch 4 -q
    prints '    busy' '    87.0%'
    sim forward 0 batch "$model" --data "$dir/cats" --min-batch 16 --rule usage --steps 1 -q
    prints ' 87.00%'
    sim forward 0 batch "$model" --data "$dir/cats" --sweep 4-6:2 --seconds 0.01 --json -q
    [ "$(grep -c '"busy_percent":.87' "$dir/.out")" -eq 2 ]
    fact $? "both sizes should have NVML's number: $(cat "$dir/.out")"
    unset LD_LIBRARY_PATH
else
    skip 'no C compiler for an NVML that pretends'
fi

# a run with --batch auto equals one with that batch size
trains 'random lazy uneven' 0 auto --epochs 2 --batch auto --min-batch 4 --max-batch 4
trains 'random lazy uneven' 0 four --epochs 2 --batch 4
same_run auto four
config "$dir/auto/run" 'batch = 4'
finish
