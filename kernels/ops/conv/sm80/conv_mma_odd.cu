/* 3x3 and 1x1 convolutions on tensor cores (conv_mma_odd_job.cuh, conv_mma_odd_dw.cuh). A 3x3 kernel with stride 2 and
 * pad 1 runs as a 4x4 kernel whose last row and column are zero. `widen_kernel` stores the 4x4 weights in scratch
 * memory. `narrow_kernel` adds the parts of a weight gradient and drops the additional taps.
 * Thread tile: four values. Shared memory: none. Bound by: memory */
#include "kernels/ops/conv/sm80/conv_mma_odd_dw.cuh"

/* `to` has shape (Co, 4, 4, Ci), `quads` times four values. */
static __global__ void widen_kernel(float *to, const float *w, int quads, int Ci)
{
    const int i = (int)dg_thread(), wide = Ci / 4, tap = i / wide % 16, co = i / wide / 16;
    if (i >= quads) return;
    dg_pack<float, 4> v = {{0, 0, 0, 0}};
    if (tap / 4 < 3 && tap % 4 < 3) v = dg_load<4>(w + (co * 9 + tap / 4 * 3 + tap % 4) * Ci + i % wide * 4);
    dg_store<4>(to + (size_t)i * 4, v);
}

/* `w` has shape (Co, 3, 3, Ci), `quads` times four values. `part` has `parts` tensors (Co, 4, 4, Ci) to add. */
static __global__ void narrow_kernel(float *w, const float *part, int quads, int Ci, int parts)
{
    const int i = (int)dg_thread(), wide = Ci / 4, tap = i / wide % 9, co = i / wide / 9;
    if (i >= quads) return;
    const float *from = part + (co * 16 + tap / 3 * 4 + tap % 3) * Ci + i % wide * 4;
    dg_pack<float, 4> sum = {{0, 0, 0, 0}};
    for (int k = 0; k < parts; k++, from += (size_t)quads / 9 * 64) {
        const dg_pack<float, 4> v = dg_load<4>(from);
#pragma unroll
        for (int e = 0; e < 4; e++) sum.v[e] += v.v[e];
    }
    dg_store<4>(w + (size_t)i * 4, sum);
}

void dg_conv_mma_dw(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream)
{
    dg_dw_launch<dg_mma_bf16>(a, tune->split, out, stream);
}

static void launch_halving(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune, cudaStream_t stream)
{
    enum { BLOCK = 256 };
    dg_conv_args b = *a;
    b.K = 4;
    if (kind == DG_OP_conv_dw) {
        const int quads = a->Co * 9 * (a->Ci / 4);
        dg_conv_mma_dw(&b, tune, (float *)a->scratch, stream);
        KLAUNCH(narrow_kernel, dg_grid(quads, BLOCK), dim3(BLOCK), 0, stream, (float *)a->w, (const float *)a->scratch,
                quads, a->Ci, tune->split > 1 ? tune->split : 1);
        return;
    }
    const size_t parts = tune->split > 1 ? (size_t)tune->split * dg_conv_count(kind, a) : 0;
    const int quads = a->Co * 16 * (a->Ci / 4);
    float *const widened = (float *)a->scratch + parts;
    b.w = widened;
    KLAUNCH(widen_kernel, dg_grid(quads, BLOCK), dim3(BLOCK), 0, stream, widened, (const float *)a->w, quads, a->Ci);
    (dg_odd_by_warpgroups(kind, tune) ? dg_conv_mma_wide : dg_conv_mma_bf16)(kind, &b, tune, dg_conv_out(kind, a, tune),
                                                                             stream);
    dg_conv_finish(kind, a, tune, stream);
}

template <int K> static void launch(dg_op_kind kind, const dg_conv_args *a, int split, float *out, cudaStream_t stream)
{
    if (kind == DG_OP_conv_fwd) dg_odd_launch<dg_odd_tile<K, false>>(a, split, out, stream);
    if (kind == DG_OP_conv_dx) dg_odd_launch<dg_odd_tile<K, true>>(a, split, out, stream);
    if (kind == DG_OP_conv_dw) dg_dw_launch_tile<dg_odd_dw_tile<K>>(a, split, out, stream);
}

void dg_conv_mma_odd(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune, cudaStream_t stream)
{
    if (a->K == 3 && a->S == 2) return launch_halving(kind, a, tune, stream);
    (a->K == 3 ? launch<3> : launch<1>)(kind, a, tune->split, dg_conv_out(kind, a, tune), stream);
    dg_conv_finish(kind, a, tune, stream);
}
