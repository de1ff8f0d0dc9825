/* The device interface of kernel files: the only header that .cu files include for device features. nvcc compiles a
 * kernel file for GPUs; g++ compiles the same file as C++20 for the simulator in sim/, which runs kernels on the CPU
 * and reports misuse. Code that depends on the compiler is in this header or the simulator, never in a kernel.
 *
 * Conventions, all required by the simulator:
 *   launches        KLAUNCH(kernel, grid, block, shared_bytes, stream, args...); KLAUNCH((kernel<64, 32>), ...)
 *                   for a template; KLAUNCH_COOP if the kernel calls GRID_SYNC(). Never <<<>>>. Arguments are
 *                   converted to the kernel's parameter types and copied at the launch: values and device pointers,
 *                   no references, no host pointers (also inside structs).
 *                   KLAUNCH_AFTER: like KLAUNCH, but on sm_90 and up blocks may start while the previous launch
 *                   still runs (programmatic dependent launch). Every thread calls grid_dependency_wait() before it
 *                   reads what earlier launches wrote or writes what they read. Allowed before the wait: indices,
 *                   shared memory, and grid_early_load and cp_async16_early of data that the previous launch does
 *                   not write (launches before the previous one have ended). grid_dependents_launch(), after the
 *                   wait, lets the next launch start, so that each launch waits for all launches before it.
 *                   No __restrict__ and no __ldg on data that other launches write. KLAUNCH_AFTER is like KLAUNCH
 *                   if dev_programmatic is false, and always after a copy or an event. In a captured graph,
 *                   KLAUNCH_AFTER becomes a programmatic edge.
 *                   KLAUNCH_CLUSTER: like KLAUNCH_AFTER, sm_90 only: blocks of equal x and y, at most 8, are a
 *                   cluster that runs concurrently and shares its shared memory (cluster.cuh).
 *   errors          the dispatcher sets dev_op = op->name before an op's launches and calls dev_take_fault() after
 *                   them: the first refused launch, with op, kernel, file and line.
 *   shared memory   SHARED(float, tile, [16][65]): static, at most 48 KB in all, 16-byte aligned, uninitialised (NaN
 *                   in the simulator). SHARED(int, last, ) is a scalar. Never a bare __shared__.
 *                   DYN_SHARED(float, p): all dynamic shared memory of the launch as one array. For several arrays
 *                       dev_pool pool; float *a = pool.take<float>(n), *b = pool.take<float>(m);
 *                   in the same order and size in all threads; the launch passes
 *                   dev_pool_bytes<float>(n) + dev_pool_bytes<float>(m). KLAUNCH raises the kernel's limit.
 *   assembly        only in the wrappers of this folder, each with a twin in sim/. Everything else is plain CUDA:
 *                   threadIdx, __syncthreads, __syncwarp, __shfl_*_sync, __ballot_sync, __ldg, float4, fmaf, ...
 *   checks          DEV_CHECK(condition): tested in the simulator only, for guarantees of a launcher:
 *                   DEV_CHECK(blockDim.x == NT).
 *   DEV_NOINLINE    a separate function, for code that many kernels run once.
 *   floating point  no float atomics (not declared in the simulator), sums in a fixed order.
 *   big headers     dominate compile time, so they are optional: before including this header #define DEV_RANDOM for
 *                   dev_normal4, DEV_GRID for GRID_SYNC, DEV_HALF for __nv_bfloat16 and __half, DEV_WGMMA for
 *                   dev_wgmma.cuh, the products of warpgroups, in a folder sm90a (cuda.mk).
 *   C headers       extern "C" { #include "core/plan/ops.h" }; launchers are extern "C" if C calls them. */
#ifndef DG_DEV_CUH
#define DG_DEV_CUH

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

#endif
