/* Convolutions of pictures: 1 or 3 channels on the side of x, 4x4, stride 2, pad 1. Such a pixel is no 16 bytes, so
 * patches of x come into shared memory value by value; rows of it are contiguous. Forward and weight gradient are
 * here, the data gradient is conv_patch.cu's. */
#include "conv.cuh"

static constexpr int K = 4, TILE_ROWS = 4, TILE_COLS = 32, CHANNELS = 32; /* outputs and channels of a block */
static constexpr int PATCH_ROWS = 2 * TILE_ROWS + 2, PATCH_COLS = 2 * TILE_COLS + 2;

/* The tiles of y's pixels: tile t is rows a0.., columns b0.. of one image. */
typedef struct {
    int down, across; /* tiles in an image */
} tiling;

static __host__ __device__ __forceinline__ tiling tiling_of(const dg_conv_args &a)
{
    tiling t;
    t.down = dg_div_up(a.Ho, TILE_ROWS);
    t.across = dg_div_up(a.Wo, TILE_COLS);
    return t;
}

/* The patch that tile (image, a0, b0) of y sees: [PATCH_ROWS][PATCH_COLS * CI], zero outside of x. */
template <int CI, int NT> static __device__ __forceinline__ void load_patch(float *patch, const dg_conv_args &a, int image, int a0, int b0)
{
    constexpr int line = PATCH_COLS * CI;
    const float *x = (const float *)a.x + (int64_t)image * a.H * a.W * CI;
    const int start = (2 * b0 - 1) * CI; /* of the row in memory */
    for (int i = (int)threadIdx.x; i < PATCH_ROWS * line; i += NT) {
        const int row = 2 * a0 - 1 + i / line, at = start + i % line;
        patch[i] = (unsigned)row < (unsigned)a.H && (unsigned)at < (unsigned)(a.W * CI) ? x[row * a.W * CI + at] : 0.0f;
    }
}

/* ---- Forward: a thread makes 4 neighbouring pixels x 8 channels. ---- */

static constexpr int FWD_CHANNELS = 8, FWD_LANES = CHANNELS / FWD_CHANNELS, FWD_THREADS = TILE_ROWS * TILE_COLS / 4 * FWD_LANES;

template <int CI> static __global__ void __launch_bounds__(FWD_THREADS) fwd_kernel(const dg_conv_args a)
{
    DEV_CHECK(blockDim.x == FWD_THREADS);
    constexpr int line = PATCH_COLS * CI, taps = K * K * CI, gap = CHANNELS + 4; /* rows of 32 would share a bank */
    SHARED(float, patch, [PATCH_ROWS * line]);
    SHARED(float, weight, [taps * gap]);
    const tiling t = tiling_of(a);
    const int tile = (int)blockIdx.x, co0 = (int)blockIdx.y * CHANNELS;
    const int b0 = tile % t.across * TILE_COLS, a0 = tile / t.across % t.down * TILE_ROWS, image = tile / t.across / t.down;
    load_patch<CI, FWD_THREADS>(patch, a, image, a0, b0);
    for (int i = (int)threadIdx.x; i < taps * CHANNELS; i += FWD_THREADS) {
        const int co = i / taps, k = i % taps;
        weight[k * gap + co] = co0 + co < a.Co ? ((const float *)a.w)[(co0 + co) * taps + k] : 0.0f;
    }
    __syncthreads();
    const int lane = (int)threadIdx.x % FWD_LANES, group = (int)threadIdx.x / FWD_LANES;
    const int col = group % (TILE_COLS / 4) * 4, row = group / (TILE_COLS / 4);
    float acc[4][FWD_CHANNELS] = {};
#pragma unroll
    for (int ky = 0; ky < K; ky++) {
        float v[10 * CI]; /* the columns that four pixels see */
#pragma unroll
        for (int i = 0; i < 10 * CI; i++) v[i] = patch[(2 * row + ky) * line + 2 * col * CI + i];
#pragma unroll
        for (int k = 0; k < K * CI; k++) {
            const float *w = weight + (ky * K * CI + k) * gap + lane * FWD_CHANNELS;
            const dg_pack<float, 4> lo = dg_load<4>(w), hi = dg_load<4>(w + 4);
#pragma unroll
            for (int p = 0; p < 4; p++)
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    acc[p][e] += v[2 * p * CI + k] * lo.v[e];
                    acc[p][e + 4] += v[2 * p * CI + k] * hi.v[e];
                }
        }
    }
    const int oy = a0 + row, co = co0 + lane * FWD_CHANNELS;
    if (oy >= a.Ho) return;
#pragma unroll
    for (int p = 0; p < 4; p++) {
        const int ox = b0 + col + p;
        if (ox >= a.Wo) continue;
        float *y = (float *)a.y + (((int64_t)image * a.Ho + oy) * a.Wo + ox) * a.Co + co;
#pragma unroll
        for (int h = 0; h < FWD_CHANNELS; h += 4) /* Co is a multiple of 4 */
            if (co + h < a.Co) dg_store<4>(y + h, dg_pack<float, 4>{{acc[p][h], acc[p][h + 1], acc[p][h + 2], acc[p][h + 3]}});
    }
}

template <int CI> static void launch_fwd(const dg_conv_args *a, cudaStream_t stream)
{
    const tiling t = tiling_of(*a);
    const dim3 grid((unsigned)(a->N * t.down * t.across), (unsigned)dg_div_up(a->Co, CHANNELS));
    KLAUNCH(fwd_kernel<CI>, grid, dim3(FWD_THREADS), 0, stream, *a);
}

/* ---- Weight gradient: a lane of a warp has 4 channels of y x one row of taps; eight warps share the pixels of a
 * tile, half a row each. A block adds up the tiles of its part; parts are added in order behind it. ---- */

static constexpr int DW_THREADS = 256, DW_WARPS = DW_THREADS / 32, DW_RUN = TILE_ROWS * TILE_COLS / DW_WARPS;
static_assert(DW_RUN * DW_WARPS == TILE_ROWS * TILE_COLS && TILE_COLS % DW_RUN == 0, "a warp has a run of one row");
static_assert(CHANNELS / 4 * K == 32, "a warp has all weights");

template <int CI> static __global__ void __launch_bounds__(DW_THREADS) dw_kernel(const dg_conv_args a, float *out, int split)
{
    DEV_CHECK(blockDim.x == DW_THREADS);
    constexpr int line = PATCH_COLS * CI, row_taps = K * CI, sums = 32 * 4 * row_taps; /* of one warp */
    constexpr int patch_words = PATCH_ROWS * line, words = patch_words + TILE_ROWS * TILE_COLS * CHANNELS;
    SHARED(float, shared, [words > DW_WARPS / 2 * sums ? words : DW_WARPS / 2 * sums]);
    float *const patch = shared, *const grad = shared + patch_words; /* (TILE_ROWS, TILE_COLS, CHANNELS) of y */
    const tiling t = tiling_of(a);
    const int co0 = (int)blockIdx.x * CHANNELS, part = (int)blockIdx.y, tiles = a.N * t.down * t.across;
    const int first = (int)((int64_t)tiles * part / split), last = (int)((int64_t)tiles * (part + 1) / split);
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const int ky = lane % K, co = lane / K * 4, row = warp * DW_RUN / TILE_COLS, col = warp * DW_RUN % TILE_COLS;
    float acc[4][row_taps] = {};
    for (int tile = first; tile < last; tile++) {
        const int b0 = tile % t.across * TILE_COLS, a0 = tile / t.across % t.down * TILE_ROWS, image = tile / t.across / t.down;
        __syncthreads(); /* nobody reads the tile before */
        load_patch<CI, DW_THREADS>(patch, a, image, a0, b0);
        for (int i = (int)threadIdx.x; i < TILE_ROWS * TILE_COLS * CHANNELS / 4; i += DW_THREADS) {
            const int c = i % (CHANNELS / 4) * 4, p = i / (CHANNELS / 4), oy = a0 + p / TILE_COLS, ox = b0 + p % TILE_COLS;
            const bool ok = oy < a.Ho && ox < a.Wo && co0 + c < a.Co;
            const float *y = (const float *)a.y;
            cp_async16(grad + i * 4, ok ? y + (((int64_t)image * a.Ho + oy) * a.Wo + ox) * a.Co + co0 + c : y, ok);
        }
        cp_async_commit();
        cp_async_wait<0>();
        __syncthreads();
        const float *x = patch + (2 * row + ky) * line + 2 * col * CI, *y = grad + (row * TILE_COLS + col) * CHANNELS + co;
#pragma unroll 2
        for (int p = 0; p < DW_RUN; p++) {
            const dg_pack<float, 4> g = dg_load<4>(y + p * CHANNELS);
#pragma unroll
            for (int k = 0; k < row_taps; k += 2) {
                const dg_pack<float, 2> v = dg_load<2>(x + 2 * p * CI + k);
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    acc[e][k] += g.v[e] * v.v[0];
                    acc[e][k + 1] += g.v[e] * v.v[1];
                }
            }
        }
    }
    /* The warps' sums, halved again and again: the upper half hands over, the lower half adds. [warp][sum][lane] */
    for (int half = DW_WARPS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (warp >= half && warp < 2 * half)
#pragma unroll
            for (int i = 0; i < 4 * row_taps; i++)
                shared[(warp - half) * sums + i * 32 + lane] = acc[i / row_taps][i % row_taps];
        __syncthreads();
        if (warp < half)
#pragma unroll
            for (int i = 0; i < 4 * row_taps; i++) acc[i / row_taps][i % row_taps] += shared[warp * sums + i * 32 + lane];
    }
    if (warp || co0 + co >= a.Co) return;
    out += ((int64_t)part * a.Co + co0 + co) * K * row_taps + ky * row_taps;
#pragma unroll
    for (int e = 0; e < 4; e++)
#pragma unroll
        for (int k = 0; k < row_taps; k += 4)
            dg_store<4>(out + e * K * row_taps + k, dg_pack<float, 4>{{acc[e][k], acc[e][k + 1], acc[e][k + 2], acc[e][k + 3]}});
}

template <int CI> static void launch_dw(const dg_conv_args *a, const dg_tune *tune, cudaStream_t stream)
{
    const dim3 grid((unsigned)dg_div_up(a->Co, CHANNELS), (unsigned)tune->split);
    float *out = (float *)(tune->split > 1 ? a->scratch : a->w);
    KLAUNCH(dw_kernel<CI>, grid, dim3(DW_THREADS), 0, stream, *a, out, tune->split);
    if (tune->split > 1) dg_conv_sum((float *)a->w, out, dg_conv_count(DG_OP_conv_dw, a), tune->split, stream);
}

void dg_conv_thin(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune, cudaStream_t stream)
{
    if (kind == DG_OP_conv_dx)
        dg_conv_patch(a, tune, stream);
    else if (kind == DG_OP_conv_fwd)
        a->Ci == 1 ? launch_fwd<1>(a, stream) : launch_fwd<3>(a, stream);
    else
        a->Ci == 1 ? launch_dw<1>(a, tune, stream) : launch_dw<3>(a, tune, stream);
}
