/* The first layer of G, x(N, pixels, C) = y(N, Co) w(Co, pixels, C), and the statistics of the norm after it. Each
 * block draws its random latents y, which is faster than waiting for another kernel. The sum over the latents is
 * divided into PARTS parts, which are added in order.
 * Block tile: 16 images x 128 channels of one pixel (conv_tiles.h). With wide tiles, fewer blocks draw the same
 * latent.
 * Thread tile: 4 images x 4 channels.
 * Shared memory: 43 KB.
 * Bound by: multiply-adds and random numbers */
#define DEV_RANDOM
#include "kernels/ops/conv/cuda/conv.cuh"
#include "kernels/fused/fuse.cuh"

static constexpr int IMAGES = DG_DENSE_IMAGES, CHANNELS = DG_DENSE_CHANNELS, DEPTH = 128, PARTS = 4, AHEAD = 5,
                     THREADS = PARTS * IMAGES / 4 * 32;
static constexpr int LINE = IMAGES + 4; /* floats per latent in y: one per image, plus padding against bank conflicts */
static_assert(CHANNELS == 4 * 32, "each lane of a warp must have four channels");
static_assert(THREADS == IMAGES * 32 && THREADS >= CHANNELS,
              "a block needs one warp per image and one thread per channel");
static_assert(PARTS * IMAGES * CHANNELS >= 5 * THREADS,
              "the sums of the epilogue must fit into the shared memory of the partial sums");

/* Draws latents k0 to k0 + depth - 1 of IMAGES images, beginning with image n0. Normal random numbers are drawn in
 * groups of four. The first group may begin in the previous image. */
static __device__ __forceinline__ void draw(float *y, const dg_fused_conv &f, int n0, int k0, int depth, bool writes)
{
    const dg_noise_args &noise = f.noise;
    const uint64_t step = noise.stream == DG_STREAM_NOISE ? noise.state->step : noise.first_step;
    const uint64_t seed = noise.state->seed, subsequence = dg_subsequence(noise.stream, step);
    const int Co = f.conv.Co, quads = Co % 4 == 0 && noise.first % 4 == 0 ? (depth + 3) / 4 : (depth + 6) / 4;
    for (int i = (int)threadIdx.x; i < IMAGES * quads; i += THREADS) {
        const int row = i % IMAGES, quad = i / IMAGES;
        const int64_t own = (int64_t)(n0 + row) * Co + k0, begin = noise.first + own;
        const int first = 4 * quad - (int)(begin % 4);
        if (first >= depth) continue;
        const float4 normal = dev_normal4(seed, subsequence, (uint64_t)(begin / 4 + quad));
        const float z[4] = {normal.x, normal.y, normal.z, normal.w};
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const int k = first + e;
            if ((unsigned)k >= (unsigned)depth) continue;
            y[k * LINE + row] = z[e];
            if (writes && n0 + row < f.conv.N) ((float *)noise.z)[own + k] = z[e];
        }
    }
}

static __global__ void __launch_bounds__(THREADS) dense_kernel(const dg_fused_conv f)
{
    DEV_CHECK(blockDim.x == THREADS);
    SHARED(float, y, [DEPTH * LINE]);
    SHARED(float, sums, [PARTS * IMAGES * CHANNELS]);
    typedef dg_pack<float, 4> four;
    grid_dependency_wait();
    grid_dependents_launch();
    const dg_conv_args &a = f.conv;
    const int C = a.Ci, pixels = (int)gridDim.y, tiles = (int)gridDim.x, pixel = (int)blockIdx.y,
              n0 = (int)blockIdx.x * IMAGES, c0 = (int)blockIdx.z * CHANNELS;
    const int warp = (int)threadIdx.x / 32, part = warp % PARTS, row = warp / PARTS * 4,
              lane_c = (int)threadIdx.x % 32 * 4;
    const int64_t stride = (int64_t)pixels * C;
    const float *const w = (const float *)a.w + (int64_t)pixel * C + min(c0 + lane_c, C - 4);
    four acc[4] = {};
    auto add = [&](const four &weight, const float *latents) {
        const four latent = dg_load<4>(latents);
#pragma unroll
        for (int r = 0; r < 4; r++)
#pragma unroll
            for (int e = 0; e < 4; e++) acc[r].v[e] += latent.v[r] * weight.v[e];
    };
    for (int k0 = 0; k0 < a.Co; k0 += DEPTH) {
        const int depth = min(DEPTH, a.Co - k0), each = dg_div_up(depth, PARTS);
        int left = min(each, depth - part * each);
        const float *from = w + (k0 + part * each) * stride, *latents = y + part * each * LINE + row;
        four weight[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++, from += stride)
            if (i < left) weight[i] = dg_load<4>(from);
        if (k0) __syncthreads();
        if (f.noise.n) {
            draw(y, f, n0, k0, depth, pixel == 0 && c0 == 0);
        } else {
            for (int i = (int)threadIdx.x; i < IMAGES * depth; i += THREADS) {
                const int r = i / depth, at = i % depth;
                y[at * LINE + r] = n0 + r < a.N ? f.in.x[(int64_t)(n0 + r) * a.Co + k0 + at] : 0;
            }
        }
        __syncthreads();
#pragma unroll 1
        for (; left >= 2 * AHEAD; left -= AHEAD, latents += AHEAD * LINE)
#pragma unroll
            for (int i = 0; i < AHEAD; i++, from += stride) {
                add(weight[i], latents + i * LINE);
                weight[i] = dg_load<4>(from);
            }
#pragma unroll
        for (int i = 0; i < AHEAD; i++, latents += LINE)
            if (i < left) add(weight[i], latents);
#pragma unroll 1
        for (left -= AHEAD; left > 0; left--, from += stride, latents += LINE) add(dg_load<4>(from), latents);
    }

#pragma unroll
    for (int r = 0; r < 4; r++) dg_store<4>(sums + (part * IMAGES + row + r) * CHANNELS + lane_c, acc[r]);
    __syncthreads();
    const bool stats = f.out.kind == DG_EPILOGUE_STATS;
    float *const mine = sums + warp * CHANNELS + lane_c;
    four v = dg_load<4>(mine);
#pragma unroll
    for (int p = 1; p < PARTS; p++) {
        const four more = dg_load<4>(mine + p * IMAGES * CHANNELS);
#pragma unroll
        for (int e = 0; e < 4; e++) v.v[e] += more.v[e];
    }
    if (f.out.kind == DG_EPILOGUE_ACT)
#pragma unroll
        for (int e = 0; e < 4; e++) v.v[e] = dg_epilogue_act(f.out, v.v[e]);
    if (n0 + warp < a.N && c0 + lane_c < C)
        dg_store_four(a.x, (n0 + warp) * stride + (int64_t)pixel * C + c0 + lane_c, f.out.rounded, v);
    if (!stats) return;
    dg_store<4>(mine, v);
    __syncthreads();
    const int c = (int)threadIdx.x, rows = min(IMAGES, a.N - n0), blocks = tiles * pixels,
              block = pixel * tiles + (int)blockIdx.x, columns = (int)gridDim.z, column = (int)blockIdx.z;
    if (c < CHANNELS && c0 + c < C) {
        float of[IMAGES], mean = 0, m2 = 0;
#pragma unroll
        for (int r = 0; r < IMAGES; r++) of[r] = sums[r * CHANNELS + c];
#pragma unroll
        for (int r = 0; r < IMAGES; r++) mean += r < rows ? of[r] : 0;
        mean = dg_quotient(mean, (float)rows);
#pragma unroll
        for (int r = 0; r < IMAGES; r++) m2 += r < rows ? (of[r] - mean) * (of[r] - mean) : 0;
        dg_store<2>(dg_parts_of(f.scratch, block, c0 + c, C), dg_pack<float, 2>{{mean, m2}});
    }
    if (c == 0) dg_rows_of(f.scratch, blocks, C, column)[block] = (float)rows;
    dg_epilogue out = f.out;
    out.kind = DG_EPILOGUE_STATS;
    out.groups = 1;
    dg_epilogue_finish<THREADS>(out, f.scratch, f.counters + column * dg_epilogue_counters(blocks, 1, CHANNELS), block,
                                c0, CHANNELS, C, columns, blocks, (float)(a.N * pixels), sums);
}

void dg_fused_dense(const dg_fused_conv *f, cudaStream_t stream)
{
    dg_fused_conv pixel = *f;
    pixel.conv.Ci = dg_conv_channels(&f->conv);
    const dim3 grid((unsigned)dg_div_up(f->conv.N, IMAGES), (unsigned)dg_conv_pixels(&f->conv),
                    (unsigned)dg_div_up(pixel.conv.Ci, CHANNELS));
    KLAUNCH_AFTER(dense_kernel, grid, dim3(THREADS), 0, stream, pixel);
}
