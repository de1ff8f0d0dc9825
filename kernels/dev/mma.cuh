/* Matrix products on tensor cores in bf16 or fp16, with operands loaded from shared memory.
 *
 * An operand in shared memory consists of units of 16 bytes. A unit has 8 adjacent channels of one position. A position
 * is a pixel or a row of weights. Plane c of an operand has unit c of every position. The units of a plane are
 * consecutive. Consecutive planes start `pitch` units apart.
 *
 * A fragment load reads eight adjacent positions (128 bytes) of a plane without bank conflicts. All taps of a
 * convolution therefore share one copy of a plane. Eight threads at a time store 4 positions of 2 planes. These stores
 * have no bank conflicts if pitch % 8 is 4. If pitch % 8 is 0, odd planes avoid bank conflicts by storing position p at
 * index p ^ 4.
 *
 * For sums over channels, operands are read by rows, and a matrix row is a position. For sums over positions, operands
 * are read by columns, and a matrix row is a channel. */
#pragma once

#include <float.h>

#include "kernels/dev/cuda.cuh"

static __device__ __forceinline__ int dg_warp_lane() { return (int)threadIdx.x % 32; }

/* Returns v. The shuffle by all lanes prevents ptxas from recomputing v from threadIdx in loops. */
static __device__ __forceinline__ int dg_settled(int v) { return __shfl_xor_sync(0xffffffffu, v, 0); }

/* For operands read by rows: row or plane of the unit that this lane addresses. */
static __device__ __forceinline__ int dg_row_of_a() { return dg_warp_lane() % 16; }
static __device__ __forceinline__ int dg_plane_of_a() { return dg_warp_lane() / 16; }
static __device__ __forceinline__ int dg_row_of_b() { return dg_warp_lane() / 16 * 8 + dg_warp_lane() % 8; }
static __device__ __forceinline__ int dg_plane_of_b() { return dg_warp_lane() / 8 % 2; }

/* For operands read by columns: position (0 to 15) or plane of the unit that this lane addresses. */
static __device__ __forceinline__ int dg_column_of_a() { return dg_warp_lane() / 16 * 8 + dg_warp_lane() % 8; }
static __device__ __forceinline__ int dg_column_of_b() { return dg_warp_lane() % 16; }
static __device__ __forceinline__ int dg_columns_plane_of_a() { return dg_warp_lane() / 8 % 2; }
static __device__ __forceinline__ int dg_columns_plane_of_b() { return dg_warp_lane() / 16; }

/* Tensor-core products of one warp (mma.sync). The counterpart for warpgroups is in wgmma.cuh. If `there`, the
 * architecture supports the products. If `fused`, fused kernels use the products. If `scaled`, operands are multiplied
 * by a power of two before rounding, and sums are divided by it. `k` is the number of products that one instruction
 * adds to a sum. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define DG_MMA_BEFORE_SM_80 1
#else
#define DG_MMA_BEFORE_SM_80 0
#endif
struct dg_mma_bf16 {
    static constexpr bool there = !DG_MMA_BEFORE_SM_80, fused = there, scaled = false;
    static constexpr int warps = 1, unit = 8, k = 16;
    /* Position p of an odd plane of weights is stored at index p ^ swap. `spacing` unused units follow each plane. */
    static constexpr int swap = 4, spacing = 0;

    template <class P> using place_of_a = const uint4 *;
    using place_of_b = const uint4 *;
    template <class P> static __device__ __forceinline__ const uint4 *a_at(const uint4 *unit) { return unit; }
    static __device__ __forceinline__ const uint4 *b_at(const uint4 *unit, int, int) { return unit; }

    static __device__ __forceinline__ void publish() {
    } /* must be called before a barrier, so that products see stores to shared memory */
    template <class Sums> static __device__ __forceinline__ void finish(Sums &) {}

    static __device__ __forceinline__ uint4 round(const float (&v)[unit])
    {
        return make_uint4(to_bf16x2(v[0], v[1]), to_bf16x2(v[2], v[3]), to_bf16x2(v[4], v[5]), to_bf16x2(v[6], v[7]));
    }
    static __device__ __forceinline__ void multiply(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
    {
        mma_bf16(c, a, b);
    }
};

/* Products of fp16, with the fragment layouts of bf16. Turing supports fp16 but not bf16. Newer GPUs use bf16, which
 * is as fast and needs no scaling. On newer GPUs, only unfused kernels support fp16, for tests. */
struct dg_mma_fp16 : dg_mma_bf16 {
#ifdef __CUDA_ARCH__
    static constexpr bool there = true, fused = DG_MMA_BEFORE_SM_80, scaled = true;
#else
    static constexpr bool there = true, fused = true, scaled = true;
#endif

    /* Clamps finite values to the range of fp16, because an infinite gradient would end the run. Keeps NaN and
     * infinity. */
    static __device__ __forceinline__ float within(float v)
    {
        return fabsf(v) > 65504 && fabsf(v) <= FLT_MAX ? copysignf(65504, v) : v;
    }
    static __device__ __forceinline__ uint4 round(const float (&v)[unit])
    {
        return make_uint4(to_fp16x2(within(v[0]), within(v[1])), to_fp16x2(within(v[2]), within(v[3])),
                          to_fp16x2(within(v[4]), within(v[5])), to_fp16x2(within(v[6]), within(v[7])));
    }
    static __device__ __forceinline__ void multiply(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
    {
        mma_fp16(c, a, b);
    }
};

static __device__ __forceinline__ float dg_power_of_two(int n) { return __int_as_float((127 + n) << 23); }

/* A warp's 16*MI x 8*NJ sums. In the layout of mma_bf16, c[i][j] stores this lane's sums of the 16x8 block at row 16i
 * and column 8j. */
template <class E, int MI, int NJ> struct dg_sums {
    float c[MI][NJ][4];

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int i = 0; i < MI; i++)
#pragma unroll
            for (int j = 0; j < NJ; j++)
#pragma unroll
                for (int e = 0; e < 4; e++) c[i][j][e] = 0;
    }
    __device__ __forceinline__ void times(float factor)
    {
#pragma unroll
        for (int i = 0; i < MI; i++)
#pragma unroll
            for (int j = 0; j < NJ; j++)
#pragma unroll
                for (int e = 0; e < 4; e++) c[i][j][e] *= factor;
    }
    __device__ __forceinline__ void add(const uint32_t (&a)[MI][4], const uint32_t (&b)[NJ / 2][4])
    {
#pragma unroll
        for (int i = 0; i < MI; i++)
#pragma unroll
            for (int j = 0; j < NJ; j++) E::multiply(c[i][j], a[i], {b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]});
    }
    /* Stores this lane's sums of row i * 8 + lane / 4 in columns n, n + 1, n + 8, n + 9, ... If WHOLE is false,
     * columns from `columns` on are skipped. */
    template <bool WHOLE = false> __device__ __forceinline__ void store(float *row, int i, int n, int columns) const
    {
        row += n;
#pragma unroll
        for (int j = 0; j < NJ; j++)
            if (WHOLE || n + j * 8 < columns)
                dg_store<2>(row + j * 8, dg_pack<float, 2>{{c[i / 2][j][i % 2 * 2], c[i / 2][j][i % 2 * 2 + 1]}});
    }
    template <bool WHOLE>
    __device__ __forceinline__ void store_rounded(void *to, int at, int i, int n, int columns) const
    {
        uint32_t *const row = reinterpret_cast<uint32_t *>(static_cast<uint16_t *>(to) + (at + n));
#pragma unroll
        for (int j = 0; j < NJ; j++)
            if (WHOLE || n + j * 8 < columns)
                row[j * 4] = to_bf16x2(c[i / 2][j][i % 2 * 2], c[i / 2][j][i % 2 * 2 + 1]);
    }
};
