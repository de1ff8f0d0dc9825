/* The device interface of kernel files: the only header that .cu files include for device features. The compiler is
 * nvcc for GPUs and g++ (C++20) for the simulator in sim/. The simulator runs kernels on the CPU and detects
 * violations of most of the following rules.
 *
 * Kernels are launched by KLAUNCH(kernel, grid, block, shared_bytes, stream, args...), never by <<<>>>. A template
 * kernel needs parentheses: (kernel<64, 32>). Use KLAUNCH_COOP if the kernel calls GRID_SYNC(). Kernel arguments are
 * values and device pointers, also inside structs. KLAUNCH raises the kernel's limit of dynamic shared memory.
 *
 * On sm_90 and up, KLAUNCH_AFTER is a programmatic dependent launch: its blocks may start while the previous launch
 * still runs. Every thread must call grid_dependency_wait(). Before grid_dependency_wait(), a kernel may only compute
 * indices, write shared memory, and load data that the previous launch does not write. Loads before
 * grid_dependency_wait() use grid_early_load() or cp_async16_early(). After the wait, grid_dependents_launch() lets
 * the next launch start. Data that other launches write must not be read through __restrict__ or __ldg. After a copy
 * or an event, or if dev_programmatic is false, KLAUNCH_AFTER is an ordinary launch. KLAUNCH_CLUSTER (sm_90) is
 * KLAUNCH_AFTER with clusters (cluster.cuh). The blocks of a cluster (up to 8) have equal blockIdx.x and blockIdx.y.
 *
 * The dispatcher sets dev_op = op->name before an op's launches and calls dev_take_fault() after the launches.
 *
 * SHARED(float, tile, [16][65]) declares a static array in shared memory. SHARED(int, last, ) declares a scalar.
 * Static shared memory has at most 48 KB and is 16-byte aligned. In the simulator, shared memory is NaN until it is
 * written. DYN_SHARED(float, p) declares all dynamic shared memory as one array. A dev_pool divides dynamic shared
 * memory into arrays (`float *a = pool.take<float>(n)`). All threads must call take() with equal sizes in equal order.
 * The launch must request the sum of dev_pool_bytes<float>(n) over all arrays.
 *
 * Inline assembly is allowed only in this folder, in functions that also have a simulated version in sim/.
 * DEV_CHECK(condition) is an assertion that only the simulator checks. DEV_NOINLINE marks large functions that run
 * rarely. Float atomics are not allowed, because sums must have a fixed order.
 *
 * Large headers are optional, because they dominate compile time. A file defines DEV_RANDOM to use dev_normal4,
 * DEV_GRID for GRID_SYNC, DEV_HALF for __nv_bfloat16 and __half, or DEV_WGMMA for dev_wgmma.cuh. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

extern "C" {
#include "core/base/rng.h"
}

#ifdef __CUDACC__
#include <cuda_runtime.h>
#ifdef DEV_GRID
#include <cooperative_groups.h>
#endif
#ifdef DEV_HALF
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif
#ifdef DEV_RANDOM /* cuRAND's header has 200 KB of tables for unused generators */
#include <curand_kernel.h>
#endif
#else
#include <tuple>
#include "sim/sim.h"
#endif

#include "kernels/dev/launch.cuh"
#include "kernels/dev/shared.cuh"

#ifdef __CUDACC__
#include "kernels/dev/async.cuh"
#include "kernels/dev/cluster.cuh"
#include "kernels/dev/tensor.cuh"
#ifdef DEV_WGMMA
#include "kernels/dev/dev_wgmma.cuh"
#endif
#ifdef DEV_RANDOM
#include "kernels/dev/random.cuh"
#endif
#endif
