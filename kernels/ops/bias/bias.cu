/* A bias and an activation: a sweep forward; backward a sweep that adds up the columns (columns.cuh).
 *
 * Tile: forward a thread n values (n = 1, or 16 bytes of them), backward a chunk of rows (norm_chunks.h) x 32 lanes at
 * most. Shared memory: forward none, backward 2 to 8 KB of sums. Registers: forward 16 to 24, backward 32 to 52. Bound
 * by: memory, 8 bytes a value forward, 12 backward; the merging by latency. Template parameters: real, type of the
 * values; n, values of a pack. */
#include "kernels/ops/act/act.cuh"
#include "kernels/ops/norm/columns.cuh"

/* y may be x. */
template <class real, int n>
static __global__ void bias_kernel(const dg_bias_act_args a, int64_t count, bool is_tanh, real factor)
{
    const int64_t i = dg_thread();
    if (i >= count) return;
    const dg_pack<real, n> b = dg_load<n>((const real *)a.b + i % (a.C / n) * n);
    dg_pack<real, n> v = dg_load<n>((const real *)a.x + i * n);
    for (int k = 0; k < n; k++) v.v[k] = dg_act_of(v.v[k] + b.v[k], is_tanh, factor);
    dg_store<n>((real *)a.y + i * n, v);
}

template <class real, int n> static void launch(const dg_bias_act_args *a, const dg_tune *tune, cudaStream_t stream)
{
    const int64_t count = (int64_t)a->N * a->H * a->W * a->C / n;
    KLAUNCH((bias_kernel<real, n>), dg_grid(count, tune->block), dim3(tune->block), 0, stream, *a, count,
            a->act == DG_ACT_TANH, dg_below_zero<real>(a->act, a->slope));
}

/* dx, which may be dy, and its sums over a chunk; of one chunk they are db. */
template <class real, int n>
static __global__ void __launch_bounds__(MAX_BLOCK, 2)
    bias_dx_kernel(const dg_bias_act_args a, const columns s, bool is_tanh, real factor)
{
    const place p = place_of(s, n);
    double all[n] = {};
    if (p.c < s.C) {
        const real *dy = (const real *)a.dy, *y = (const real *)a.y;
        real *dx = (real *)a.dx;
        int64_t at = p.at;
        for (int64_t r = p.row; r < p.end;) {
            real run[n] = {};
            for (int i = 0; i < RUN && r < p.end; i++, r += s.slots, at += p.step) {
                const dg_pack<real, n> v = dg_load<n>(y + at);
                dg_pack<real, n> d = dg_load<n>(dy + at);
                for (int k = 0; k < n; k++) {
                    d.v[k] = dg_act_dx_of(d.v[k], v.v[k], is_tanh, factor);
                    run[k] += d.v[k];
                }
                dg_store<n>(dx + at, d);
            }
            for (int k = 0; k < n; k++) all[k] += (double)run[k];
        }
    }
    sum_slots(all, s, p);
    if (p.slot || p.c >= s.C) return;
    double *part = (double *)a.scratch + (int64_t)blockIdx.y * s.C + p.c;
    for (int k = 0; k < n; k++) {
        if (s.chunks > 1) part[k] = all[k];
        else ((real *)a.db)[p.c + k] = (real)all[k];
    }
}

template <class real>
static __global__ void __launch_bounds__(MERGE_BLOCK) bias_merge_kernel(const dg_bias_act_args a, const columns s)
{
    const int c = (int)(dg_thread() / WARP), lane = (int)threadIdx.x % WARP;
    if (c >= s.C) return; /* whole warps: the block is a multiple of 32 */
    const double *part = (const double *)a.scratch + c;
    double sum = 0;
    for (int k = lane; k < s.chunks; k += WARP) sum += part[(int64_t)k * s.C];
    for (int d = WARP / 2; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (lane == 0) ((real *)a.db)[c] = (real)sum;
}

template <class real, int n> static void launch_dx(const dg_bias_act_args *a, const dg_tune *tune, cudaStream_t stream)
{
    const columns s = columns_of(a->N, a->H, a->W, a->C, 1, n, tune->block);
    KLAUNCH((bias_dx_kernel<real, n>), grid_of(&s, n), dim3(tune->block), 0, stream, *a, s, a->act == DG_ACT_TANH,
            dg_below_zero<real>(a->act, a->slope));
    if (s.chunks > 1) KLAUNCH(bias_merge_kernel<real>, merge_grid(s.C), dim3(MERGE_BLOCK), 0, stream, *a, s);
}

template <class real> void dg_cuda_bias_act(const dg_bias_act_args *a, const dg_tune *tune, cudaStream_t stream)
{
    dg_is_vector(tune) ? launch<real, dg_wide<real>>(a, tune, stream) : launch<real, 1>(a, tune, stream);
}
DG_INSTANTIATE(bias_act, bias_act)

template <class real> void dg_cuda_bias_act_dx(const dg_bias_act_args *a, const dg_tune *tune, cudaStream_t stream)
{
    if (!a->db) {
        const int64_t n = (int64_t)a->N * a->H * a->W * a->C;
        const dg_act_args act = {a->y, nullptr, a->dx, a->dy, n, a->act, a->slope};
        return dg_cuda_act_dx<real>(&act, tune, stream);
    }
    dg_is_vector(tune) ? launch_dx<real, dg_wide<real>>(a, tune, stream) : launch_dx<real, 1>(a, tune, stream);
}
DG_INSTANTIATE(bias_act_dx, bias_act)
