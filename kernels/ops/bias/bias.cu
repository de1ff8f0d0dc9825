/* Bias with activation. The forward pass is elementwise (act.cu). The backward pass sums over columns (columns.cuh).
 * Tile: a chunk of rows (norm_chunks.h) x at most 32 lanes. Shared memory: 2 to 8 KB.
 * Bound by: memory, 12 bytes per value. The merge of chunks is bound by latency. */
#include "kernels/ops/act/act.cuh"
#include "kernels/ops/norm/columns.cuh"

/* Computes dx and the column sums of dx over a chunk of rows. The arrays dx and dy may be the same. The sums of a
 * single chunk are the bias gradient db. */
template <class real>
static __global__ void __launch_bounds__(MAX_BLOCK, 2)
    bias_dx_kernel(const dg_bias_act_args a, const columns s, dg_act act, real factor, int width)
{
    SHARED(double, upper, [dg_wide<real>][MAX_BLOCK / 2]);
    dg_packed<real>(width, [&](auto n) {
        const place p = place_of(s, n);
        double all[n] = {};
        if (p.c < s.C) {
            const real *dy = (const real *)a.dy, *y = (const real *)a.y;
            real *dx = (real *)a.dx;
            sum_rows<real>(all, s, p, [&](int64_t at, auto &run) {
                const dg_pack<real, n> v = dg_load<n>(y + at);
                dg_pack<real, n> d = dg_load<n>(dy + at);
                for (int k = 0; k < n; k++) {
                    d.v[k] = dg_act_dx_of(d.v[k], v.v[k], act, factor);
                    run[k] += d.v[k];
                }
                dg_store<n>(dx + at, d);
            });
        }
        sum_slots(all, s, p, upper);
        if (p.slot || p.c >= s.C) return;
        double *part = (double *)a.scratch + (int64_t)blockIdx.y * s.C + p.c;
        for (int k = 0; k < n; k++) {
            if (s.chunks > 1) part[k] = all[k];
            else ((real *)a.db)[p.c + k] = (real)all[k];
        }
    });
}

template <class real>
static __global__ void __launch_bounds__(MERGE_BLOCK) bias_merge_kernel(const dg_bias_act_args a, const columns s)
{
    const int c = (int)(dg_thread() / WARP), lane = (int)threadIdx.x % WARP;
    if (c >= s.C) return;
    const double *part = (const double *)a.scratch + c;
    double sum = 0;
    for (int k = lane; k < s.chunks; k += WARP) sum += part[(int64_t)k * s.C];
    sum = dg_sum_of_warp(sum);
    if (lane == 0) ((real *)a.db)[c] = (real)sum;
}

template <class real> void dg_cuda_bias_act(const dg_bias_act_args *a, const dg_tune *tune, cudaStream_t stream)
{
    const dg_act_sweep s = {a->y, a->x, a->b, (int64_t)a->N * a->H * a->W * a->C, a->C, false};
    dg_cuda_act_sweep<real>(&s, a->act, a->slope, tune, stream);
}
DG_INSTANTIATE(bias_act, bias_act)

template <class real> void dg_cuda_bias_act_dx(const dg_bias_act_args *a, const dg_tune *tune, cudaStream_t stream)
{
    const int width = dg_width<real>(tune);
    if (!a->db) {
        const dg_act_sweep s = {a->dx, a->dy, a->y, (int64_t)a->N * a->H * a->W * a->C, 0, true};
        return dg_cuda_act_sweep<real>(&s, a->act, a->slope, tune, stream);
    }
    const columns s = columns_of(a->N, a->H, a->W, a->C, 1, width, tune->block);
    KLAUNCH(bias_dx_kernel<real>, grid_of(&s, width), dim3(tune->block), 0, stream, *a, s, a->act,
            (real)dg_act_factor(a->act, a->slope), width);
    if (s.chunks > 1) KLAUNCH(bias_merge_kernel<real>, merge_grid(s.C), dim3(MERGE_BLOCK), 0, stream, *a, s);
}
DG_INSTANTIATE(bias_act_dx, bias_act)
