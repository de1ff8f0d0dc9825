/* What a kernel file may use of the device: the only header that .cu files include for device matters. The same
 * file is compiled by nvcc for GPUs and, as C++20, by g++ for the simulator in sim/, which runs it on the
 * CPU and reports misuse. What differs between the two is in this header or in the simulator, never in a kernel.
 *
 * Conventions, each of them needed by the simulator:
 *   launches        KLAUNCH(kernel, grid, block, shared_bytes, stream, args...); KLAUNCH((kernel<64, 32>), ...)
 *                   for a template; KLAUNCH_COOP when the kernel calls GRID_SYNC(). Never <<<>>>. Arguments are
 *                   converted to the kernel's parameter types and copied at the launch; a kernel takes values and
 *                   device pointers, no references, no host pointers (not inside structs either).
 *                   KLAUNCH_AFTER: as KLAUNCH, but on sm_90 and up the blocks may start while the launch in front of
 *                   them still runs (programmatic dependent launch). Its kernel calls grid_dependency_wait() in
 *                   every thread, before it touches what earlier launches wrote, or writes what they read; before
 *                   that there are indices, shared memory and, by grid_early_load and cp_async16_early, reads of
 *                   what the launch just in front does not write (that one began when all before it had ended).
 *                   grid_dependents_launch() lets the next launch start; it comes after the wait, so that each
 *                   launch waits for all before it. No __restrict__ and no __ldg for what other launches write:
 *                   they promise that nobody does. dev_programmatic = false makes plain launches of them; after a
 *                   copy or an event they are that anyhow. In a captured graph they become programmatic edges.
 *                   KLAUNCH_CLUSTER: as KLAUNCH_AFTER, on sm_90 alone, and the blocks of equal x and y, at most 8,
 *                   are a cluster: they run at once, and read each other's shared memory (cluster.cuh).
 *   errors          the dispatcher sets dev_op = op->name before an op's launches and calls dev_take_fault() after
 *                   them: the first launch that was refused, with op, kernel, file and line.
 *   shared memory   SHARED(float, tile, [16][65]); static, 48 KB in all, 16-byte aligned, holds garbage (NaN in the
 *                   simulator). SHARED(int, last, ) is a scalar. Never a bare __shared__.
 *                   DYN_SHARED(float, p): all dynamic shared memory of the launch as one array. For several arrays
 *                       dev_pool pool; float *a = pool.take<float>(n), *b = pool.take<float>(m);
 *                   in the same order and size in all threads; the launch asks for
 *                   dev_pool_bytes<float>(n) + dev_pool_bytes<float>(m). KLAUNCH raises the kernel's limit.
 *   assembly        only in the wrappers of this folder, each with a twin in sim/. Everything else is plain CUDA:
 *                   threadIdx, __syncthreads, __syncwarp, __shfl_*_sync, __ballot_sync, __ldg, float4, fmaf, ...
 *   checks          DEV_CHECK(condition): tested in the simulator, nothing on a device. For what a launcher must
 *                   guarantee: DEV_CHECK(blockDim.x == NT).
 *   DEV_NOINLINE    a function of its own: what many kernels do once need not be compiled into each.
 *   floating point  no float atomics (not declared in the simulator), sums in a fixed order.
 *   big headers     take most of the time in which a small file compiles, so #define before including this one
 *                   DEV_RANDOM for dev_normal4, DEV_GRID for GRID_SYNC, DEV_HALF for __nv_bfloat16 and __half; and
 *                   DEV_WGMMA for dev_wgmma.cuh, the products of warpgroups, in a folder sm90a (cuda.mk).
 *   C headers       extern "C" { #include "core/plan/ops.h" }; launchers are extern "C" where C calls them. */
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
#ifdef DEV_RANDOM /* 200 KB of tables for generators that we do not use */
#include <curand_kernel.h>
#endif
#else
#include <tuple>
#include "sim/sim.h"
#endif

#include "kernels/dev/launch.cuh"
#include "kernels/dev/shared.cuh"

#ifdef __CUDACC__ /* the simulator's twins are in sim/sim.h */
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
