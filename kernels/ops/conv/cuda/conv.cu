/* Direct convolution kernels for every shape, and the dispatch from a variant to its launcher.
 * Thread tile: one result; in dw_by_warps, a warp computes one result. Shared memory: none.
 * Bound by: latency of loads. */
#include "kernels/ops/conv/cuda/conv.cuh"

template <class real> static __global__ void fwd_direct(const dg_conv_args a)
{
    const int64_t i = dg_thread();
    if (i >= (int64_t)a.N * a.Ho * a.Wo * a.Co) return;
    const int co = (int)(i % a.Co), ox = (int)(i / a.Co % a.Wo), oy = (int)(i / a.Co / a.Wo % a.Ho);
    const int64_t n = i / a.Co / a.Wo / a.Ho;
    const real *x = (const real *)a.x + n * a.H * a.W * a.Ci, *w = (const real *)a.w + (int64_t)co * a.K * a.K * a.Ci;
    real sum = 0;
    for (int ky = 0; ky < a.K; ky++) {
        const int iy = oy * a.S - a.P + ky;
        if (iy < 0 || iy >= a.H) continue;
        for (int kx = 0; kx < a.K; kx++) {
            const int ix = ox * a.S - a.P + kx;
            if (ix < 0 || ix >= a.W) continue;
            const real *px = x + (iy * a.W + ix) * a.Ci, *pw = w + (ky * a.K + kx) * a.Ci;
            for (int ci = 0; ci < a.Ci; ci++) sum += px[ci] * pw[ci];
        }
    }
    ((real *)a.y)[i] = sum;
}

template <class real> static __global__ void dx_direct(const dg_conv_args a)
{
    const int64_t i = dg_thread();
    if (i >= (int64_t)a.N * a.H * a.W * a.Ci) return;
    const int ci = (int)(i % a.Ci), ix = (int)(i / a.Ci % a.W), iy = (int)(i / a.Ci / a.W % a.H);
    const int64_t n = i / a.Ci / a.W / a.H, next = (int64_t)a.K * a.K * a.Ci;
    const real *y = (const real *)a.y + n * a.Ho * a.Wo * a.Co, *w = (const real *)a.w + ci;
    real sum = 0;
    for (int ky = (iy + a.P) % a.S; ky < a.K; ky += a.S) {
        const int oy = (iy + a.P - ky) / a.S;
        if (iy + a.P < ky) break;
        if (oy >= a.Ho) continue;
        for (int kx = (ix + a.P) % a.S; kx < a.K; kx += a.S) {
            const int ox = (ix + a.P - kx) / a.S;
            if (ix + a.P < kx) break;
            if (ox >= a.Wo) continue;
            const real *py = y + (oy * a.Wo + ox) * a.Co, *pw = w + (ky * a.K + kx) * a.Ci;
            for (int co = 0; co < a.Co; co++) sum += py[co] * pw[co * next];
        }
    }
    ((real *)a.x)[i] = sum;
}

/* Sums each image separately, so that a sum over a large batch does not lose small terms. */
template <class real> static __global__ void dw_direct(const dg_conv_args a)
{
    const int64_t i = dg_thread();
    if (i >= (int64_t)a.Co * a.K * a.K * a.Ci) return;
    const int ci = (int)(i % a.Ci), kx = (int)(i / a.Ci % a.K), ky = (int)(i / a.Ci / a.K % a.K);
    const int co = (int)(i / a.Ci / a.K / a.K);
    real all = 0;
    for (int n = 0; n < a.N; n++) {
        const real *x = (const real *)a.x + (int64_t)n * a.H * a.W * a.Ci + ci;
        const real *y = (const real *)a.y + (int64_t)n * a.Ho * a.Wo * a.Co + co;
        real sum = 0;
        for (int oy = 0; oy < a.Ho; oy++) {
            const int iy = oy * a.S - a.P + ky;
            if (iy < 0 || iy >= a.H) continue;
            for (int ox = 0; ox < a.Wo; ox++) {
                const int ix = ox * a.S - a.P + kx;
                if (ix < 0 || ix >= a.W) continue;
                sum += x[(iy * a.W + ix) * a.Ci] * y[(oy * a.Wo + ox) * a.Co];
            }
        }
        all += sum;
    }
    ((real *)a.w)[i] = all;
}

/* A warp computes each result, which is faster for long sums and few results. */
template <class real> static __global__ void dw_by_warps(const dg_conv_args a)
{
    const int64_t i = dg_thread() / 32;
    if (i >= (int64_t)a.Co * a.K * a.K * a.Ci) return;
    const int ci = (int)(i % a.Ci), kx = (int)(i / a.Ci % a.K), ky = (int)(i / a.Ci / a.K % a.K);
    const int co = (int)(i / a.Ci / a.K / a.K), map = a.Ho * a.Wo, lane = (int)threadIdx.x % 32;
    const real *const x = (const real *)a.x + ci, *const y = (const real *)a.y + co;
    real sum = 0;
#pragma unroll 4
    for (int k = 0; k <= (a.N * map - 1 - lane) / 32; k++) {
        const int p = lane + 32 * k, n = p / map, row = (p - n * map) / a.Wo, col = p - n * map - row * a.Wo;
        const int iy = row * a.S - a.P + ky, ix = col * a.S - a.P + kx;
        if ((unsigned)iy < (unsigned)a.H && (unsigned)ix < (unsigned)a.W)
            sum += x[(((int64_t)n * a.H + iy) * a.W + ix) * a.Ci] * y[(int64_t)p * a.Co];
    }
    sum = dg_sum_of_warp(sum);
    if (lane == 0) ((real *)a.w)[i] = sum;
}

template <class real>
static void direct(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune, cudaStream_t stream)
{
    const int64_t x = (int64_t)a->N * a->H * a->W * a->Ci, y = (int64_t)a->N * a->Ho * a->Wo * a->Co;
    const int64_t w = (int64_t)a->Co * a->K * a->K * a->Ci;
    const dim3 block(tune->block);
    if (kind == DG_OP_conv_fwd) KLAUNCH(fwd_direct<real>, dg_grid(y, tune->block), block, 0, stream, *a);
    if (kind == DG_OP_conv_dx) KLAUNCH(dx_direct<real>, dg_grid(x, tune->block), block, 0, stream, *a);
    if (kind != DG_OP_conv_dw) return;
    if (dg_direct_by_warps(a)) KLAUNCH(dw_by_warps<real>, dg_grid(32 * w, tune->block), block, 0, stream, *a);
    else KLAUNCH(dw_direct<real>, dg_grid(w, tune->block), block, 0, stream, *a);
}

void dg_conv_mma(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune, cudaStream_t stream)
{
    float *const out = dg_conv_out(kind, a, tune);
    if (tune->math == DG_MATH_FP16) dg_conv_mma_fp16(kind, a, tune, out, stream);
    else if (kind == DG_OP_conv_dw) dg_conv_mma_dw(a, tune, out, stream);
    else dg_conv_mma_bf16(kind, a, tune, out, stream);
    dg_conv_finish(kind, a, tune, stream);
}

void dg_conv_wgmma(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune, cudaStream_t stream)
{
    dg_conv_mma_wide(kind, a, tune, dg_conv_out(kind, a, tune), stream);
    dg_conv_finish(kind, a, tune, stream);
}

void dg_conv_direct(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune, cudaStream_t stream)
{
    direct<float>(kind, a, tune, stream);
}

template <class real> static void conv(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune, cudaStream_t stream)
{
    if constexpr (sizeof(real) == sizeof(double)) direct<real>(kind, a, tune, stream);
    else {
        static const struct {
            const dg_variant *variant;
            void (*launch)(dg_op_kind, const dg_conv_args *, const dg_tune *, cudaStream_t);
        } launchers[] = {
#define X(name) {&dg_conv_variant_##name, dg_conv_##name},
            DG_CONV_VARIANTS(X)
#undef X
        };
        for (const auto &l : launchers)
            if (l.variant == tune->variant) return l.launch(kind, a, tune, stream);
    }
}

#define CONV(name)                                                                                             \
    template <class real> void dg_cuda_##name(const dg_conv_args *a, const dg_tune *tune, cudaStream_t stream) \
    {                                                                                                          \
        conv<real>(DG_OP_##name, a, tune, stream);                                                             \
    }                                                                                                          \
    DG_INSTANTIATE(name, conv)
CONV(conv_fwd)
CONV(conv_dx)
CONV(conv_dw)
