/* Declarations shared by the CUDA kernels: one launcher per op of DG_OPS, and helpers for launchers.
 *
 * A launcher is a template, instantiated for float and double at the end of its file. Fast variants support only
 * float, and only shapes that the variant table accepts (core/plan/variant.h). A launcher only enqueues kernels,
 * because stream captures forbid allocations and waits. Kernels do not use float atomics, so the order of every sum
 * depends on shapes and tuning only.
 *
 * The first comment of a kernel file states the tile, the shared memory, the registers per thread and the bound.
 * Register counts are those of ptxas -v for sm_90. */
#pragma once

#include <string.h>

#include "kernels/dev/dev.cuh"
extern "C" {
#include "core/plan/variant.h"
#include "kernels/ops/values.h"
}

#define X(kind, member, cpu) \
    template <class real> void dg_cuda_##kind(const dg_##member##_args *a, const dg_tune *tune, cudaStream_t stream);
DG_OPS(X)
#undef X

#define DG_INSTANTIATE(kind, member)                                                                \
    template void dg_cuda_##kind<float>(const dg_##member##_args *, const dg_tune *, cudaStream_t); \
    template void dg_cuda_##kind<double>(const dg_##member##_args *, const dg_tune *, cudaStream_t);

/* Number of values per load or store: 4 fp32 values or 1 fp64 value. */
template <class real> constexpr int dg_wide = sizeof(real) == 4 ? 4 : 1;
template <class real, int n> struct alignas(sizeof(real) * n) dg_pack {
    real v[n];
};
template <int n, class real> static __device__ __forceinline__ dg_pack<real, n> dg_load(const real *p)
{
    return *reinterpret_cast<const dg_pack<real, n> *>(p);
}
template <int n, class real> static __device__ __forceinline__ void dg_store(real *p, const dg_pack<real, n> &v)
{
    *reinterpret_cast<dg_pack<real, n> *>(p) = v;
}

template <class real> static inline int dg_width(const dg_tune *tune)
{
    return tune->variant == &dg_vector ? dg_wide<real> : 1;
}

template <int n> struct dg_constant {
    __host__ __device__ constexpr operator int() const { return n; }
};

/* Calls body(n) with n as a compile-time constant, so that one kernel implements the variants `direct` and `vector`. */
template <class real, class F> static __device__ __forceinline__ void dg_packed(int width, const F &body)
{
    if (dg_wide < real >> 1 && width > 1) body(dg_constant<dg_wide<real>>());
    else body(dg_constant<1>());
}

template <class T> __host__ __device__ constexpr T dg_div_up(T a, T b) { return (a + b - 1) / b; }

static inline dim3 dg_grid(int64_t items, int block) { return dim3((unsigned)((items + block - 1) / block)); }

static __device__ __forceinline__ int64_t dg_thread() { return (int64_t)blockIdx.x * blockDim.x + threadIdx.x; }

/* Returns the sum of v over a warp to all lanes. */
template <class T> static __device__ __forceinline__ T dg_sum_of_warp(T v)
{
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
    return v;
}

/* Returns term(0) + .. + term(n - 1), added in this order, to thread 0. All threads of the block must call it. `room`
 * has ROOM elements of shared memory. */
template <int ROOM, class T, class function>
static __device__ __forceinline__ T dg_sum_in_order(int n, T *room, function term)
{
    T sum = {};
    for (int first = 0; first < n; first += ROOM) {
        const int some = n - first < ROOM ? n - first : ROOM;
        for (int i = (int)threadIdx.x; i < some; i += (int)blockDim.x) room[i] = term(first + i);
        __syncthreads();
        for (int k = 0; k < some && threadIdx.x == 0; k++) sum += room[k];
        __syncthreads();
    }
    return sum;
}
