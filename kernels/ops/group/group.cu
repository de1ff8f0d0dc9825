/* Grouped convolution with stride 1: forward, data gradient, weight gradient.
 * Forward and data gradient: one thread per result. Shared memory: none.
 * Weight gradient: one block per output channel, tap and 16 input channels. A thread sums every 16th pixel. Shared
 * memory: 256 sums.
 * Bound by: loads */
#include "kernels/dev/cuda.cuh"

/* If `adjoint` is set, computes the data gradient: tap k of result pixel p reads y at p - (k - P). */
template <class real, bool adjoint> static __global__ void group_kernel(const dg_group_args a, int64_t count)
{
    const int64_t i = dg_thread();
    if (i >= count) return;
    const int each = a.Co / a.groups, taps = a.K * a.K;
    const int rows = adjoint ? a.H : a.Ho, cols = adjoint ? a.W : a.Wo, all = adjoint ? a.Ci : a.Co;
    const int in_rows = adjoint ? a.Ho : a.H, in_cols = adjoint ? a.Wo : a.W, in_all = adjoint ? a.Co : a.Ci;
    const int c = (int)(i % all), terms = adjoint ? each : a.Cg, g = c / (adjoint ? a.Cg : each);
    const int col = (int)(i / all % cols), row = (int)(i / all / cols % rows);
    const int64_t image = i / all / cols / rows;
    real sum = 0;
    for (int tap = 0; tap < taps; tap++) {
        const int dy = tap / a.K - a.P, dx = tap % a.K - a.P, y = row + (adjoint ? -dy : dy),
                  x = col + (adjoint ? -dx : dx);
        if (y < 0 || y >= in_rows || x < 0 || x >= in_cols) continue;
        const real *in = (const real *)(adjoint ? a.y : a.x) + ((image * in_rows + y) * in_cols + x) * in_all +
                         g * terms;
        for (int k = 0; k < terms; k++) {
            const int co = adjoint ? g * each + k : c, ci = adjoint ? c % a.Cg : k;
            sum += in[k] * ((const real *)a.w)[((int64_t)co * taps + tap) * a.Cg + ci];
        }
    }
    ((real *)(adjoint ? a.x : a.y))[i] = sum;
}

enum { GROUP_LANES = 16 };

template <class real> static __global__ void group_dw_kernel(const dg_group_args a)
{
    SHARED(real, sums, [GROUP_LANES * GROUP_LANES]);
    const int taps = a.K * a.K, co = (int)(blockIdx.x / taps), tap = (int)(blockIdx.x % taps);
    const int lane = threadIdx.x % GROUP_LANES, slice = threadIdx.x / GROUP_LANES;
    const int k = (int)blockIdx.y * GROUP_LANES + lane, ci = co / (a.Co / a.groups) * a.Cg + k;
    const int64_t pixels = (int64_t)a.N * a.Ho * a.Wo;
    real sum = 0;
    if (k < a.Cg)
        for (int64_t p = slice; p < pixels; p += GROUP_LANES) {
            const int y = (int)(p / a.Wo % a.Ho) + tap / a.K - a.P, x = (int)(p % a.Wo) + tap % a.K - a.P;
            if (y < 0 || y >= a.H || x < 0 || x >= a.W) continue;
            const int64_t image = p / a.Wo / a.Ho;
            sum += ((const real *)a.y)[p * a.Co + co] * ((const real *)a.x)[((image * a.H + y) * a.W + x) * a.Ci + ci];
        }
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (slice || k >= a.Cg) return;
    for (int s = 1; s < GROUP_LANES; s++) sum += sums[s * GROUP_LANES + lane];
    ((real *)a.w)[((int64_t)co * taps + tap) * a.Cg + k] = sum;
}

template <class real> void dg_cuda_group_fwd(const dg_group_args *a, const dg_tune *tune, cudaStream_t stream)
{
    const int64_t count = (int64_t)a->N * a->Ho * a->Wo * a->Co;
    KLAUNCH((group_kernel<real, false>), dg_grid(count, tune->block), dim3(tune->block), 0, stream, *a, count);
}

template <class real> void dg_cuda_group_dx(const dg_group_args *a, const dg_tune *tune, cudaStream_t stream)
{
    const int64_t count = (int64_t)a->N * a->H * a->W * a->Ci;
    KLAUNCH((group_kernel<real, true>), dg_grid(count, tune->block), dim3(tune->block), 0, stream, *a, count);
}

template <class real> void dg_cuda_group_dw(const dg_group_args *a, const dg_tune *, cudaStream_t stream)
{
    const dim3 grid((unsigned)(a->Co * a->K * a->K), (unsigned)dg_div_up<int>(a->Cg, GROUP_LANES));
    KLAUNCH(group_dw_kernel<real>, grid, dim3(GROUP_LANES * GROUP_LANES), 0, stream, *a);
}

DG_INSTANTIATE(group_fwd, group)
DG_INSTANTIATE(group_dx, group)
DG_INSTANTIATE(group_dw, group)
