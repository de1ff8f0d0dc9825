/* Max and mean pooling and their gradients.
 * Thread tile: 1 result (variant direct) or 4 channels (variant vector). Shared memory: none.
 * Bound by: memory; neighbouring threads read common pixels from L1 */
#include "kernels/dev/cuda.cuh"

/* Image, row, column and first channel of a thread's n results in (N, rows, cols, C). */
struct pool_at {
    int image, row, col, c;
};
template <int n> static __device__ __forceinline__ pool_at pool_of(int64_t thread, int rows, int cols, int C)
{
    const int parts = C / n;
    const int64_t pixel = thread / parts;
    return {(int)(pixel / cols / rows), (int)(pixel / cols % rows), (int)(pixel % cols), (int)(thread % parts) * n};
}

/* Calls one(i, k) for each window pixel inside the image, in the order of rows and columns. Pixel k of the window has
 * index i in (N, H, W, C). */
template <class each>
static __device__ __forceinline__ void pool_window(const dg_pool_args &a, const pool_at &at, each one)
{
    for (int ky = 0; ky < a.K; ky++)
        for (int kx = 0; kx < dg_pool_columns(&a); kx++) {
            const int iy = at.row * a.S - a.P + ky, ix = at.col * a.S - a.P + kx;
            if (iy < 0 || iy >= a.H || ix < 0 || ix >= a.W) continue;
            one((((int64_t)at.image * a.H + iy) * a.W + ix) * a.C + at.c, ky * a.K + kx);
        }
}

/* Calls one(i, k) for each window that contains pixel `at`, in the order of rows and columns. The window's result has
 * index i in (N, Ho, Wo, C). The pixel has index k in the window. */
template <class each>
static __device__ __forceinline__ void pool_reaching(const dg_pool_args &a, const pool_at &at, each one)
{
    const int first_y = at.row + a.P - a.K + 1, first_x = at.col + a.P - dg_pool_columns(&a) + 1;
    for (int oy = first_y <= 0 ? 0 : (first_y + a.S - 1) / a.S; oy < a.Ho && oy * a.S <= at.row + a.P; oy++)
        for (int ox = first_x <= 0 ? 0 : (first_x + a.S - 1) / a.S; ox < a.Wo && ox * a.S <= at.col + a.P; ox++)
            one((((int64_t)at.image * a.Ho + oy) * a.Wo + ox) * a.C + at.c,
                (at.row + a.P - oy * a.S) * a.K + at.col + a.P - ox * a.S);
}

template <class real> static __global__ void pool_kernel(const dg_pool_args a, int64_t count, bool max, int width)
{
    dg_packed<real>(width, [&](auto n) {
        const int64_t i = dg_thread();
        if (i * n >= count) return;
        dg_pack<real, n> y = {};
        dg_pack<uint8_t, n> place = {};
        bool first = true;
        pool_window(a, pool_of<n>(i, a.Ho, a.Wo, a.C), [&](int64_t from, int here) {
            const dg_pack<real, n> v = dg_load<n>((const real *)a.x + from);
            for (int k = 0; k < n; k++) {
                const bool wins = first || v.v[k] > y.v[k] || (v.v[k] != v.v[k] && y.v[k] == y.v[k]);
                if (!max) y.v[k] += v.v[k];
                else if (wins) y.v[k] = v.v[k], place.v[k] = (uint8_t)here;
            }
            first = false;
        });
        if (max) dg_store<n>(a.place + i * n, place);
        else
            for (int k = 0; k < n; k++) y.v[k] /= (real)a.K * (real)dg_pool_columns(&a);
        dg_store<n>((real *)a.y + i * n, y);
    });
}

template <class real> static __global__ void pool_dx_kernel(const dg_pool_args a, int64_t count, bool max, int width)
{
    dg_packed<real>(width, [&](auto n) {
        const int64_t i = dg_thread();
        if (i * n >= count) return;
        dg_pack<real, n> sum = {};
        pool_reaching(a, pool_of<n>(i, a.H, a.W, a.C), [&](int64_t from, int here) {
            const dg_pack<real, n> dy = dg_load<n>((const real *)a.dy + from);
            dg_pack<uint8_t, n> place = {};
            if (max) place = dg_load<n>((const uint8_t *)a.place + from);
            for (int k = 0; k < n; k++) sum.v[k] += !max || place.v[k] == here ? dy.v[k] : 0;
        });
        for (int k = 0; k < n && !max; k++) sum.v[k] /= (real)a.K * (real)dg_pool_columns(&a);
        dg_store<n>((real *)a.dx + i * n, sum);
    });
}

#define POOL(kind, kernel, rows, cols, max)                                                                      \
    template <class real> void dg_cuda_##kind(const dg_pool_args *a, const dg_tune *tune, cudaStream_t stream)   \
    {                                                                                                            \
        const int64_t count = (int64_t)a->N * a->rows * a->cols * a->C;                                          \
        const int width = dg_width<real>(tune);                                                                  \
        KLAUNCH(kernel<real>, dg_grid(count / width, tune->block), dim3(tune->block), 0, stream, *a, count, max, \
                width);                                                                                          \
    }                                                                                                            \
    DG_INSTANTIATE(kind, pool)
POOL(maxpool, pool_kernel, Ho, Wo, true)
POOL(maxpool_dx, pool_dx_kernel, H, W, true)
POOL(meanpool, pool_kernel, Ho, Wo, false)
POOL(meanpool_dx, pool_dx_kernel, H, W, false)
