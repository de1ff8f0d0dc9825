/* Products of bf16 by warpgroups: what mma.cuh has of a warp, for Hopper alone. A warpgroup has 64 rows, each of its
 * warps 16 of them, and B is read from where it lies. So is A where eight neighbouring positions lie one behind the
 * other; in small cells they are two rows of two cells, and A goes through registers. Planes of weights are spaced so
 * that 2 planes x 4 positions share no bank when they are written. */
#ifndef DG_WGMMA_CUH
#define DG_WGMMA_CUH

#define DEV_WGMMA
#include <type_traits>

#include "kernels/dev/mma.cuh"

struct dg_wgmma_bf16 : dg_mma_bf16 {
    static constexpr bool there = DEV_HAS_WGMMA, fused = there;
    static constexpr int warps = 4, swap = 0, spacing = 4;

    static __device__ __forceinline__ void publish() { wgmma_publish(); }
    template <class Sums> static __device__ __forceinline__ void finish(Sums &sums) { wgmma_wait(sums.c); }

    /* Of A and B the first units, or, where A goes through registers, this lane's unit of A. A matrix takes a dozen
     * instructions: once a block, not once a step. next_k, next_n: of the weights (dev_wgmma.cuh). */
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

    /* sums[q] += a * b for all q and some taps, which finish() waits for. P: the patch; a, b: `moved_a` and `moved_b`
     * units further; and how much further they are of tap t and sums q say at_a(t, q) and at_b(t, q). */
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

    /* The same of a weight gradient: sums[s] += a[k] * b for all k and s, where a is in registers and b, N-major, lies
     * at(k, s) units behind `b`. */
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

#endif
