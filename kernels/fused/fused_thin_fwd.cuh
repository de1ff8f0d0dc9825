/* Fused forward convolution of images, which may come from the dataset. The epilogue is an activation, its gradient or
 * the gradient of a norm. Template parameter `fwd` is dg_thin_fwd<CI> or dg_thin_mma_fwd<E, CI>, where x has CI
 * channels.
 * Tile: 4 x 32 pixels x 32 channels.
 * Shared memory: 5 KB (CI = 1) or 14 KB (CI = 3), on tensor cores 3 or 7 KB.
 * Bound by: fp32 multiply-adds, on tensor cores stores of the results. */
#pragma once

#include "kernels/ops/conv/cuda/conv_thin_patch.cuh"
#include "kernels/fused/fuse.cuh"
#include "kernels/ops/gather/gather.cuh"

/* Loads the patch of tile (image, a0, b0) into shared memory. A patch is the tile's pixels with a border. All loads
 * are in flight together. If `writes` is set, the tile's pixels without the border are also written to the batch. */
template <class fwd>
static __device__ __forceinline__ void dg_thin_take(float *patch, const dg_gather_args &g, const dg_conv_args &a,
                                                    int image, int a0, int b0, bool writes)
{
    typedef dg_pack<float, 4> four;
    constexpr int CI = fwd::CI, line = DG_THIN_PATCH_COLS * CI, rows = DG_THIN_PATCH_ROWS, warps = fwd::NT / 32,
                  each = dg_div_up(rows, warps), border = 4 - CI, steps = dg_div_up(line + border, 128);
    static_assert(2 * DG_THIN_COLS % 4 == 0 && border % 2 == 1,
                  "the index of the first value of a tile must be a multiple of four");
    const int warp = (int)(threadIdx.x / 32), place = (int)(threadIdx.x % 32 * 4);
    const int width = a.W * CI, first = 2 * b0 * CI - 4 + place, top = 2 * a0 - 1 + warp;
    const bool drawn = image < g.N, wide = width % 4 == 0;
    auto there = [=](int k) { return warp + k * warps < rows && (unsigned)(top + k * warps) < (unsigned)a.H; };
    auto inside = [=](int s, int e) {
        return place + 128 * s < line + border && (unsigned)(first + 128 * s + e) < (unsigned)width;
    };
    auto for_each = [=](auto f) {
#pragma unroll
        for (int k = 0; k < each; k++)
#pragma unroll
            for (int s = 0; s < steps; s++) f(k, s, (top + k * warps) * width + first + 128 * s);
    };
    four v[each][steps] = {};
    if (drawn) {
        const uint8_t *const in = dg_gather_row(g, image);
        const bool mirrored = dg_gather_mirrored(g, image);
        if (wide && !mirrored && (uintptr_t)in % 4 == 0)
            for_each([&](int k, int s, int at) {
                if (!there(k) || !inside(s, 0)) return;
                const uint32_t bytes = *reinterpret_cast<const uint32_t *>(in + at);
#pragma unroll
                for (int e = 0; e < 4; e++) v[k][s].v[e] = dg_gather_signed_value((uint8_t)(bytes >> 8 * e));
            });
        else
            for_each([&](int k, int s, int at) {
                const int col = first + 128 * s, row = at - col;
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    const int from = mirrored ? (a.W - 1 - (col + e) / CI) * CI + (col + e) % CI : col + e;
                    if (there(k) && inside(s, e)) v[k][s].v[e] = dg_gather_signed_value(in[row + from]);
                }
            });
    } else {
        const int start = image * a.H * width;
        const float *const x = (const float *)a.x;
        if (wide)
            for_each([&](int k, int s, int at) {
                if (there(k) && inside(s, 0)) v[k][s] = dg_load<4>(x + (start + at));
            });
        else
            for_each([&](int k, int s, int at) {
#pragma unroll
                for (int e = 0; e < 4; e++)
                    if (there(k) && inside(s, e)) v[k][s].v[e] = x[start + at + e];
            });
    }
#pragma unroll
    for (int k = 0; k < each; k++)
#pragma unroll
        for (int s = 0; s < steps; s++)
            if (warp + k * warps < rows && place + 128 * s < line + border)
                fwd::put(patch, warp + k * warps, place + 128 * s - border, v[k][s].v);
    if (!drawn || !writes) return;
    const int end_row = a0 + DG_THIN_ROWS < a.Ho ? 2 * (a0 + DG_THIN_ROWS) : a.H;
    const int end = b0 + DG_THIN_COLS < a.Wo ? 2 * (b0 + DG_THIN_COLS) * CI : width;
    float *const x = (float *)g.x;
    const int start = image * a.H * width;
    auto own = [=](int k, int s) {
        const int row = top + k * warps, at = first + 128 * s;
        return there(k) && row >= 2 * a0 && row < end_row && at >= 2 * b0 * CI && inside(s, 0) && at < end;
    };
    if (wide)
        for_each([&](int k, int s, int at) {
            if (own(k, s)) dg_store<4>(x + (start + at), v[k][s]);
        });
    else
        for_each([&](int k, int s, int at) {
#pragma unroll
            for (int e = 0; e < 4; e++)
                if (own(k, s) && first + 128 * s + e < end) x[start + at + e] = v[k][s].v[e];
        });
}

/* Stores the block's partial sums per channel. Layout of `shared`: [NT / 32][channels][2]. */
template <class fwd>
static __device__ __forceinline__ void dg_thin_leave(float *shared, const dg_fused_conv &f,
                                                     float (&sum_g)[fwd::CHANNELS], float (&sum_gx)[fwd::CHANNELS],
                                                     int tile, int co0)
{
    const int warp = (int)(threadIdx.x / 32), c = (int)threadIdx.x;
#pragma unroll
    for (int e = 0; e < fwd::CHANNELS; e++)
        for (int d = 16; d >= fwd::LANES; d /= 2) {
            sum_g[e] += __shfl_xor_sync(0xffffffffu, sum_g[e], d);
            sum_gx[e] += __shfl_xor_sync(0xffffffffu, sum_gx[e], d);
        }
    __syncthreads();
    if (threadIdx.x % 32 < fwd::LANES)
#pragma unroll
        for (int e = 0; e < fwd::CHANNELS; e++)
            dg_store<2>(shared + 2 * (warp * DG_THIN_CHANNELS + fwd::channel(e)),
                        dg_pack<float, 2>{{sum_g[e], sum_gx[e]}});
    __syncthreads();
    if (c >= DG_THIN_CHANNELS || co0 + c >= f.conv.Co) return;
    dg_pack<float, 2> part = {};
    for (int k = 0; k < fwd::NT / 32; k++) {
        part.v[0] += shared[2 * (k * DG_THIN_CHANNELS + c)];
        part.v[1] += shared[2 * (k * DG_THIN_CHANNELS + c) + 1];
    }
    dg_store<2>(dg_parts_of(f.scratch, tile, co0 + c, f.conv.Co), part);
}

template <class fwd> static __device__ __forceinline__ void dg_thin_fwd_block(const dg_fused_conv &f)
{
    DEV_CHECK(blockDim.x == fwd::NT);
    constexpr int room = 5 * fwd::NT, both = fwd::patch_words + fwd::weight_words;
    SHARED(float, shared, [both > room ? both : room]);
    static_assert(fwd::patch_words % 4 == 0, "the weights in shared memory must be aligned to 16 bytes");
    float *const patch = shared, *const weight = shared + fwd::patch_words;
    dg_conv_args a = f.conv;
    a.x = (void *)f.in.x;
    const int image = (int)blockIdx.x, place = (int)blockIdx.y, co0 = (int)blockIdx.z * DG_THIN_CHANNELS;
    int a0 = place * DG_THIN_ROWS, b0 = 0;
    if (a.Wo > DG_THIN_COLS) {
        const int across = dg_thin_tiling_of(a).across;
        a0 = place / across * DG_THIN_ROWS, b0 = place % across * DG_THIN_COLS;
    }
    if constexpr (fwd::early)
        if (f.early) fwd::template load_weights<true>(weight, a, co0);
    grid_dependency_wait();
    grid_dependents_launch();
    if (!fwd::early || !f.early) fwd::template load_weights<false>(weight, a, co0);
    dg_thin_take<fwd>(patch, f.gather, a, image, a0, b0, co0 == 0);
    __syncthreads();
    fwd sums;
    sums.add(patch, weight);

    const int oy = a0 + fwd::row();
    const int first = ((image * a.Ho + oy) * a.Wo + b0 + fwd::col(0)) * a.Co + co0 + fwd::channel(0);
    typedef dg_pack<float, 4> four;
    auto there = [&](int p, int h) { return oy < a.Ho && b0 + fwd::col(p) < a.Wo && co0 + fwd::channel(h) < a.Co; };
    auto for_each = [&](auto become) {
#pragma unroll
        for (int p = 0; p < 4; p++)
#pragma unroll
            for (int h = 0; h < fwd::CHANNELS; h += 4)
                if (there(p, h)) become(p, h, (fwd::col(p) - fwd::col(0)) * a.Co + fwd::channel(h) - fwd::channel(0));
    };
    auto map = [&](auto become) {
#pragma unroll
        for (int p = 0; p < 4; p++)
#pragma unroll
            for (int e = 0; e < fwd::CHANNELS; e++) sums.at(p, e) = become(sums.at(p, e));
    };
    const bool norm_dx = f.out.kind == DG_EPILOGUE_NORM_DX, acts = f.out.kind == DG_EPILOGUE_ACT;
    float sum_g[fwd::CHANNELS] = {}, sum_gx[fwd::CHANNELS] = {};
    if (norm_dx) {
        const int group = f.out.groups == 1 ? 0 : image / (a.N / f.out.groups);
        const float factor = f.out.factor;
#pragma unroll
        for (int h = 0; h < fwd::CHANNELS; h += 4) {
            const int co = min(co0 + fwd::channel(h), a.Co - 4);
            const four mean = dg_load<4>(f.out.mean + group * a.Co + co), beta = dg_load<4>(f.out.beta + co),
                       rstd = dg_load<4>(f.out.rstd + group * a.Co + co);
            four scale = dg_load<4>(f.out.gamma + co);
#pragma unroll
            for (int e = 0; e < 4; e++) scale.v[e] *= rstd.v[e];
#pragma unroll
            for (int p = 0; p < 4; p++) {
                if (!there(p, h)) continue;
                const four pre = dg_load_four(f.out.pre,
                                              first + (fwd::col(p) - fwd::col(0)) * a.Co + fwd::channel(h) -
                                                  fwd::channel(0),
                                              fwd::rounds && f.out.rounded_y);
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    float &v = sums.at(p, h + e);
                    const float d = pre.v[e] - mean.v[e], z = d * scale.v[e] + beta.v[e], below = factor * v;
                    v = z > 0 ? v : below;
                    sum_g[h + e] += v;
                    sum_gx[h + e] += v * d;
                }
            }
        }
    } else if (f.out.kind == DG_EPILOGUE_ACT_DX) {
        for_each([&](int p, int h, int at) {
            const four old = dg_load<4>(f.out.y + first + at);
#pragma unroll
            for (int e = 0; e < 4; e++) {
                float &v = sums.at(p, h + e);
                v = dg_epilogue_act_dx(f.out, v, old.v[e]);
            }
        });
    } else if (acts && f.out.act == DG_ACT_LEAKY) {
        const float slope = f.out.slope; /* from 0 to 1, so act(v) = max(v, slope * v) */
        map([&](float v) { return fmaxf(v, slope * v); });
    } else if (acts && f.out.act != DG_ACT_NONE) {
        map([&](float v) { return dg_epilogue_act(f.out, v); });
    }
    auto packed = [&](int p, int h) {
        return four{{sums.at(p, h), sums.at(p, h + 1), sums.at(p, h + 2), sums.at(p, h + 3)}};
    };
    if (fwd::rounds && f.out.rounded)
        for_each([&](int p, int h, int at) { dg_store_four(a.y, first + at, true, packed(p, h)); });
    else for_each([&](int p, int h, int at) { dg_store_four(a.y, first + at, false, packed(p, h)); });
    if (!norm_dx) return;
    const int blocks = a.N / f.out.groups * (int)gridDim.y;
    const int tile = image * (int)gridDim.y + place;
    dg_thin_leave<fwd>(shared, f, sum_g, sum_gx, tile, co0);
    dg_epilogue out = f.out;
    out.kind = DG_EPILOGUE_NORM_DX;
    dg_epilogue_finish<fwd::NT>(out, f.scratch,
                                f.counters +
                                    (int)blockIdx.z * dg_epilogue_counters(blocks, f.out.groups, DG_THIN_CHANNELS),
                                tile, co0, DG_THIN_CHANNELS, a.Co, (int)gridDim.z, blocks,
                                (float)(a.N / f.out.groups * a.Ho * a.Wo), shared);
}

template <class fwd>
static __global__ void __launch_bounds__(fwd::NT, fwd::blocks) dg_thin_fwd_kernel(const dg_fused_conv f)
{
    if constexpr (fwd::there) dg_thin_fwd_block<fwd>(f);
    else __trap();
}

template <class fwd> static void dg_fused_thin_fwd(const dg_fused_conv *f, bool overlapping, cudaStream_t stream)
{
    const dg_thin_tiling t = dg_thin_tiling_of(f->conv);
    const dim3 grid((unsigned)f->conv.N, (unsigned)(t.down * t.across),
                    (unsigned)dg_div_up(f->conv.Co, DG_THIN_CHANNELS));
    if (overlapping) KLAUNCH_AFTER(dg_thin_fwd_kernel<fwd>, grid, dim3(fwd::NT), 0, stream, *f);
    else KLAUNCH(dg_thin_fwd_kernel<fwd>, grid, dim3(fwd::NT), 0, stream, *f);
}
