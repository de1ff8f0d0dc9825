/* Unfused weight gradient of images on tensor cores. CI: channels of x.
 * Tile: 4 x 32 pixels x 32 channels of y, 16 taps x CI channels of x.
 * Shared memory: 19 KB (CI = 1) or 24 KB (CI = 3).
 * Bound by: shared memory and the latency of the next tile. */
#include "kernels/ops/conv/cuda/conv_thin_mma_dw.cuh"

template <int CI>
static __global__ void __launch_bounds__(DG_THIN_MMA_DW_THREADS) dw_kernel(const dg_conv_args a, float *out, int split)
{
    DEV_CHECK(blockDim.x == DG_THIN_MMA_DW_THREADS);
    SHARED(float, shared, [DG_THIN_DW_WORDS(CI)]);
    const dg_thin_tiling t = dg_thin_tiling_of(a);
    const int part = (int)blockIdx.y, tiles = a.N * t.down * t.across;
    const int first = (int)((int64_t)tiles * part / split), last = (int)((int64_t)tiles * (part + 1) / split);
    dg_prologue y = {};
    y.x = (const float *)a.y;
    y.groups = 1;
    out += (int64_t)part * a.Co * 16 * CI;
    if constexpr (dg_mma_bf16::there)
        dg_thin_mma_dw_part<CI, false>(a, (const float *)a.x, y, a.N, (int)blockIdx.x * DG_THIN_CHANNELS, first, last,
                                       shared, out);
    else __trap();
}

void dg_conv_thin_mma_dw(const dg_conv_args *a, const dg_tune *tune, cudaStream_t stream)
{
    float *const out = dg_conv_out(DG_OP_conv_dw, a, tune);
    const dim3 grid((unsigned)dg_div_up(a->Co, DG_THIN_CHANNELS), (unsigned)tune->split), block(DG_THIN_MMA_DW_THREADS);
    if (a->Ci == 1) KLAUNCH(dw_kernel<1>, grid, block, 0, stream, *a, out, tune->split);
    else KLAUNCH(dw_kernel<3>, grid, block, 0, stream, *a, out, tune->split);
    dg_conv_finish(DG_OP_conv_dw, a, tune, stream);
}
