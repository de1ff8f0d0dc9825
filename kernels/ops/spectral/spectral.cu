/* Spectral norm of weights and its gradient. W is read once per product and once for the division. If several blocks
 * need a sum, each block computes the sum itself, in the same order.
 * Tile of W^T u: 32 columns per block, with rows divided among warps. Tile of W v: one row per warp.
 * Shared memory: 8.3 KB of column sums for W^T u, 256 bytes of warp sums in the other kernels.
 * Bound by: memory; with few weights, latency */
#include "kernels/ops/update/sweep.cuh"

static constexpr int WARP = 32, WARPS = 32; /* WARPS: maximum per block */

/* Returns the sum over the block to all threads. The order of additions is fixed. */
static __device__ __forceinline__ double sum_of_block(double v)
{
    SHARED(double, of_warp, [WARPS]);
    v = dg_sum_of_warp(v);
    __syncthreads();
    if (threadIdx.x % WARP == 0) of_warp[threadIdx.x / WARP] = v;
    __syncthreads();
    double sum = 0;
    for (int k = 0; k < (int)blockDim.x / WARP; k++) sum += of_warp[k];
    return sum;
}

template <class X, class Y> static __device__ __forceinline__ double dot_of_block(const X *x, const Y *y, int n)
{
    double sum = 0;
    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x) sum += (double)x[i] * (double)y[i];
    return sum_of_block(sum);
}

static __device__ __forceinline__ double divisor(double squares, double eps)
{
    const double length = sqrt(squares);
    return length > eps ? length : eps;
}

/* Scratch memory stores W v, then W^T u. */
static __device__ __forceinline__ double *ahead_of(const dg_spectral_args &a) { return (double *)a.scratch; }
static __device__ __forceinline__ double *behind_of(const dg_spectral_args &a) { return (double *)a.scratch + a.rows; }

template <class real> static __global__ void __launch_bounds__(1024) spectral_columns_kernel(const dg_spectral_args a)
{
    SHARED(double, of_warp, [WARPS][WARP + 1]);
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP, warps = (int)blockDim.x / WARP;
    const int c = (int)blockIdx.x * WARP + lane;
    double sum = 0;
    if (c < a.cols) {
        const real *const w = (const real *)a.w + c, *const u = (const real *)a.u;
#pragma unroll 4
        for (int r = warp; r < a.rows; r += warps) sum += (double)w[(int64_t)r * a.cols] * (double)u[r];
    }
    of_warp[warp][lane] = sum;
    __syncthreads();
    if (warp > 0 || c >= a.cols) return;
    for (int k = 1; k < warps; k++) sum += of_warp[k][lane];
    behind_of(a)[c] = sum;
}

/* Computes W v. In a power iteration, the first block also writes v, the normalised W^T u. */
template <class real> static __global__ void __launch_bounds__(1024) spectral_rows_kernel(const dg_spectral_args a)
{
    const int lane = (int)threadIdx.x % WARP, r = (int)(dg_thread() / WARP);
    const double *const behind = behind_of(a);
    real *const v = (real *)a.v;
    const double by = a.iterate ? divisor(dot_of_block(behind, behind, a.cols), a.eps) : 1;
    if (a.iterate && blockIdx.x == 0)
        for (int c = (int)threadIdx.x; c < a.cols; c += (int)blockDim.x) v[c] = (real)(behind[c] / by);
    if (r >= a.rows) return;
    const real *const w = (const real *)a.w + (int64_t)r * a.cols;
    double sum = 0;
#pragma unroll 4
    for (int c = lane; c < a.cols; c += WARP) sum += (double)w[c] * (a.iterate ? behind[c] : (double)v[c]);
    sum = dg_sum_of_warp(sum);
    if (lane == 0) ahead_of(a)[r] = sum / by;
}

/* Computes sigma and divides W by sigma. In a power iteration, the first block also writes u, the normalised W v. */
template <class real> static __global__ void __launch_bounds__(1024) spectral_sweep_kernel(const dg_spectral_args a)
{
    const double *const ahead = ahead_of(a);
    real *const u = (real *)a.u;
    const double squares = a.iterate ? dot_of_block(ahead, ahead, a.rows) : 0, by = divisor(squares, a.eps);
    const real sigma = (real)(a.iterate ? squares / by : dot_of_block(u, ahead, a.rows));
    if (blockIdx.x == 0) {
        if (threadIdx.x == 0) *(real *)a.sigma = sigma;
        for (int r = (int)threadIdx.x; a.iterate && r < a.rows; r += (int)blockDim.x) u[r] = (real)(ahead[r] / by);
    }
    const int64_t n = (int64_t)a.rows * a.cols, step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = dg_thread(); i < n; i += step) ((real *)a.wn)[i] = ((const real *)a.w)[i] / sigma;
}

/* Computes the parts of sum(dwn wn), one per block. */
template <class real> static __global__ void __launch_bounds__(1024) spectral_parts_kernel(const dg_spectral_args a)
{
    const int64_t n = (int64_t)a.rows * a.cols, step = (int64_t)gridDim.x * blockDim.x;
    double sum = 0;
#pragma unroll 4
    for (int64_t i = dg_thread(); i < n; i += step)
        sum += (double)((const real *)a.dwn)[i] * (double)((const real *)a.wn)[i];
    sum = sum_of_block(sum);
    if (threadIdx.x == 0) ((double *)a.scratch)[blockIdx.x] = sum;
}

template <class real>
static __global__ void __launch_bounds__(1024) spectral_dw_kernel(const dg_spectral_args a, int parts)
{
    double part = 0;
    for (int k = (int)threadIdx.x; k < parts; k += (int)blockDim.x) part += ((const double *)a.scratch)[k];
    const double sum = sum_of_block(part);
    const real *const u = (const real *)a.u, *const v = (const real *)a.v, sigma = *(const real *)a.sigma;
    const int64_t n = (int64_t)a.rows * a.cols, step = (int64_t)gridDim.x * blockDim.x;
#pragma unroll 1
    for (int64_t i = dg_thread(); i < n; i += step) {
        const unsigned at = (unsigned)i, r = at / (unsigned)a.cols, c = at - r * (unsigned)a.cols;
        ((real *)a.dw)[i] = (((const real *)a.dwn)[i] - (real)(sum * (double)u[r]) * v[c]) / sigma;
    }
}

template <class real> void dg_cuda_spectral(const dg_spectral_args *a, const dg_tune *tune, cudaStream_t stream)
{
    const dim3 block((unsigned)tune->block), columns((unsigned)dg_div_up(a->cols, WARP));
    if (a->iterate) KLAUNCH(spectral_columns_kernel<real>, columns, block, 0, stream, *a);
    KLAUNCH(spectral_rows_kernel<real>, dg_grid((int64_t)a->rows * WARP, tune->block), block, 0, stream, *a);
    KLAUNCH(spectral_sweep_kernel<real>, dg_sweep_grid((int64_t)a->rows * a->cols, 4, tune->block), block, 0, stream,
            *a);
}
DG_INSTANTIATE(spectral, spectral)

template <class real> void dg_cuda_spectral_dw(const dg_spectral_args *a, const dg_tune *tune, cudaStream_t stream)
{
    const dim3 block((unsigned)tune->block);
    const int parts = dg_spectral_parts(a);
    KLAUNCH(spectral_parts_kernel<real>, dim3((unsigned)parts), block, 0, stream, *a);
    KLAUNCH(spectral_dw_kernel<real>, dg_sweep_grid((int64_t)a->rows * a->cols, 4, tune->block), block, 0, stream, *a,
            parts);
}
DG_INSTANTIATE(spectral_dw, spectral)
