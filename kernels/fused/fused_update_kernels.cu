/* All weight gradients of a network and Adam behind them. */
#include "kernels/fused/fused_update_job.cuh"

static_assert(sizeof(dg_update_layout) < 4096, "a kernel's parameters");

void dg_fused_update_launch(const dg_fused_update *u, cudaStream_t stream)
{
    dg_update_layout l;
    dg_update_layout_of(u, &l);
    const dg_math math = dg_update_math(u);
    const auto start = math == DG_MATH_TF32   ? dg_fused_update_tf32
                       : math == DG_MATH_FP16 ? dg_fused_update_fp16
                                              : dg_fused_update_bf16;
    start(&l, dg_update_shared(u), stream);
}
