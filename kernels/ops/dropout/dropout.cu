/* Dropout with one Philox block per thread.
 * Thread tile: 4 values. Shared memory: none.
 * Bound by: memory, and the instructions of Philox (about 25 per value) */
#include "kernels/dev/cuda.cuh"

template <class real>
static __global__ void dropout_kernel(const dg_dropout_args a, uint64_t threshold, real scale, int width)
{
    const int64_t block = a.first / 4 + dg_thread(), at = 4 * block - a.first; /* at < 0: skip values of the block */
    if (at >= a.n) return;
    uint32_t word[4];
    dg_philox(word, a.state->seed, dg_dropout_subsequence(&a), (uint64_t)block);
    dg_packed<real>(width, [&](auto n) {
#pragma unroll
        for (int k = 0; k < 4; k += n) {
            if (at + k >= a.n) return;
            if (at + k < 0) continue;
            dg_pack<real, n> v = dg_load<n>((const real *)a.x + at + k);
            for (int i = 0; i < n; i++) v.v[i] = word[k + i] >= threshold ? v.v[i] * scale : 0;
            dg_store<n>((real *)a.y + at + k, v);
        }
    });
}

template <class real> void dg_cuda_dropout(const dg_dropout_args *a, const dg_tune *tune, cudaStream_t stream)
{
    const int64_t blocks = (a->first + a->n - 1) / 4 - a->first / 4 + 1;
    KLAUNCH(dropout_kernel<real>, dg_grid(blocks, tune->block), dim3(tune->block), 0, stream, *a,
            dg_dropout_threshold(a), (real)dg_dropout_scale(a), a->first % 4 ? 1 : dg_width<real>(tune));
}
DG_INSTANTIATE(dropout, dropout)
