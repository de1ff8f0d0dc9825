/* Unfused convolutions of images. This file has the kernel of the weight gradient. Forward passes and data gradients
 * call the fused kernels, with an empty prologue and epilogue. CI: channels of x.
 * Tile: 4 x 32 pixels x 32 channels of y, 16 taps x CI channels of x.
 * Shared memory: 19 KB (CI = 1) or 24 KB (CI = 3).
 * Bound by: shared memory */
#include "kernels/ops/conv/cuda/conv_thin_dw.cuh"
#include "kernels/fused/fuse.cuh"

template <int CI>
static __global__ void __launch_bounds__(DG_THIN_DW_THREADS) dw_kernel(const dg_conv_args a, float *out, int split)
{
    DEV_CHECK(blockDim.x == DG_THIN_DW_THREADS);
    typedef dg_thin_dw<CI> dw;
    SHARED(float, shared, [dw::words]);
    float *const patch = shared, *const grad = shared + dw::patch_words;
    const dg_thin_tiling t = dg_thin_tiling_of(a);
    const int co0 = (int)blockIdx.x * DG_THIN_CHANNELS, part = (int)blockIdx.y, tiles = a.N * t.down * t.across;
    const int first = (int)((int64_t)tiles * part / split), last = (int)((int64_t)tiles * (part + 1) / split);
    dw sums;
    for (int tile = first; tile < last; tile++) {
        const int b0 = tile % t.across * DG_THIN_COLS, a0 = tile / t.across % t.down * DG_THIN_ROWS,
                  image = tile / t.across / t.down;
        __syncthreads();
        dg_thin_patch<CI, DG_THIN_DW_THREADS>(patch, a, image, a0, b0);
        for (int i = (int)threadIdx.x; i < dw::grad_words / 4; i += DG_THIN_DW_THREADS) {
            const int c = i % (DG_THIN_CHANNELS / 4) * 4, p = i / (DG_THIN_CHANNELS / 4), oy = a0 + p / DG_THIN_COLS,
                      ox = b0 + p % DG_THIN_COLS;
            const bool ok = oy < a.Ho && ox < a.Wo && co0 + c < a.Co;
            const float *y = (const float *)a.y;
            cp_async16(grad + i * 4, ok ? y + (((int64_t)image * a.Ho + oy) * a.Wo + ox) * a.Co + co0 + c : y, ok);
        }
        cp_async_commit();
        cp_async_wait<0>();
        __syncthreads();
        sums.add(patch, grad);
    }
    sums.finish(shared, out + (int64_t)part * a.Co * DG_THIN_K * DG_THIN_K * CI, co0, a.Co);
}

template <int CI> static void launch_dw(const dg_conv_args *a, const dg_tune *tune, cudaStream_t stream)
{
    const dim3 grid((unsigned)dg_div_up(a->Co, DG_THIN_CHANNELS), (unsigned)tune->split);
    KLAUNCH(dw_kernel<CI>, grid, dim3(DG_THIN_DW_THREADS), 0, stream, *a, dg_conv_out(DG_OP_conv_dw, a, tune),
            tune->split);
    dg_conv_finish(DG_OP_conv_dw, a, tune, stream);
}

static void launch(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune, cudaStream_t stream)
{
    dg_fused_conv f = {};
    f.conv = *a;
    f.in.x = (const float *)(kind == DG_OP_conv_fwd ? a->x : a->y);
    f.in.factor = 1;
    f.in.groups = f.out.groups = 1;
    dg_fused_thin(kind, &f, tune, false, stream);
}

void dg_conv_thin(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune, cudaStream_t stream)
{
    if (kind == DG_OP_conv_dw) return a->Ci == 1 ? launch_dw<1>(a, tune, stream) : launch_dw<3>(a, tune, stream);
    launch(kind, a, tune, stream);
}

void dg_conv_thin_mma(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune, cudaStream_t stream)
{
    if (kind == DG_OP_conv_dw) return dg_conv_thin_mma_dw(a, tune, stream);
    launch(kind, a, tune, stream);
}
