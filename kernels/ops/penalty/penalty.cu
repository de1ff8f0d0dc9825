/* Ops of gradient penalties.
 * `fill` and `mix` compute one value per thread. Bound by: memory, 4 bytes (fill) or 12 bytes (mix) per value.
 * In `bias_dw`, a block sums 32 channels of an image, and a thread sums every eighth pixel. Shared memory: 2 KB of
 * sums. Bound by: memory, 4 bytes per value.
 * `penalty` runs one block. Bound by: latency. */
#include "kernels/dev/cuda.cuh"

static constexpr int LANES = 32, SLOTS = 8, THREADS = 256;

template <class real> static __global__ void fill_kernel(const dg_fill_args a)
{
    const int64_t i = dg_thread();
    if (i < a.n) ((real *)a.y)[i] = (real)a.value;
}

template <class real> void dg_cuda_fill(const dg_fill_args *a, const dg_tune *tune, cudaStream_t stream)
{
    KLAUNCH(fill_kernel<real>, dg_grid(a->n, tune->block), dim3(tune->block), 0, stream, *a);
}
DG_INSTANTIATE(fill, fill)

template <class real> static __global__ void mix_kernel(const dg_mix_args a)
{
    SHARED(real, scale, [2]);
    if (threadIdx.x < 2) scale[threadIdx.x] = (real)dg_mix_scale(&a, a.state, (int)threadIdx.x);
    __syncthreads();
    const int64_t i = dg_thread();
    if (i >= (int64_t)a.N * a.each) return;
    const int n = (int)((unsigned)i / (unsigned)a.each);
    const real s = ((const real *)a.s)[n];
    ((real *)a.y)[i] = s * ((const real *)a.a)[i] + scale[n >= a.first] * ((const real *)a.t)[i];
}

template <class real> void dg_cuda_mix(const dg_mix_args *a, const dg_tune *tune, cudaStream_t stream)
{
    KLAUNCH(mix_kernel<real>, dg_grid((int64_t)a->N * a->each, tune->block), dim3(tune->block), 0, stream, *a);
}
DG_INSTANTIATE(mix, mix)

/* Grid: images x groups of LANES channels. */
template <class real> static __global__ void pixels_kernel(const dg_bias_dw_args a)
{
    SHARED(double, part, [SLOTS][LANES]);
    const int lane = (int)threadIdx.x % LANES, slot = (int)threadIdx.x / LANES;
    const int n = (int)blockIdx.x, c = (int)blockIdx.y * LANES + lane, pixels = a.H * a.W;
    double sum = 0;
    for (int p = slot; p < pixels && c < a.C; p += SLOTS)
        sum += (double)((const real *)a.g)[((int64_t)n * pixels + p) * a.C + c];
    part[slot][lane] = sum;
    __syncthreads();
    if (slot || c >= a.C) return;
    for (int k = 1; k < SLOTS; k++) sum += part[k][lane];
    ((real *)a.each)[(int64_t)n * a.C + c] = (real)sum;
}

template <class real> static __global__ void weigh_kernel(const dg_bias_dw_args a)
{
    const int64_t c = dg_thread();
    if (c >= a.C) return;
    double sum = 0;
    for (int n = 0; n < a.N; n++)
        sum += (double)((const real *)a.s)[n] * (double)((const real *)a.each)[(int64_t)n * a.C + c];
    ((real *)a.db)[c] = (real)sum;
}

template <class real> void dg_cuda_bias_dw(const dg_bias_dw_args *a, const dg_tune *tune, cudaStream_t stream)
{
    const unsigned groups = (unsigned)((a->C + LANES - 1) / LANES);
    KLAUNCH(pixels_kernel<real>, dim3((unsigned)a->N, groups), dim3(LANES * SLOTS), 0, stream, *a);
    KLAUNCH(weigh_kernel<real>, dg_grid(a->C, tune->block), dim3(tune->block), 0, stream, *a);
}
DG_INSTANTIATE(bias_dw, bias_dw)

template <class real> static __global__ void penalty_kernel(const dg_penalty_args a)
{
    DEV_CHECK(blockDim.x == THREADS);
    SHARED(double, room, [THREADS]);
    const real *const x = (const real *)a.x, *const y = x + a.first;
    const double r1 = dg_sum_in_order<THREADS>(a.first, (double *)room, [=](int i) { return (double)x[i]; }),
                 r2 = dg_sum_in_order<THREADS>(a.n - a.first, (double *)room, [=](int i) { return (double)y[i]; });
    if (threadIdx.x) return;
    dg_metrics *row = &a.ring[a.state->step % DG_RING];
    row->value[a.r1] = r1 / a.first;
    row->value[a.r2] = r2 / (a.n - a.first);
}

template <class real> void dg_cuda_penalty(const dg_penalty_args *a, const dg_tune *, cudaStream_t stream)
{
    KLAUNCH(penalty_kernel<real>, dim3(1), dim3(THREADS), 0, stream, *a);
}
DG_INSTANTIATE(penalty, penalty)
