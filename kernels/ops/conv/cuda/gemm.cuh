/* Inner loop of the tiled convolutions: a block's tile of C = A * B in fp32. Asynchronous copies load operands to
 * shared memory stages - 1 steps ahead.
 *
 * An operand has the same innermost dimension in shared and global memory, so that every copy has 16 bytes. An operand
 * stored by rows has layout [BM][BK + 4]. A row has 20 words, so that reads of neighbouring rows have no bank
 * conflicts. An operand stored by columns has layout [BK][BM]. From it, a thread reads four adjacent values of m. */
#pragma once

#include "kernels/ops/conv/cuda/conv.cuh"

/* One operand. B, T: values of m (or n) per block and thread. BK: values of k per stage. BY_ROWS: k is innermost. */
template <int B, int T, int BK, bool BY_ROWS> struct dg_side {
    static constexpr int words = BY_ROWS ? B * (BK + DG_TILED_PAD) : BK * B;
    static constexpr int line = BY_ROWS ? BK + DG_TILED_PAD : B;
    static constexpr int packs = (BY_ROWS ? BK : B) / 4;
    static constexpr int threads = B / T;

    static __device__ __forceinline__ int index(int i, int t)
    {
        return BY_ROWS ? i * threads + t : (i / 4) * threads * 4 + t * 4 + i % 4;
    }
};

/* A block computes BM x BN results, a thread TM x TN results. A stage has BK values of k. A_ROWS, B_ROWS: operand A or
 * B is stored by rows. */
template <int BM_, int BN_, int BK_, int TM_, int TN_, bool A_ROWS, bool B_ROWS> struct dg_gemm {
    static constexpr int BM = BM_, BN = BN_, BK = BK_, TM = TM_, TN = TN_;
    static constexpr int NT = (BM / TM) * (BN / TN);
    /* Larger values of KS and UNROLL spill registers. */
    static constexpr int KS = TM * TN >= 64 && A_ROWS != B_ROWS ? 2 : 4, UNROLL = TM * TN <= 16 ? BK / KS : 1;
    typedef dg_side<BM, TM, BK, A_ROWS> A;
    typedef dg_side<BN, TN, BK, B_ROWS> B;
    static constexpr size_t stage_bytes = (size_t)(A::words + B::words) * sizeof(float);

    static_assert(BK == DG_TILED_K && A::words + B::words == DG_TILED_WORDS(BM, BN, A_ROWS, B_ROWS),
                  "DG_TILED_WORDS must be the number of words in shared memory");
    static_assert(TM % 4 == 0 && TN % 4 == 0 && BK % 4 == 0,
                  "TM, TN and BK must be multiples of four for 16-byte copies");
    static_assert((BM * BK / 4) % NT == 0 && (BN * BK / 4) % NT == 0,
                  "each thread must copy equally many packs of four values");
    static_assert(NT % A::packs == 0 && NT % B::packs == 0,
                  "each thread must copy the same columns of each of its rows");
    static_assert(NT % 32 == 0 && (BN / TN) % 8 == 0 && (BM / TM) % 4 == 0,
                  "the threads of a tile must form warps of 4 x 8 threads");

    /* This thread's position in the tile. A warp is 4 x 8 threads, to avoid bank conflicts. */
    static __device__ __forceinline__ void place(int *ty, int *tx)
    {
        constexpr int across = (BN / TN) / 8;
        const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
        *tx = warp % across * 8 + lane % 8;
        *ty = warp / across * 4 + lane / 8;
    }

    static __device__ __forceinline__ void multiply(float (&acc)[TM][TN], const float *a, const float *b, int ty,
                                                    int tx)
    {
#pragma unroll UNROLL
        for (int k = 0; k < BK; k += KS) {
            float bb[KS][TN];
            if (B_ROWS) {
#pragma unroll
                for (int j = 0; j < TN; j++) {
                    const dg_pack<float, KS> v = dg_load<KS>(b + B::index(j, tx) * B::line + k);
#pragma unroll
                    for (int q = 0; q < KS; q++) bb[q][j] = v.v[q];
                }
            } else {
#pragma unroll
                for (int q = 0; q < KS; q++)
#pragma unroll
                    for (int j = 0; j < TN; j += 4) {
                        const dg_pack<float, 4> v = dg_load<4>(b + (k + q) * B::line + B::index(j, tx));
#pragma unroll
                        for (int e = 0; e < 4; e++) bb[q][j + e] = v.v[e];
                    }
            }
            if (A_ROWS) {
#pragma unroll
                for (int i = 0; i < TM; i++) {
                    const dg_pack<float, KS> v = dg_load<KS>(a + A::index(i, ty) * A::line + k);
#pragma unroll
                    for (int q = 0; q < KS; q++)
#pragma unroll
                        for (int j = 0; j < TN; j++) acc[i][j] += v.v[q] * bb[q][j];
                }
            } else {
#pragma unroll
                for (int q = 0; q < KS; q++)
#pragma unroll
                    for (int i = 0; i < TM; i += 4) {
                        const dg_pack<float, 4> v = dg_load<4>(a + (k + q) * A::line + A::index(i, ty));
#pragma unroll
                        for (int e = 0; e < 4; e++)
#pragma unroll
                            for (int j = 0; j < TN; j++) acc[i + e][j] += v.v[e] * bb[q][j];
                    }
            }
        }
    }

    /* Adds the products of `steps` steps to acc. A loader's `load(tile)` is called once per step, in order, and starts
     * asynchronous copies. The dynamic shared memory has stages * stage_bytes, for 2 to 4 stages. */
    template <class LoadA, class LoadB>
    static __device__ __forceinline__ void run(float (&acc)[TM][TN], LoadA &load_a, LoadB &load_b, int steps,
                                               int stages)
    {
        DEV_CHECK(blockDim.x == NT);
        DYN_SHARED(float, shared);
        constexpr int words = A::words + B::words;
        int ty, tx;
        place(&ty, &tx);
        for (int s = 0; s < stages - 1; s++) {
            if (s < steps) {
                load_a.load(shared + s * words);
                load_b.load(shared + s * words + A::words);
            }
            cp_async_commit();
        }
        int now = 0, next = stages - 1;
        for (int step = 0; step < steps; step++) {
            if (stages == 2) cp_async_wait<0>();
            if (stages == 3) cp_async_wait<1>();
            if (stages == 4) cp_async_wait<2>();
            __syncthreads(); /* this step's tiles are in shared memory, and no thread still reads stage `next` */
            if (step + stages - 1 < steps) {
                load_a.load(shared + next * words);
                load_b.load(shared + next * words + A::words);
            }
            cp_async_commit();
            multiply(acc, shared + now * words, shared + now * words + A::words, ty, tx);
            now = now + 1 == stages ? 0 : now + 1;
            next = next + 1 == stages ? 0 : next + 1;
        }
        cp_async_wait<0>();
    }
};
