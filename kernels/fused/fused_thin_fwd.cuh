/* Forward convolution of pictures with what is around it: the pictures may come from the data set, the results go
 * through an activation, its gradient or the norm's. fwd says how sums are made: dg_thin_fwd or dg_thin_mma_fwd.
 *
 * Tile: 4 x 32 pixels x 32 channels. Shared memory: 5 KB (CI = 1) or 14 KB (3); on tensor cores in bf16 3 or 7.
 * Registers: 96; on tensor cores 92 to 110. Bound by: multiply-adds of ordinary cores; on tensor cores by the results'
 * way to memory. Template parameter fwd: dg_thin_fwd<CI> or dg_thin_mma_fwd<E, CI>, with CI channels of x. */
#ifndef DG_FUSED_THIN_FWD_CUH
#define DG_FUSED_THIN_FWD_CUH

#include "kernels/ops/conv/cuda/conv_thin_patch.cuh"
#include "kernels/fused/fuse.cuh"
#include "kernels/ops/gather/gather.cuh"

/* The patch of tile (image, a0, b0), all of it in flight at once: a warp has every so many rows, a lane every 32nd
 * value of them, so that a column is judged once and lies at a constant from the row. From the data set the pixels of
 * this tile, without its border, are written to the batch; those beyond the last tile's that the convolution does not
 * centre on are that tile's, too. */
template <class fwd>
static __device__ __forceinline__ void dg_thin_take(float *patch, const dg_gather_args &g, const dg_conv_args &a,
                                                    int image, int a0, int b0, bool writes)
{
    constexpr int CI = fwd::CI, line = DG_THIN_PATCH_COLS * CI, rows = DG_THIN_PATCH_ROWS, warps = fwd::NT / 32,
                  each = dg_div_up(rows, warps), steps = dg_div_up(line, 32);
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const int width = a.W * CI, first = (2 * b0 - 1) * CI + lane, top = 2 * a0 - 1 + warp; /* in memory */
    const bool drawn = image < g.N;
    unsigned inside = 0; /* bit s: the lane's value s of a row is in the picture */
#pragma unroll
    for (int s = 0; s < steps; s++)
        inside |= (unsigned)(lane + 32 * s < line && (unsigned)(first + 32 * s) < (unsigned)width) << s;
    auto there = [=](int k) { return warp + k * warps < rows && (unsigned)(top + k * warps) < (unsigned)a.H; };
    float v[each][steps];
    if (drawn) {
        const uint8_t *const in = dg_gather_row(g, image);
        const bool mirrored = dg_gather_mirrored(g, image);
#pragma unroll
        for (int s = 0; s < steps; s++) {
            const int at = first + 32 * s, from = mirrored ? (a.W - 1 - at / CI) * CI + at % CI : at;
#pragma unroll
            for (int k = 0; k < each; k++)
                v[k][s] = there(k) && inside >> s & 1
                              ? dg_gather_value(in[(top + k * warps) * width + from], 127.5f, 1.0f)
                              : 0;
        }
    } else {
        const float *const x = (const float *)a.x + (int64_t)image * a.H * width + first;
#pragma unroll
        for (int k = 0; k < each; k++)
#pragma unroll
            for (int s = 0; s < steps; s++)
                v[k][s] = there(k) && inside >> s & 1 ? x[(top + k * warps) * width + 32 * s] : 0;
    }
#pragma unroll
    for (int k = 0; k < each; k++)
#pragma unroll
        for (int s = 0; s < steps; s++)
            if (warp + k * warps < rows && lane + 32 * s < line)
                fwd::put(patch, warp + k * warps, lane + 32 * s, v[k][s]);
    if (!drawn || !writes) return;
    const int end_row = a0 + DG_THIN_ROWS < a.Ho ? 2 * (a0 + DG_THIN_ROWS) : a.H;
    const int end = b0 + DG_THIN_COLS < a.Wo ? 2 * (b0 + DG_THIN_COLS) * CI : width;
    float *const x = (float *)g.x + (int64_t)image * a.H * width + first;
#pragma unroll
    for (int k = 0; k < each; k++) {
        const int row = top + k * warps;
        if (!there(k) || row < 2 * a0 || row >= end_row) continue;
#pragma unroll
        for (int s = 0; s < steps; s++)
            if (inside >> s & 1 && first + 32 * s >= 2 * b0 * CI && first + 32 * s < end)
                x[row * width + 32 * s] = v[k][s];
    }
}

/* Sums of a thread's channels over the block, into the parts of the block: over a warp's pixels by shuffles, over the
 * warps in shared memory, of which [NT / 32][channels][2] are used. */
template <class fwd>
static __device__ __forceinline__ void dg_thin_leave(float *shared, const dg_fused_conv &f,
                                                     float (&sum_g)[fwd::CHANNELS], float (&sum_gx)[fwd::CHANNELS],
                                                     int tile, int co0)
{
    const int warp = (int)threadIdx.x / 32, c = (int)threadIdx.x;
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
    /* of the sums of an epilogue */
    constexpr int room = 5 * fwd::NT, both = fwd::patch_words + fwd::weight_words;
    SHARED(float, shared, [both > room ? both : room]);
    static_assert(fwd::patch_words % 4 == 0, "weights begin at 16 bytes");
    float *const patch = shared, *const weight = shared + fwd::patch_words;
    dg_conv_args a = f.conv;
    a.x = (void *)f.in.x;
    const dg_thin_tiling t = dg_thin_tiling_of(a);
    const int tile = (int)blockIdx.x, co0 = (int)blockIdx.y * DG_THIN_CHANNELS;
    const int b0 = tile % t.across * DG_THIN_COLS, a0 = tile / t.across % t.down * DG_THIN_ROWS,
              image = tile / t.across / t.down;
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
    const bool norm_dx = f.out.kind == DG_EPILOGUE_NORM_DX;
    const int per_group = a.N / f.out.groups, group = image / per_group;
    const int64_t first = (((int64_t)image * a.Ho + oy) * a.Wo + b0 + fwd::col(0)) * a.Co + co0 + fwd::channel(0);
    float sum_g[fwd::CHANNELS] = {}, sum_gx[fwd::CHANNELS] = {};
    typedef dg_pack<float, 4> four;
    /* Stores what the four results v from channel h on of each pixel, which belong to `at`, have become; Co is a
     * multiple of 4. A call for each kind of epilogue, which then is not asked for value by value. */
    auto store = [&](int h, auto become) {
        if (oy >= a.Ho || co0 + fwd::channel(h) >= a.Co) return;
#pragma unroll
        for (int p = 0; p < 4; p++) {
            if (b0 + fwd::col(p) >= a.Wo) continue;
            const int64_t at = first + (fwd::col(p) - fwd::col(0)) * a.Co + fwd::channel(h) - fwd::channel(0);
            four v = {{sums.at(p, h), sums.at(p, h + 1), sums.at(p, h + 2), sums.at(p, h + 3)}};
            become(v, at);
            dg_store_four(a.y, at, fwd::rounds && f.out.rounded, v);
        }
    };
    const bool acts = f.out.kind == DG_EPILOGUE_ACT;
    const float factor = f.out.factor, slope = acts && f.out.act == DG_ACT_LEAKY ? f.out.slope : 1;
#pragma unroll
    for (int h = 0; h < fwd::CHANNELS; h += 4) {
        if (norm_dx) {
            const int co = min(co0 + fwd::channel(h), a.Co - 4);
            const four mean = dg_load<4>(f.out.mean + group * a.Co + co), beta = dg_load<4>(f.out.beta + co),
                       rstd = dg_load<4>(f.out.rstd + group * a.Co + co);
            four scale = dg_load<4>(f.out.gamma + co);
#pragma unroll
            for (int e = 0; e < 4; e++) scale.v[e] *= rstd.v[e];
            store(h, [&](four &v, int64_t at) {
                const four pre = dg_load_four(f.out.pre, at, fwd::rounds && f.out.rounded_y);
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    const float d = pre.v[e] - mean.v[e], z = d * scale.v[e] + beta.v[e], below = factor * v.v[e];
                    v.v[e] = z > 0 ? v.v[e] : below;
                    sum_g[h + e] += v.v[e];
                    sum_gx[h + e] += v.v[e] * d;
                }
            });
        } else if (f.out.kind == DG_EPILOGUE_ACT_DX) {
            store(h, [&](four &v, int64_t at) {
                const four old = dg_load<4>(f.out.y + at);
#pragma unroll
                for (int e = 0; e < 4; e++) v.v[e] = dg_epilogue_act_dx(f.out, v.v[e], old.v[e]);
            });
        } else if (acts && (f.out.act == DG_ACT_TANH || f.out.act == DG_ACT_RELU)) {
            store(h, [&](four &v, int64_t) {
#pragma unroll
                for (int e = 0; e < 4; e++) v.v[e] = dg_epilogue_act(f.out, v.v[e]);
            });
        } else { /* what is leaky, and what is as it is, without asking for each value which it is */
            store(h, [&](four &v, int64_t) {
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    const float below = slope * v.v[e];
                    v.v[e] = v.v[e] > 0 ? v.v[e] : below;
                }
            });
        }
    }
    if (!norm_dx) return;
    dg_thin_leave<fwd>(shared, f, sum_g, sum_gx, tile, co0);
    const int blocks = per_group * t.down * t.across; /* a block has pixels of one image */
    dg_epilogue out = f.out;
    out.kind = DG_EPILOGUE_NORM_DX; /* the compiler leaves out what other kinds need */
    dg_epilogue_finish<fwd::NT>(out, f.scratch,
                                f.counters +
                                    (int)blockIdx.y * dg_epilogue_counters(blocks, f.out.groups, DG_THIN_CHANNELS),
                                tile, co0, DG_THIN_CHANNELS, a.Co, (int)gridDim.y, blocks,
                                (float)(per_group * a.Ho * a.Wo), shared);
}

template <class fwd>
static __global__ void __launch_bounds__(fwd::NT, fwd::blocks) dg_thin_fwd_kernel(const dg_fused_conv f)
{
    if constexpr (fwd::there) dg_thin_fwd_block<fwd>(f);
    else __trap(); /* of an architecture that has no such products; dg_variant_check() refuses them there */
}

/* overlapping: its blocks may begin while the launch in front ends. */
template <class fwd> static void dg_fused_thin_fwd(const dg_fused_conv *f, bool overlapping, cudaStream_t stream)
{
    const dg_thin_tiling t = dg_thin_tiling_of(f->conv);
    const dim3 grid((unsigned)(f->conv.N * t.down * t.across), (unsigned)dg_div_up(f->conv.Co, DG_THIN_CHANNELS));
    if (overlapping) KLAUNCH_AFTER(dg_thin_fwd_kernel<fwd>, grid, dim3(fwd::NT), 0, stream, *f);
    else KLAUNCH(dg_thin_fwd_kernel<fwd>, grid, dim3(fwd::NT), 0, stream, *f);
}

#endif
