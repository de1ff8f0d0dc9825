/* Products of warpgroups in bf16: the counterpart of mma.cuh for Hopper. A warpgroup computes 64 rows of results, 16
 * per warp. Operands are read from shared memory. Only operand A of 4x4 cells (P::small) is loaded into registers,
 * because wgmma reads eight contiguous positions. The spacing of weight planes avoids bank conflicts of stores. */
#pragma once

#define DEV_WGMMA
#include <type_traits>

#include "kernels/dev/mma.cuh"

struct dg_wgmma_bf16 : dg_mma_bf16 {
    static constexpr bool there = DEV_HAS_WGMMA, fused = there;
    static constexpr int warps = 4, swap = 0, spacing = 4;

    static __device__ __forceinline__ void publish() { wgmma_publish(); }
    template <class Sums> static __device__ __forceinline__ void finish(Sums &sums) { wgmma_wait(sums.c); }

    template <class P> using place_of_a = typename std::conditional<P::small, const uint4 *, dev_matrix>::type;
    using place_of_b = dev_matrix;
    template <class P> static __device__ __forceinline__ place_of_a<P> a_at(const uint4 *unit)
    {
        if constexpr (P::small) return unit;
        else return dev_matrix::of(unit, P::plane, P::line);
    }
    static __device__ __forceinline__ dev_matrix b_at(const uint4 *unit, int next_k, int next_n)
    {
        return dev_matrix::of(unit, next_k, next_n);
    }

    /* Adds the products of TAPS taps to every sums[q]. The function finish() waits for the products. P: type of the
     * input patch in shared memory. For tap t of sums[q], operand A starts moved_a + at_a(t, q) units after `a`.
     * Operand B starts moved_b + at_b(t, q) units after `b`. */
    template <class P, bool TRANS_B, int TAPS, int Q, int NJ, class AtA, class AtB>
    static __device__ __forceinline__ void products(float (&sums)[Q][NJ][4], place_of_a<P> a, int moved_a, dev_matrix b,
                                                    int moved_b, AtA at_a, AtB at_b)
    {
        b = b.at(moved_b);
        if constexpr (P::small) {
            uint32_t fa[TAPS][Q][4];
#pragma unroll
            for (int k = 0; k < TAPS * Q; k++) ldsm_x4(fa[k / Q][k % Q], a + moved_a + at_a(k / Q, k % Q));
            wgmma_begin(sums);
#pragma unroll
            for (int k = 0; k < TAPS * Q; k++)
                wgmma_bf16<TRANS_B>(sums[k % Q], fa[k / Q][k % Q], b.at(at_b(k / Q, k % Q)));
        } else {
            a = a.at(moved_a);
            wgmma_begin(sums);
#pragma unroll
            for (int k = 0; k < TAPS * Q; k++)
                wgmma_bf16<TRANS_B>(sums[k % Q], a.at(at_a(k / Q, k % Q)), b.at(at_b(k / Q, k % Q)));
        }
        wgmma_commit();
    }

    /* Computes sums[s] += a[k] * B(k, s) for all k and s, as weight gradients require. B(k, s) is N-major and starts
     * at(k, s) units after `b`. */
    template <int K, int S, int NJ, class At>
    static __device__ __forceinline__ void products_of_columns(float (&sums)[S][NJ][4], const uint32_t (&a)[K][4],
                                                               dev_matrix b, At at)
    {
        wgmma_begin(sums);
#pragma unroll
        for (int k = 0; k < K; k++)
#pragma unroll
            for (int s = 0; s < S; s++) wgmma_bf16<true>(sums[s], a[k], b.at(at(k, s)));
        wgmma_commit();
    }
};
