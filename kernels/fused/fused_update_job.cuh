/* The first kernel of the fused update (fused.h, fused_update.h) computes the partial sums of all weight gradients.
 * Template parameter E is the arithmetic of weight gradients on tensor cores (mma.cuh). Each instance has its own
 * file.
 * Tile: depends on the weight gradient (fused_update.h).
 * Shared memory: 4 to 92 KB for the largest weight gradient, plus 320 bytes.
 * Bound by: shared memory and tensor cores. */
#pragma once

#include "kernels/fused/fused_update_fp32.cuh"
#include "kernels/fused/fused_update_mma.cuh"

void dg_fused_update_bf16(const dg_update_layout *l, size_t shared, cudaStream_t stream);
void dg_fused_update_wgmma(const dg_update_layout *l, size_t shared, cudaStream_t stream);
void dg_fused_update_fp16(const dg_update_layout *l, size_t shared, cudaStream_t stream);

template <class E> static __device__ __forceinline__ void dg_update_block(const dg_update_layout &u)
{
    DEV_CHECK(blockDim.x == DG_UPDATE_THREADS);
    grid_dependency_wait();
    const int number = (int)blockIdx.x;
    int k = 0;
    while (number >= u.job[k].first + u.job[k].producers) k++;
    const dg_update_work &w = u.job[k];
    const int tiles = w.rows * w.cols, tile = (number - w.first) % tiles, part = (number - w.first) / tiles;
    float *const out = w.parts > 1 ? u.scratch + w.scratch + part * w.count : (float *)w.conv.w;
    if (w.kind == (E::warps > 1 ? DG_FUSED_WGMMA : DG_FUSED_MMA)) {
        if constexpr (!E::there) __trap();
        else if (w.conv.Wo <= DG_MMA_SMALL) dg_update_mma<E, true>(w, tile, part, out);
        else dg_update_mma<E, false>(w, tile, part, out);
    } else if (w.kind == DG_FUSED_THIN && w.conv.Ci == 1) dg_update_thin<1>(w, tile, part, out);
    else if (w.kind == DG_FUSED_THIN) dg_update_thin<3>(w, tile, part, out);
    else if (w.kind == DG_FUSED_THIN_MMA) dg_update_thin_mma<E>(w, tile, part, out);
    else if (w.kind == DG_FUSED_GEMV) dg_update_gemv(w, tile, out);
    else dg_update_dense(w, tile, out);
    grid_dependents_launch();
}

/* Updates without rounded operands also use the bf16 kernel, which is compiled for every architecture. */
template <class E>
static __global__ void __launch_bounds__(DG_UPDATE_THREADS) dg_update_kernel(const GRID_CONSTANT dg_update_layout u)
{
    if constexpr (E::fused || !E::scaled) dg_update_block<E>(u);
    else __trap();
}

template <class E> static void dg_update_start(const dg_update_layout *l, size_t shared, cudaStream_t stream)
{
    const dim3 grid((unsigned)l->producers), block(DG_UPDATE_THREADS);
    KLAUNCH_AFTER(dg_update_kernel<E>, grid, block, shared, stream, *l);
}
