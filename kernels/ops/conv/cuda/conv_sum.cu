/* Adds the parts of a split sum.
 * Thread tile: one result. Shared memory: none. Bound by: memory */
#include "kernels/ops/conv/cuda/conv.cuh"

/* A thread has eight partial sums, so that eight loads are in flight. */
static constexpr int SUM_SLOTS = 8, SUM_BLOCK = 128;

static __global__ void sum_kernel(float *out, const float *part, int64_t count, int parts)
{
    const int64_t i = dg_thread();
    if (i >= count) return;
    float sum[SUM_SLOTS] = {};
    for (int k = 0; k < parts; k += SUM_SLOTS)
#pragma unroll
        for (int s = 0; s < SUM_SLOTS; s++)
            if (k + s < parts) sum[s] += part[(k + s) * count + i];
#pragma unroll
    for (int half = SUM_SLOTS / 2; half > 0; half /= 2)
#pragma unroll
        for (int s = 0; s < half; s++) sum[s] += sum[s + half];
    out[i] = sum[0];
}

static float *result_of(dg_op_kind kind, const dg_conv_args *a)
{
    return (float *)(kind == DG_OP_conv_fwd ? a->y : kind == DG_OP_conv_dx ? a->x : a->w);
}

float *dg_conv_out(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune)
{
    return tune->split > 1 ? (float *)a->scratch : result_of(kind, a);
}

void dg_conv_finish(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune, cudaStream_t stream)
{
    const int64_t count = (int64_t)dg_conv_count(kind, a);
    if (tune->split > 1)
        KLAUNCH(sum_kernel, dg_grid(count, SUM_BLOCK), dim3(SUM_BLOCK), 0, stream, result_of(kind, a),
                (const float *)a->scratch, count, tune->split);
}
