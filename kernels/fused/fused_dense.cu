/* The first layer of G: x(N, pixels, C) = y(N, Co) w(Co, pixels, C), with the latents drawn here and the statistics of
 * the norm behind it. A block makes the channels c0.. of one pixel for some images; a thread 2 images x 4 channels. The
 * sum runs over DEPTH latents at a time, nearly always all of them. Blocks draw the latents that they need: that is
 * quicker than to wait for another kernel.
 *
 * Tile: 16 images x 64 channels of one pixel (conv_tiles.h). Shared memory: 40 KB. Registers: 95. Bound by:
 * multiply-adds and the drawing of latents. */
#define DEV_RANDOM
#include "kernels/ops/conv/cuda/conv.cuh"
#include "kernels/fused/fuse.cuh"

static constexpr int IMAGES = DG_DENSE_IMAGES, CHANNELS = DG_DENSE_CHANNELS, DEPTH = 128,
                     THREADS = IMAGES / 2 * (CHANNELS / 4);
static constexpr int LINE = DEPTH + 4; /* of y: rows of 128 would share a bank */
static_assert(IMAGES * LINE * sizeof(float) >= 5 * THREADS * sizeof(float), "room for the sums of an epilogue");
static_assert(LINE >= CHANNELS && THREADS >= CHANNELS, "results lie where y was; a thread a channel");

/* Latents k0 .. k0 + depth - 1 of the images from n0 on; normals come in fours, which may begin in the image before. */
static __device__ __forceinline__ void draw(float *y, const dg_fused_conv &f, int n0, int k0, int depth, bool writes)
{
    const dg_noise_args &noise = f.noise;
    const uint64_t step = noise.stream == DG_STREAM_NOISE ? noise.state->step : noise.first_step;
    const uint64_t seed = noise.state->seed, subsequence = dg_subsequence(noise.stream, step);
    const int Co = f.conv.Co, quads = Co % 4 == 0 ? (depth + 3) / 4 : (depth + 6) / 4; /* of an image, at most */
    for (int i = (int)threadIdx.x; i < IMAGES * quads; i += THREADS) {
        const int row = i / quads;
        if (n0 + row >= f.conv.N) continue;
        const int64_t begin = (int64_t)(n0 + row) * Co + k0, at = (begin / 4 + i % quads) * 4;
        if (at >= begin + depth) continue;
        const float4 normal = dev_normal4(seed, subsequence, (uint64_t)at / 4);
        const float z[4] = {normal.x, normal.y, normal.z, normal.w};
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const int64_t k = at + e - begin;
            if (k < 0 || k >= depth) continue;
            y[row * LINE + (int)k] = z[e];
            if (writes) ((float *)noise.z)[at + e] = z[e];
        }
    }
}

static __global__ void __launch_bounds__(THREADS) dense_kernel(const dg_fused_conv f)
{
    DEV_CHECK(blockDim.x == THREADS);
    SHARED(float, weight, [DEPTH * CHANNELS]);
    SHARED(float, y, [IMAGES * LINE]);
    grid_dependency_wait();
    grid_dependents_launch();
    const dg_conv_args &a = f.conv;
    const int C = a.Ci, pixels = a.H * a.W, tiles = dg_div_up(a.N, IMAGES);
    const int pixel = (int)blockIdx.x / tiles, n0 = (int)blockIdx.x % tiles * IMAGES, c0 = (int)blockIdx.y * CHANNELS;
    const int lane = (int)threadIdx.x % (CHANNELS / 4), row = (int)threadIdx.x / (CHANNELS / 4) * 2;
    const float *const w = (const float *)a.w + (int64_t)pixel * C + c0;
    float acc[2][4] = {};
    for (int k0 = 0; k0 < a.Co; k0 += DEPTH) {
        const int depth = min(DEPTH, a.Co - k0), whole = (depth + 3) / 4 * 4; /* zeros behind */
        __syncthreads();                                                      /* nobody reads the latents before */
        for (int i = (int)threadIdx.x; i < whole * (CHANNELS / 4); i += THREADS) {
            const int k = i / (CHANNELS / 4), c = i % (CHANNELS / 4) * 4;
            const bool ok = k < depth && c0 + c < C;
            cp_async16(weight + k * CHANNELS + c, ok ? w + (int64_t)(k0 + k) * pixels * C + c : (const float *)a.w, ok);
        }
        cp_async_commit();
        if (f.noise.n) {
            draw(y, f, n0, k0, depth, pixel == 0 && c0 == 0);
            const bool edge = a.N - n0 < IMAGES || depth < whole;
            for (int i = (int)threadIdx.x; i < IMAGES * whole && edge; i += THREADS)
                if (n0 + i / whole >= a.N || i % whole >= depth) y[i / whole * LINE + i % whole] = 0;
        } else {
            for (int i = (int)threadIdx.x; i < IMAGES * whole; i += THREADS) {
                const int r = i / whole, k = i % whole;
                y[r * LINE + k] = n0 + r < a.N && k < depth ? f.in.x[(int64_t)(n0 + r) * a.Co + k0 + k] : 0;
            }
        }
        cp_async_wait<0>();
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < whole; k += 4) {
            const dg_pack<float, 4> first = dg_load<4>(y + row * LINE + k),
                                    second = dg_load<4>(y + (row + 1) * LINE + k);
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const dg_pack<float, 4> v = dg_load<4>(weight + (k + i) * CHANNELS + lane * 4);
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    acc[0][e] += first.v[i] * v.v[e];
                    acc[1][e] += second.v[i] * v.v[e];
                }
            }
        }
    }

    const bool stats = f.out.kind == DG_EPILOGUE_STATS;
    __syncthreads();
#pragma unroll
    for (int r = 0; r < 2; r++) {
        dg_pack<float, 4> v;
#pragma unroll
        for (int e = 0; e < 4; e++)
            v.v[e] = f.out.kind == DG_EPILOGUE_ACT ? dg_epilogue_act(f.out, acc[r][e]) : acc[r][e];
        if (n0 + row + r < a.N && c0 + lane * 4 < C)
            dg_store_four(a.x, ((int64_t)(n0 + row + r) * pixels + pixel) * C + c0 + lane * 4, f.out.rounded, v);
        if (stats) dg_store<4>(y + (row + r) * LINE + lane * 4, v);
    }
    if (!stats) return;
    __syncthreads();
    const int c = (int)threadIdx.x, rows = min(IMAGES, a.N - n0), blocks = (int)gridDim.x, columns = (int)gridDim.y;
    if (c < CHANNELS && c0 + c < C) {
        float mean = 0, m2 = 0;
        for (int r = 0; r < rows; r++) mean += y[r * LINE + c];
        mean /= (float)rows;
        for (int r = 0; r < rows; r++) m2 += (y[r * LINE + c] - mean) * (y[r * LINE + c] - mean);
        dg_store<2>(dg_parts_of(f.scratch, (int)blockIdx.x, c0 + c, C), dg_pack<float, 2>{{mean, m2}});
    }
    if (c == 0) dg_rows_of(f.scratch, blocks, C, (int)blockIdx.y)[blockIdx.x] = (float)rows;
    dg_epilogue_finish<THREADS>(f.out, f.scratch,
                                f.counters + (int)blockIdx.y * dg_epilogue_counters(blocks, 1, CHANNELS),
                                (int)blockIdx.x, c0, CHANNELS, C, columns, blocks, (float)(a.N * pixels), y);
}

void dg_fused_dense(const dg_fused_conv *f, cudaStream_t stream)
{
    const dg_conv_args *a = &f->conv;
    const dim3 grid((unsigned)(a->H * a->W * dg_div_up(a->N, IMAGES)), (unsigned)dg_div_up(a->Ci, CHANNELS));
    KLAUNCH_AFTER(dense_kernel, grid, dim3(THREADS), 0, stream, *f);
}
