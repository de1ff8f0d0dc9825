/* Batch norm with an activation: statistics, forward, backward. Sums: see columns.cuh.
 * Tile of sums: a chunk of rows (norm_chunks.h) x at most 32 lanes. Thread tile of elementwise kernels: 1 or 4 values.
 * Shared memory: 16 KB for sums (fp64: 4 KB), none for elementwise kernels.
 * Bound by: memory (sums, elementwise), latency (merging) */
#include "kernels/ops/norm/columns.cuh"

/* Returns the address of a chunk's two sums per channel: C first sums, then C second sums. */
static __device__ __forceinline__ double *part_of(void *scratch, const columns &s, int group, int chunk)
{
    return (double *)scratch + 2 * ((int64_t)group * s.chunks + chunk) * s.C;
}

/* Computes the mean and the sum of squared deviations of a chunk. Sums are relative to the chunk's first row, to limit
 * cancellation. */
template <class real>
static __global__ void __launch_bounds__(MAX_BLOCK)
    stats_kernel(void *scratch, const real *x, const columns s, int width)
{
    SHARED(double, upper, [2 * dg_wide<real>][MAX_BLOCK / 2]);
    dg_packed<real>(width, [&](auto n) {
        const place p = place_of(s, n);
        double all[2 * n] = {};
        dg_pack<real, n> shift = {};
        if (p.c < s.C) {
            shift = dg_load<n>(x + p.at - (int64_t)p.slot * s.C);
            sum_rows<real>(all, s, p, [&](int64_t at, auto &run) {
                const dg_pack<real, n> v = dg_load<n>(x + at);
                for (int k = 0; k < n; k++) {
                    const real d = v.v[k] - shift.v[k];
                    run[2 * k] += d;
                    run[2 * k + 1] += d * d;
                }
            });
        }
        sum_slots(all, s, p, upper);
        if (p.slot || p.c >= s.C) return;
        double *part = part_of(scratch, s, (int)blockIdx.z, (int)blockIdx.y) + p.c;
        const double rows = (double)(p.end - p.row);
        for (int k = 0; k < n; k++) {
            part[k] = (double)shift.v[k] + all[2 * k] / rows;
            part[s.C + k] = all[2 * k + 1] - all[2 * k] * all[2 * k] / rows;
        }
    });
}

/* Statistics of a set of rows. m2: sum of squared deviations. `join()` merges two sets (Chan, Golub & LeVeque 1983, eq.
 * 2.1). */
typedef struct {
    double rows, mean, m2;
} moments;

static __device__ __forceinline__ moments join(const moments &a, const moments &b)
{
    if (b.rows == 0) return a;
    const double rows = a.rows + b.rows, delta = b.mean - a.mean, share = b.rows / rows;
    moments m;
    m.rows = rows;
    m.mean = a.mean + delta * share;
    m.m2 = a.m2 + b.m2 + delta * delta * a.rows * share;
    return m;
}

template <class real>
static __global__ void __launch_bounds__(MERGE_BLOCK) stats_merge_kernel(const dg_norm_stats_args a, const columns s)
{
    const int c = (int)(dg_thread() / WARP), lane = (int)threadIdx.x % WARP;
    if (c >= s.C) return;
    real *running_mean = (real *)a.running_mean, *running_var = (real *)a.running_var;
    for (int g = 0; g < s.groups; g++) {
        moments m = {};
        for (int k = lane; k < s.chunks; k += WARP) {
            const double *part = part_of(a.scratch, s, g, k) + c;
            const int64_t left = s.rows - (int64_t)k * s.chunk;
            moments one;
            one.rows = (double)(left < s.chunk ? left : s.chunk);
            one.mean = part[0];
            one.m2 = part[s.C];
            m = join(m, one);
        }
        for (int d = WARP / 2; d > 0; d /= 2) {
            moments other;
            other.rows = __shfl_down_sync(0xffffffffu, m.rows, d);
            other.mean = __shfl_down_sync(0xffffffffu, m.mean, d);
            other.m2 = __shfl_down_sync(0xffffffffu, m.m2, d);
            m = join(m, other);
        }
        if (lane) continue;
        const double n = (double)s.rows, unbiased = n > 1 ? m.m2 / (n - 1) : m.m2;
        ((real *)a.mean)[g * s.C + c] = (real)m.mean;
        ((real *)a.rstd)[g * s.C + c] = (real)(1 / sqrt(m.m2 / n + a.eps));
        if (!running_mean) continue;
        running_mean[c] = (real)((1 - a.momentum) * (double)running_mean[c] + a.momentum * m.mean);
        running_var[c] = (real)((1 - a.momentum) * (double)running_var[c] + a.momentum * unbiased);
    }
}

template <class real> static __global__ void frozen_kernel(const dg_norm_frozen_args a)
{
    const int c = (int)dg_thread();
    if (c >= a.C) return;
    ((real *)a.mean)[c] = ((const real *)a.running_mean)[c];
    ((real *)a.rstd)[c] = (real)(1 / sqrt((double)((const real *)a.running_var)[c] + a.eps));
}

/* The activation's input is (x - mean) * scale + beta. */
template <class real, int n> struct affine {
    dg_pack<real, n> mean, scale, beta;
};

template <class real, int n>
static __device__ __forceinline__ affine<real, n> affine_of(const dg_norm_act_args &a, int group, int c)
{
    affine<real, n> f;
    f.mean = dg_load<n>((const real *)a.mean + group * a.C + c);
    f.beta = dg_load<n>((const real *)a.beta + c);
    const dg_pack<real, n> gamma = dg_load<n>((const real *)a.gamma + c);
    const dg_pack<real, n> rstd = dg_load<n>((const real *)a.rstd + group * a.C + c);
    for (int k = 0; k < n; k++) f.scale.v[k] = gamma.v[k] * rstd.v[k];
    return f;
}

template <class real>
static __global__ void __launch_bounds__(MAX_BLOCK)
    act_kernel(const dg_norm_act_args a, const columns s, real factor, int width)
{
    dg_packed<real>(width, [&](auto n) {
        const place p = place_of(s, n);
        if (p.c >= s.C) return;
        const auto f = affine_of<real, n>(a, (int)blockIdx.z, p.c);
        const real *x = (const real *)a.x;
        real *y = (real *)a.y;
        int64_t at = p.at;
        for (int64_t r = p.row; r < p.end; r += s.slots, at += p.step) {
            dg_pack<real, n> v = dg_load<n>(x + at);
            for (int k = 0; k < n; k++) {
                const real z = (v.v[k] - f.mean.v[k]) * f.scale.v[k] + f.beta.v[k];
                v.v[k] = z > 0 ? z : factor * z;
            }
            dg_store<n>(y + at, v);
        }
    });
}

/* First pass of the gradient: sums g and g * (x - mean) over a chunk. */
template <class real>
static __global__ void __launch_bounds__(MAX_BLOCK)
    gradient_kernel(const dg_norm_act_args a, const columns s, real factor, int width)
{
    SHARED(double, upper, [2 * dg_wide<real>][MAX_BLOCK / 2]);
    dg_packed<real>(width, [&](auto n) {
        const place p = place_of(s, n);
        double all[2 * n] = {};
        if (p.c < s.C) {
            const auto f = affine_of<real, n>(a, (int)blockIdx.z, p.c);
            const real *x = (const real *)a.x, *dy = (const real *)a.dy;
            sum_rows<real>(all, s, p, [&](int64_t at, auto &run) {
                const dg_pack<real, n> v = dg_load<n>(x + at), dv = dg_load<n>(dy + at);
                for (int k = 0; k < n; k++) {
                    const real d = v.v[k] - f.mean.v[k], z = d * f.scale.v[k] + f.beta.v[k];
                    const real g = z > 0 ? dv.v[k] : factor * dv.v[k];
                    run[2 * k] += g;
                    run[2 * k + 1] += g * d;
                }
            });
        }
        sum_slots(all, s, p, upper);
        if (p.slot || p.c >= s.C) return;
        double *part = part_of(a.scratch, s, (int)blockIdx.z, (int)blockIdx.y) + p.c;
        for (int k = 0; k < n; k++) {
            part[k] = all[2 * k];
            part[s.C + k] = all[2 * k + 1];
        }
    });
}

/* Computes dgamma and dbeta from the chunks' sums. Also stores mean(g) and rstd * mean(g * xhat) per group and channel
 * in scratch memory, for the second pass. */
template <class real>
static __global__ void __launch_bounds__(MERGE_BLOCK) gradient_merge_kernel(const dg_norm_act_args a, const columns s)
{
    const int c = (int)(dg_thread() / WARP), lane = (int)threadIdx.x % WARP;
    if (c >= s.C) return;
    double *finals = part_of(a.scratch, s, s.groups, 0);
    double dgamma = 0, dbeta = 0;
    for (int g = 0; g < s.groups; g++) {
        double sum_g = 0, sum_gx = 0;
        for (int k = lane; k < s.chunks; k += WARP) {
            const double *part = part_of(a.scratch, s, g, k) + c;
            sum_g += part[0];
            sum_gx += part[s.C];
        }
        sum_g = dg_sum_of_warp(sum_g);
        sum_gx = dg_sum_of_warp(sum_gx);
        if (lane) continue;
        const double rstd = (double)((const real *)a.rstd)[g * s.C + c];
        dbeta += sum_g;
        dgamma += sum_gx * rstd;
        finals[(2 * g) * s.C + c] = sum_g / (double)s.rows;
        finals[(2 * g + 1) * s.C + c] = sum_gx * rstd * rstd / (double)s.rows;
    }
    if (lane) return;
    if (a.dgamma) ((real *)a.dgamma)[c] = (real)dgamma;
    if (a.dbeta) ((real *)a.dbeta)[c] = (real)dbeta;
}

template <class real>
static __global__ void __launch_bounds__(MAX_BLOCK)
    dx_kernel(const dg_norm_act_args a, const columns s, real factor, int width)
{
    dg_packed<real>(width, [&](auto n) {
        const place p = place_of(s, n);
        if (p.c >= s.C) return;
        const int group = (int)blockIdx.z;
        const auto f = affine_of<real, n>(a, group, p.c);
        const double *finals = part_of(a.scratch, s, s.groups, 0) + 2 * group * s.C + p.c;
        real mean_g[n], tilt[n];
        for (int k = 0; k < n; k++) {
            mean_g[k] = (real)finals[k];
            tilt[k] = (real)finals[s.C + k];
        }
        const real *x = (const real *)a.x, *dy = (const real *)a.dy;
        real *dx = (real *)a.dx;
        int64_t at = p.at;
        for (int64_t r = p.row; r < p.end; r += s.slots, at += p.step) {
            const dg_pack<real, n> v = dg_load<n>(x + at);
            dg_pack<real, n> dv = dg_load<n>(dy + at);
            for (int k = 0; k < n; k++) {
                const real d = v.v[k] - f.mean.v[k], z = d * f.scale.v[k] + f.beta.v[k];
                const real g = z > 0 ? dv.v[k] : factor * dv.v[k];
                dv.v[k] = f.scale.v[k] * (g - mean_g[k] - d * tilt[k]);
            }
            dg_store<n>(dx + at, dv);
        }
    });
}

template <class real> void dg_cuda_norm_stats(const dg_norm_stats_args *a, const dg_tune *tune, cudaStream_t stream)
{
    const int width = dg_width<real>(tune);
    const columns s = columns_of(a->N, a->H, a->W, a->C, a->groups, width, tune->block);
    KLAUNCH(stats_kernel<real>, grid_of(&s, width), dim3(tune->block), 0, stream, a->scratch, (const real *)a->x, s,
            width);
    KLAUNCH(stats_merge_kernel<real>, merge_grid(s.C), dim3(MERGE_BLOCK), 0, stream, *a, s);
}
DG_INSTANTIATE(norm_stats, norm_stats)

template <class real> void dg_cuda_norm_frozen(const dg_norm_frozen_args *a, const dg_tune *tune, cudaStream_t stream)
{
    KLAUNCH(frozen_kernel<real>, dg_grid(a->C, tune->block), dim3(tune->block), 0, stream, *a);
}
DG_INSTANTIATE(norm_frozen, norm_frozen)

template <class real> void dg_cuda_norm_act(const dg_norm_act_args *a, const dg_tune *tune, cudaStream_t stream)
{
    const int width = dg_width<real>(tune);
    const columns s = columns_of(a->N, a->H, a->W, a->C, a->groups, width, tune->block);
    KLAUNCH(act_kernel<real>, grid_of(&s, width), dim3(tune->block), 0, stream, *a, s,
            (real)dg_act_factor(a->act, a->slope), width);
}
DG_INSTANTIATE(norm_act, norm_act)

template <class real> void dg_cuda_norm_act_dx(const dg_norm_act_args *a, const dg_tune *tune, cudaStream_t stream)
{
    const int width = dg_width<real>(tune);
    const dim3 block(tune->block);
    const columns s = columns_of(a->N, a->H, a->W, a->C, a->groups, width, tune->block);
    const real factor = (real)dg_act_factor(a->act, a->slope);
    KLAUNCH(gradient_kernel<real>, grid_of(&s, width), block, 0, stream, *a, s, factor, width);
    KLAUNCH(gradient_merge_kernel<real>, merge_grid(s.C), dim3(MERGE_BLOCK), 0, stream, *a, s);
    KLAUNCH(dx_kernel<real>, grid_of(&s, width), block, 0, stream, *a, s, factor, width);
}
DG_INSTANTIATE(norm_act_dx, norm_act)
