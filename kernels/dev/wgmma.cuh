/* Products of bf16 by warpgroups: what mma.cuh has of a warp, for Hopper alone. A warpgroup has 64 rows, each of its
 * warps 16 of them, and B is read from where it lies. So is A where eight neighbouring positions lie one behind the
 * other; in small cells they are two rows of two cells, and A goes through registers. Planes of weights are spaced so
 * that 2 planes x 4 positions share no bank when they are written. */
#ifndef DG_WGMMA_CUH
#define DG_WGMMA_CUH

#define DEV_WGMMA
#include "kernels/dev/mma.cuh"

struct dg_wgmma_bf16 : dg_mma_bf16 {
    static constexpr bool there = DEV_HAS_WGMMA, fused = there;
    static constexpr int warps = 4, swap = 0, spacing = 4;

    static __device__ __forceinline__ void publish() { wgmma_publish(); }
    template <class Sums> static __device__ __forceinline__ void finish(Sums &sums) { wgmma_wait(sums.c); }

    /* sums[q] += a * b for all q and some taps, which finish() waits for. P: the patch; a, b: of the first units of A,
     * or, where it goes through registers, of this lane's, and of the weights; how much further they are of tap t and
     * sums q say at_a(t, q) and at_b(t, q). next_k, next_n: of the weights (dev_wgmma.cuh). */
    template <class P, bool TRANS_B, int TAPS, int Q, int NJ, class AtA, class AtB>
    static __device__ __forceinline__ void products(float (&sums)[Q][NJ][4], const uint4 *a, const uint4 *b, int next_k,
                                                    int next_n, AtA at_a, AtB at_b)
    {
        const dev_matrix of_b = dev_matrix::of(b, next_k, next_n);
        if constexpr (P::small) {
            uint32_t fa[TAPS][Q][4];
#pragma unroll
            for (int k = 0; k < TAPS * Q; k++) ldsm_x4(fa[k / Q][k % Q], a + at_a(k / Q, k % Q));
            wgmma_begin(sums);
#pragma unroll
            for (int k = 0; k < TAPS * Q; k++)
                wgmma_bf16<TRANS_B>(sums[k % Q], fa[k / Q][k % Q], of_b.at(at_b(k / Q, k % Q)));
        } else {
            const dev_matrix of_a = dev_matrix::of(a, P::plane, P::line);
            wgmma_begin(sums);
#pragma unroll
            for (int k = 0; k < TAPS * Q; k++)
                wgmma_bf16<TRANS_B>(sums[k % Q], of_a.at(at_a(k / Q, k % Q)), of_b.at(at_b(k / Q, k % Q)));
        }
        wgmma_commit();
    }

    /* The same of a weight gradient: sums[s] += a[k] * b for all k and s, where a is in registers and b, N-major, lies
     * at(k, s) units behind `b`. */
    template <int K, int S, int NJ, class At>
    static __device__ __forceinline__ void products_of_columns(float (&sums)[S][NJ][4], const uint32_t (&a)[K][4],
                                                               const uint4 *b, int next_k, int next_n, At at)
    {
        const dev_matrix of_b = dev_matrix::of(b, next_k, next_n);
        wgmma_begin(sums);
#pragma unroll
        for (int k = 0; k < K; k++)
#pragma unroll
            for (int s = 0; s < S; s++) wgmma_bf16<true>(sums[s], a[k], of_b.at(at(k, s)));
        wgmma_commit();
    }
};

#endif
