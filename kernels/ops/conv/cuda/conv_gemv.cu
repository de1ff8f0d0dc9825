/* Variant gemv, for the last layer of D: y is one pixel with at most 4 channels. Index k runs over the values of an
 * image, whose number is a multiple of 4.
 * Forward, one block per image: y[n,co] = sum over k of x[n,k] w[co,k].
 * Data gradient, one thread per 4 values: x[n,k] = sum over co of y[n,co] w[co,k].
 * Weight gradient, one block of eight warps per 128 weights: w[co,k] = sum over n of y[n,co] x[n,k].
 * Shared memory: fwd and dw 4 KB, dx none.
 * Bound by: memory (reads of x) */
#include "kernels/ops/conv/cuda/conv.cuh"

static constexpr int MAX_CO = 4, THREADS = 256, WARPS = THREADS / 32;

static __global__ void fwd_kernel(const dg_conv_args a)
{
    DEV_CHECK(blockDim.x == THREADS);
    SHARED(float, sum, [MAX_CO][THREADS]);
    const float *x = (const float *)a.x + (int64_t)blockIdx.x * a.Ci, *w = (const float *)a.w;
    float acc[MAX_CO] = {};
    for (int k = (int)threadIdx.x * 4; k < a.Ci; k += THREADS * 4) {
        const dg_pack<float, 4> v = dg_load<4>(x + k);
#pragma unroll
        for (int co = 0; co < MAX_CO; co++) {
            if (co >= a.Co) continue;
            const dg_pack<float, 4> f = dg_load<4>(w + co * a.Ci + k);
#pragma unroll
            for (int e = 0; e < 4; e++) acc[co] += v.v[e] * f.v[e];
        }
    }
#pragma unroll
    for (int co = 0; co < MAX_CO; co++) sum[co][threadIdx.x] = acc[co];
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x >= half) continue;
#pragma unroll
        for (int co = 0; co < MAX_CO; co++) sum[co][threadIdx.x] = acc[co] += sum[co][threadIdx.x + half];
    }
    if (threadIdx.x) return;
#pragma unroll
    for (int co = 0; co < MAX_CO; co++)
        if (co < a.Co) ((float *)a.y)[(int64_t)blockIdx.x * a.Co + co] = acc[co];
}

static __global__ void dx_kernel(const dg_conv_args a)
{
    const int k = (int)(blockIdx.y * THREADS + threadIdx.x) * 4;
    if (k >= a.Ci) return;
    const float *y = (const float *)a.y + (int64_t)blockIdx.x * a.Co, *w = (const float *)a.w + k;
    dg_pack<float, 4> x = {};
    for (int co = 0; co < a.Co; co++) {
        const dg_pack<float, 4> f = dg_load<4>(w + co * a.Ci);
        const float g = y[co];
#pragma unroll
        for (int e = 0; e < 4; e++) x.v[e] += g * f.v[e];
    }
    dg_store<4>((float *)a.x + (int64_t)blockIdx.x * a.Ci + k, x);
}

static __global__ void dw_kernel(const dg_conv_args a)
{
    DEV_CHECK(blockDim.x == THREADS);
    SHARED(float, sum, [WARPS][32 * 4]);
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const int k = ((int)blockIdx.x * 32 + lane) * 4, co = (int)blockIdx.y;
    const float *x = (const float *)a.x + k, *y = (const float *)a.y + co;
    dg_pack<float, 4> acc = {};
    if (k < a.Ci)
        for (int n = warp; n < a.N; n += WARPS) {
            const dg_pack<float, 4> v = dg_load<4>(x + (int64_t)n * a.Ci);
            const float g = y[n * a.Co];
#pragma unroll
            for (int e = 0; e < 4; e++) acc.v[e] += g * v.v[e];
        }
    dg_store<4>(sum[warp] + lane * 4, acc);
    __syncthreads();
    if (warp || k >= a.Ci) return;
    for (int i = 1; i < WARPS; i++)
#pragma unroll
        for (int e = 0; e < 4; e++) acc.v[e] += sum[i][lane * 4 + e];
    dg_store<4>((float *)a.w + (int64_t)co * a.Ci + k, acc);
}

void dg_conv_gemv(dg_op_kind kind, const dg_conv_args *args, const dg_tune *, cudaStream_t stream)
{
    const dg_conv_args a = dg_conv_flat(args);
    const dim3 block(THREADS);
    if (kind == DG_OP_conv_fwd) KLAUNCH(fwd_kernel, dim3((unsigned)a.N), block, 0, stream, a);
    if (kind == DG_OP_conv_dx)
        KLAUNCH(dx_kernel, dim3((unsigned)a.N, (unsigned)dg_div_up(a.Ci / 4, THREADS)), block, 0, stream, a);
    if (kind == DG_OP_conv_dw)
        KLAUNCH(dw_kernel, dim3((unsigned)dg_div_up(a.Ci, 128), (unsigned)a.Co), block, 0, stream, a);
}
