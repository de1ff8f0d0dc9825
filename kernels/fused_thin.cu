/* Convolutions of pictures with what is around them. Forward: the pictures may come from the data set, the results go
 * through an activation, its gradient or the norm's. Data gradient (a generator's last layer, forward): y may come
 * out of a norm, transformed in shared memory by the thread that copied it. */
#include "conv_patch.cuh"
#include "conv_thin_fwd.cuh"
#include "fuse.cuh"
#include "gather.cuh"

/* ---- Forward ---- */

/* As dg_thin_patch, from the data set. Pixels of this tile, without its border, are written to the batch; those beyond the
 * last tile's that the convolution does not centre on are that tile's, too. */
template <int CI, int NT>
static __device__ __forceinline__ void gather_patch(float *patch, const dg_gather_args &g, const dg_conv_args &a, int image, int a0, int b0, bool writes)
{
    constexpr int line = DG_THIN_PATCH_COLS * CI;
    const int width = a.W * CI, start = (2 * b0 - 1) * CI;
    const int end_row = a0 + DG_THIN_ROWS < a.Ho ? 2 * (a0 + DG_THIN_ROWS) : a.H;
    const int end = b0 + DG_THIN_COLS < a.Wo ? 2 * (b0 + DG_THIN_COLS) * CI : width;
    const uint8_t *const in = dg_gather_row(g, image);
    float *const x = (float *)g.x + (int64_t)image * a.H * width;
    const bool mirrored = dg_gather_mirrored(g, image);
#pragma unroll 4
    for (int i = (int)threadIdx.x; i < DG_THIN_PATCH_ROWS * line; i += NT) {
        const int row = 2 * a0 - 1 + i / line, at = start + i % line;
        float v = 0;
        if ((unsigned)row < (unsigned)a.H && (unsigned)at < (unsigned)width) {
            v = dg_gather_value<float>(in[row * width + (mirrored ? (a.W - 1 - at / CI) * CI + at % CI : at)]);
            if (writes && row >= 2 * a0 && row < end_row && at >= 2 * b0 * CI && at < end) x[row * width + at] = v;
        }
        patch[i] = v;
    }
}

/* Sums of a thread's channels over the block, into the parts of the block: over a warp's pixels by shuffles, over the
 * warps in shared memory, of which [NT / 32][channels][2] are used. */
template <class fwd>
static __device__ __forceinline__ void leave_parts(float *shared, const dg_fused_conv &f, float (&sum_g)[fwd::CHANNELS], float (&sum_gx)[fwd::CHANNELS],
                                                   int tile, int co0)
{
    const int lane = fwd::lane(), warp = (int)threadIdx.x / 32, c = (int)threadIdx.x;
#pragma unroll
    for (int e = 0; e < fwd::CHANNELS; e++)
        for (int d = 16; d >= fwd::LANES; d /= 2) {
            sum_g[e] += __shfl_xor_sync(0xffffffffu, sum_g[e], d);
            sum_gx[e] += __shfl_xor_sync(0xffffffffu, sum_gx[e], d);
        }
    __syncthreads(); /* nobody reads patch or weights any more */
    if (threadIdx.x % 32 < fwd::LANES)
#pragma unroll
        for (int e = 0; e < fwd::CHANNELS; e++)
            dg_store<2>(shared + 2 * (warp * DG_THIN_CHANNELS + lane * fwd::CHANNELS + e), dg_pack<float, 2>{{sum_g[e], sum_gx[e]}});
    __syncthreads();
    if (c >= DG_THIN_CHANNELS || co0 + c >= f.conv.Co) return;
    dg_pack<float, 2> part = {};
    for (int k = 0; k < fwd::NT / 32; k++) {
        part.v[0] += shared[2 * (k * DG_THIN_CHANNELS + c)];
        part.v[1] += shared[2 * (k * DG_THIN_CHANNELS + c) + 1];
    }
    dg_store<2>(dg_parts_of(f.scratch, tile, co0 + c, f.conv.Co), part);
}

template <int CI> static __global__ void __launch_bounds__(dg_thin_fwd<CI>::NT, 4) fwd_kernel(const dg_fused_conv f)
{
    typedef dg_thin_fwd<CI> fwd;
    DEV_CHECK(blockDim.x == fwd::NT);
    SHARED(float, shared, [fwd::patch_words + fwd::weight_words]);
    static_assert(sizeof(float) * (fwd::patch_words + fwd::weight_words) >= 3 * fwd::NT * sizeof(double), "room for the sums of a sink");
    float *const patch = shared, *const weight = shared + fwd::patch_words;
    grid_dependency_wait();
    grid_dependents_launch();
    dg_conv_args a = f.conv;
    a.x = (void *)f.in.x;
    const dg_thin_tiling t = dg_thin_tiling_of(a);
    const int tile = (int)blockIdx.x, co0 = (int)blockIdx.y * DG_THIN_CHANNELS;
    const int b0 = tile % t.across * DG_THIN_COLS, a0 = tile / t.across % t.down * DG_THIN_ROWS, image = tile / t.across / t.down;
    if (image < f.gather.N)
        gather_patch<CI, fwd::NT>(patch, f.gather, a, image, a0, b0, co0 == 0);
    else
        dg_thin_patch<CI, fwd::NT>(patch, a, image, a0, b0);
    fwd::load_weights(weight, a, co0);
    __syncthreads();
    fwd sums;
    sums.add(patch, weight);

    const int oy = a0 + fwd::row(), co = co0 + fwd::lane() * fwd::CHANNELS;
    const bool norm_dx = f.out.kind == DG_SINK_NORM_DX;
    const int per_group = a.N / f.out.groups, group = image / per_group;
    float sum_g[fwd::CHANNELS] = {}, sum_gx[fwd::CHANNELS] = {};
#pragma unroll
    for (int h = 0; h < fwd::CHANNELS; h += 4) { /* Co is a multiple of 4 */
        if (oy >= a.Ho || co + h >= a.Co) continue;
        dg_pack<float, 4> mean = {}, scale = {}, beta = {};
        if (norm_dx) {
            mean = dg_load<4>(f.out.mean + group * a.Co + co + h);
            beta = dg_load<4>(f.out.beta + co + h);
            scale = dg_load<4>(f.out.gamma + co + h);
            const dg_pack<float, 4> rstd = dg_load<4>(f.out.rstd + group * a.Co + co + h);
#pragma unroll
            for (int e = 0; e < 4; e++) scale.v[e] *= rstd.v[e];
        }
#pragma unroll
        for (int p = 0; p < 4; p++) {
            const int ox = b0 + fwd::col() + p;
            if (ox >= a.Wo) continue;
            const int64_t at = (((int64_t)image * a.Ho + oy) * a.Wo + ox) * a.Co + co + h;
            dg_pack<float, 4> v, old = {};
            if (norm_dx) old = dg_load<4>(f.out.pre + at);
            if (f.out.kind == DG_SINK_ACT_DX) old = dg_load<4>(f.out.y + at);
#pragma unroll
            for (int e = 0; e < 4; e++) {
                v.v[e] = sums.acc[p][h + e];
                if (norm_dx) {
                    const float d = old.v[e] - mean.v[e], z = d * scale.v[e] + beta.v[e];
                    v.v[e] = z > 0 ? v.v[e] : f.out.factor * v.v[e];
                    sum_g[h + e] += v.v[e];
                    sum_gx[h + e] += v.v[e] * d;
                }
                if (f.out.kind == DG_SINK_ACT) v.v[e] = dg_sink_act(f.out, v.v[e]);
                if (f.out.kind == DG_SINK_ACT_DX) v.v[e] = dg_sink_act_dx(f.out, v.v[e], old.v[e]);
            }
            dg_store<4>((float *)a.y + at, v);
        }
    }
    if (!norm_dx) return;
    leave_parts<fwd>(shared, f, sum_g, sum_gx, tile, co0);
    const int blocks = per_group * t.down * t.across; /* a block has pixels of one image */
    dg_sink_finish<fwd::NT>(f.out, f.scratch, f.counters + (int)blockIdx.y * dg_sink_counters(blocks, f.out.groups), tile, co0, DG_THIN_CHANNELS, a.Co,
                            (int)gridDim.y, blocks, (double)per_group * a.Ho * a.Wo, (double *)shared);
}

template <int CI> static void launch_fwd(const dg_fused_conv *f, cudaStream_t stream)
{
    const dg_thin_tiling t = dg_thin_tiling_of(f->conv);
    const dim3 grid((unsigned)(f->conv.N * t.down * t.across), (unsigned)dg_div_up(f->conv.Co, DG_THIN_CHANNELS));
    KLAUNCH_AFTER(fwd_kernel<CI>, grid, dim3(dg_thin_fwd<CI>::NT), 0, stream, *f);
}

/* ---- Data gradient ---- */

/* Up to 4 of a row's values that lie one behind the other, n of them the row's; wide: as one. */
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

/* f(at, n, wide, v) for all of a thread's results v, four at a time: of a row of x they are neighbours, for pixels of two
 * phases take turns. at: the first one's index. */
template <class G, class F>
static __device__ __forceinline__ void for_each_pack(const float (&acc)[2][2][4][G::T], const dg_conv_args &a, const dg_patch_place<G> &at, const F &f)
{
    const int ix = 2 * (at.b0 + at.col), valid = (a.W - ix) * G::T; /* 8 pixels from here on, as far as there are */
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

template <class G> static __global__ void __launch_bounds__(G::NT, G::T == 1 ? 4 : 3) dx_kernel(const dg_fused_conv f, int split, int stages)
{
    DEV_CHECK(blockDim.x == G::NT);
    dev_pool pool;
    float *const shared = pool.take<float>((size_t)stages * G::stage_bytes / sizeof(float));
    float *const factors = pool.take<float>(2 * (size_t)f.conv.Co); /* of a norm: [Co][scale, shift] */
    grid_dependency_wait();
    grid_dependents_launch();
    dg_conv_args a = f.conv;
    a.y = (void *)f.in.x;
    const dg_patch_place<G> at(a, (int)blockIdx.x);
    const int part = (int)blockIdx.y;
    const bool normed = f.in.kind == DG_SOURCE_NORM;
    if (normed) {
        for (int c = (int)threadIdx.x; c < a.Co; c += G::NT) {
            const dg_channel k = dg_channel_of(f.in, 0, c, a.Co);
            dg_store<2>(factors + 2 * c, dg_pack<float, 2>{{k.scale, k.shift}});
        }
        __syncthreads();
    }
    float acc[2][2][4][G::T] = {}; /* [py][px][position][channel] */
    dg_patch_sums<G>(acc, a, shared, at, 0, part, split, stages, [&](const dg_patch_loader<G> &loader, float *patch, int channel) {
        if (!normed) return;
        const dg_pack<float, 4> lo = dg_load<4>(factors + 2 * channel), hi = dg_load<4>(factors + 2 * channel + 4);
        const dg_channel k[4] = {{lo.v[0], 0, lo.v[1]}, {lo.v[2], 0, lo.v[3]}, {hi.v[0], 0, hi.v[1]}, {hi.v[2], 0, hi.v[3]}};
#pragma unroll
        for (int i = 0; i < G::passes; i++) {
            if (loader.to[i] < 0 || loader.from[i] < 0) continue; /* zeros outside of y stay */
            dg_pack<float, 4> v = dg_load<4>(patch + loader.to[i]);
#pragma unroll
            for (int e = 0; e < 4; e++) v.v[e] = dg_one_value(k[e], v.v[e], f.in.factor);
            dg_store<4>(patch + loader.to[i], v);
        }
    });

    const int64_t count = (int64_t)a.N * a.H * a.W * G::T;
    if (split > 1) {
        for_each_pack<G>(acc, a, at, [&](int64_t i, int n, bool wide, const dg_pack<float, 4> &v) { put(f.scratch + part * count + i, v, n, wide); });
        if (!dg_comes_last(f.counters + blockIdx.x, (unsigned)split)) return;
    }
    for_each_pack<G>(acc, a, at, [&](int64_t i, int n, bool wide, dg_pack<float, 4> v) {
        if (split > 1) {
            v = take(f.scratch + i, n, wide);
            for (int k = 1; k < split; k++) {
                const dg_pack<float, 4> more = take(f.scratch + k * count + i, n, wide);
#pragma unroll
                for (int e = 0; e < 4; e++) v.v[e] += more.v[e];
            }
        }
        const dg_pack<float, 4> old = f.out.kind == DG_SINK_ACT_DX ? take(f.out.y + i, n, wide) : dg_pack<float, 4>{};
#pragma unroll
        for (int e = 0; e < 4; e++) {
            if (f.out.kind == DG_SINK_ACT) v.v[e] = dg_sink_act(f.out, v.v[e]);
            if (f.out.kind == DG_SINK_ACT_DX) v.v[e] = dg_sink_act_dx(f.out, v.v[e], old.v[e]);
        }
        put((float *)a.x + i, v, n, wide);
    });
}

template <class G> static void launch_dx(const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream)
{
    const dg_conv_args *a = &f->conv;
    const int tiles = dg_div_up((a->H + 1) / 2, G::ROWS) * dg_div_up((a->W + 1) / 2, G::COLS) * dg_div_up(a->N, G::IMAGES);
    const size_t bytes = dev_pool_bytes<float>((size_t)tune->stages * G::stage_bytes / sizeof(float)) + dev_pool_bytes<float>(2 * (size_t)a->Co);
    KLAUNCH_AFTER(dx_kernel<G>, dim3((unsigned)tiles, (unsigned)tune->split), dim3(G::NT), bytes, stream, *f, tune->split, tune->stages);
}

template <int CI> static void launch(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream)
{
    if (kind == DG_OP_conv_fwd)
        launch_fwd<CI>(f, stream);
    else if (f->conv.W <= DG_THIN_SMALL)
        launch_dx<dg_patch_tile<DG_THIN_DX_SMALL, 4, CI, true>>(f, tune, stream);
    else
        launch_dx<dg_patch_tile<DG_THIN_DX_LARGE, 4, CI, true>>(f, tune, stream);
}

void dg_fused_thin(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream)
{
    f->conv.Ci == 1 ? launch<1>(kind, f, tune, stream) : launch<3>(kind, f, tune, stream);
}
