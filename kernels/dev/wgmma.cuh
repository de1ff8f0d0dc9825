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

    /* The products of some taps for pieces one behind the other, which finish() waits for. P: the patch; a: of the
     * first unit of A, or, where it goes through registers, of this lane's; tap(t): how much further it is of tap t; b,
     * next_k, next_n: the weights of the first tap (dev_wgmma.cuh), next_tap units from those of the next one. */
    template <class P, bool TRANS_B, int TAPS, int PIECES, int NJ, class Tap>
    static __device__ __forceinline__ void products(float (&sums)[PIECES][NJ][4], const uint4 *a, const uint4 *b,
                                                    int next_k, int next_n, int next_tap, Tap tap)
    {
        const dev_matrix of_b = dev_matrix::of(b, next_k, next_n);
        if constexpr (P::small) {
            uint32_t fa[TAPS][PIECES][4];
#pragma unroll
            for (int t = 0; t < TAPS; t++)
#pragma unroll
                for (int p = 0; p < PIECES; p++) ldsm_x4(fa[t][p], a + P::of_piece(p) + tap(t));
            wgmma_begin(sums);
#pragma unroll
            for (int t = 0; t < TAPS; t++)
#pragma unroll
                for (int p = 0; p < PIECES; p++) wgmma_bf16<TRANS_B>(sums[p], fa[t][p], of_b.at(t * next_tap));
        } else {
            const dev_matrix of_a = dev_matrix::of(a, P::plane, P::line);
            wgmma_begin(sums);
#pragma unroll
            for (int t = 0; t < TAPS; t++)
#pragma unroll
                for (int p = 0; p < PIECES; p++)
                    wgmma_bf16<TRANS_B>(sums[p], of_a.at(P::of_piece(p) + tap(t)), of_b.at(t * next_tap));
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
