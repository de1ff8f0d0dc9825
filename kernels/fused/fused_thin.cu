/* Data gradients of fused convolutions of images (the forward pass of G's last layer), and the choice of kernels for
 * both directions. Each thread applies the norm to the values of y that it has copied to shared memory.
 * Tile: 8x8 positions of 8 images (maps up to 32 wide) or 16x32 positions of one image. A position has 2x2 pixels of x
 * with CI channels. Stage: 4 channels of y.
 * Shared memory: 13 or 16 KB per stage, 2 to 4 stages, and 8 bytes per channel of y.
 * Bound by: fp32 multiply-adds. */
#include "kernels/ops/conv/cuda/conv_thin_dx.cuh"
#include "kernels/ops/conv/cuda/conv_thin_fwd.cuh"
#include "kernels/fused/fused_thin_fwd.cuh"

static __device__ __forceinline__ dg_pack<float, 4> take(const float *p, int n, bool wide)
{
    if (wide) return dg_load<4>(p);
    dg_pack<float, 4> v = {};
#pragma unroll
    for (int i = 0; i < 4; i++)
        if (i < n) v.v[i] = p[i];
    return v;
}
static __device__ __forceinline__ void put(float *p, const dg_pack<float, 4> &v, int n, bool wide)
{
    if (wide) return dg_store<4>(p, v);
#pragma unroll
    for (int i = 0; i < 4; i++)
        if (i < n) p[i] = v.v[i];
}

/* Calls f(at, n, wide, v) for every pack v of four contiguous results of this thread. `at` is the index of the first
 * result in x. */
template <class G, class F>
static __device__ __forceinline__ void for_each_pack(const float (&acc)[2][2][4][G::T], const dg_conv_args &a,
                                                     const dg_thin_dx_coord<G> &at, const F &f)
{
    const int ix = 2 * (at.b0 + at.col), valid = (a.W - ix) * G::T;
#pragma unroll
    for (int py = 0; py < 2; py++) {
        const int iy = 2 * (at.a0 + at.row) + py;
        if (at.image0 + at.image >= a.N || iy >= a.H) continue;
        const int64_t first = (((int64_t)(at.image0 + at.image) * a.H + iy) * a.W + ix) * G::T;
#pragma unroll
        for (int j = 0; j < 2 * G::T; j++) {
            if (4 * j >= valid) continue;
            dg_pack<float, 4> v;
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int e = 4 * j + i, pixel = e / G::T;
                v.v[i] = acc[py][pixel % 2][pixel / 2][e % G::T];
            }
            f(first + 4 * j, valid - 4 * j, a.W % 4 == 0, v);
        }
    }
}

static __host__ __device__ size_t factor_words(const dg_fused_conv &f)
{
    return f.in.kind == DG_PROLOGUE_NORM ? 2 * (size_t)f.conv.Co : 0;
}

template <class G>
static __global__ void __launch_bounds__(G::NT, G::T == 1 ? 4 : 3) dx_kernel(const dg_fused_conv f, int stages)
{
    DEV_CHECK(blockDim.x == G::NT);
    dev_pool pool;
    float *const shared = pool.take<float>((size_t)(stages * G::stage_words));
    float *const factors = pool.take<float>(factor_words(f));
    grid_dependency_wait();
    grid_dependents_launch();
    dg_conv_args a = f.conv;
    a.y = (void *)f.in.x;
    const dg_thin_dx_coord<G> at(a, (int)blockIdx.x);
    const bool normed = f.in.kind == DG_PROLOGUE_NORM;
    if (normed) {
        for (int c = (int)threadIdx.x; c < a.Co; c += G::NT) {
            const dg_channel k = dg_channel_of(f.in, 0, c, a.Co);
            dg_store<2>(factors + 2 * c, dg_pack<float, 2>{{k.scale, k.shift}});
        }
        __syncthreads();
    }
    float acc[2][2][4][G::T] = {};
    dg_thin_dx_sums<G>(acc, a, shared, at, stages, [&](const dg_thin_dx_loader<G> &loader, float *patch, int channel) {
        if (!normed) return;
        const dg_pack<float, 4> lo = dg_load<4>(factors + 2 * channel), hi = dg_load<4>(factors + 2 * channel + 4);
        const dg_channel k[4] = {{lo.v[0], 0, lo.v[1]},
                                 {lo.v[2], 0, lo.v[3]},
                                 {hi.v[0], 0, hi.v[1]},
                                 {hi.v[2], 0, hi.v[3]}};
#pragma unroll
        for (int i = 0; i < G::passes; i++) {
            if (loader.to[i] < 0 || loader.from[i] < 0) continue;
            dg_pack<float, 4> v = dg_load<4>(patch + loader.to[i]);
#pragma unroll
            for (int e = 0; e < 4; e++) v.v[e] = dg_one_value(k[e], v.v[e], f.in.factor);
            dg_store<4>(patch + loader.to[i], v);
        }
    });

    for_each_pack<G>(acc, a, at, [&](int64_t i, int n, bool wide, dg_pack<float, 4> v) {
        const dg_pack<float, 4> old = f.out.kind == DG_EPILOGUE_ACT_DX ? take(f.out.y + i, n, wide)
                                                                       : dg_pack<float, 4>{};
#pragma unroll
        for (int e = 0; e < 4; e++) {
            if (f.out.kind == DG_EPILOGUE_ACT) v.v[e] = dg_epilogue_act(f.out, v.v[e]);
            if (f.out.kind == DG_EPILOGUE_ACT_DX) v.v[e] = dg_epilogue_act_dx(f.out, v.v[e], old.v[e]);
        }
        put((float *)a.x + i, v, n, wide);
    });
}

template <class G>
static void launch_dx(const dg_fused_conv *f, const dg_tune *tune, bool overlapping, cudaStream_t stream)
{
    const dg_conv_args *a = &f->conv;
    const int tiles = dg_div_up((a->H + 1) / 2, G::ROWS) * dg_div_up((a->W + 1) / 2, G::COLS) *
                      dg_div_up(a->N, G::IMAGES);
    const size_t bytes = dev_pool_bytes<float>((size_t)(tune->stages * G::stage_words)) +
                         dev_pool_bytes<float>(factor_words(*f));
    const dim3 grid((unsigned)tiles), block(G::NT);
    if (overlapping) KLAUNCH_AFTER(dx_kernel<G>, grid, block, bytes, stream, *f, tune->stages);
    else KLAUNCH(dx_kernel<G>, grid, block, bytes, stream, *f, tune->stages);
}

template <int CI>
static void launch(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, bool overlapping, cudaStream_t stream)
{
    typedef dg_thin_dx<DG_THIN_DX_SMALL, CI> small;
    typedef dg_thin_dx<DG_THIN_DX_LARGE, CI> large;
    if (kind == DG_OP_conv_fwd) dg_fused_thin_fwd<dg_thin_fwd<CI>>(f, overlapping, stream);
    else if (f->conv.W <= DG_THIN_SMALL) launch_dx<small>(f, tune, overlapping, stream);
    else launch_dx<large>(f, tune, overlapping, stream);
}

void dg_fused_thin(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, bool overlapping, cudaStream_t stream)
{
    if (tune->variant->fused == DG_FUSED_THIN_MMA)
        return (kind == DG_OP_conv_fwd ? dg_fused_thin_mma_fwd : dg_fused_thin_mma_dx)(f, overlapping, stream);
    (f->conv.Ci == 1 ? launch<1> : launch<3>)(kind, f, tune, overlapping, stream);
}
