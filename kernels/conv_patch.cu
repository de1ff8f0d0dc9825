/* Data gradient of the 4x4 convolution of stride 2 and pad 1, which is also the forward pass of DCGAN's transposed
 * convolutions. Its outputs fall into 2x2 phases; output (2a+py, 2b+px) sees four of the 16 taps:
 *
 *     py = 0: ky = 1 from row a of y, ky = 3 from row a-1;  py = 1: ky = 0 from row a+1, ky = 2 from row a
 *
 * and likewise across. A block brings one patch of y, its positions (a, b) with a border of one, and makes all four
 * phases of them: every value that is read serves 16 multiplications an output channel, and whole rows of x are
 * written. A thread has 4 neighbouring positions x 4 phases x T channels in registers.
 *
 * Two kernels from one template: patch (T = 4, any multiple of 4 channels) and the thin one for pictures of 1 or 3
 * channels, where a thread has all of them and weights come one by one.
 *
 * In shared memory a position is 4 channels of y; after every 4 positions comes a gap of as much, so that threads
 * on neighbouring groups of 4 positions read from different banks. */
#include "conv.cuh"

static constexpr int STEP = DG_PATCH_STEP;

template <int ROWS_, int COLS_, int IMAGES_, int BN_, int T_, bool THIN_> struct patch_tile {
    static constexpr int ROWS = ROWS_, COLS = COLS_, IMAGES = IMAGES_; /* positions of a block */
    static constexpr int BN = BN_, T = T_;                             /* channels of a block, of a thread */
    static constexpr bool THIN = THIN_;
    static constexpr int lanes = THIN ? 1 : BN / T, across = COLS / 4, NT = IMAGES * ROWS * across * lanes;
    static constexpr int line = DG_PATCH_LINE(COLS), image_words = (ROWS + 2) * line;
    static constexpr int patch_words = IMAGES * image_words, weight_words = STEP * 16 * BN;
    static constexpr size_t stage_bytes = (size_t)(patch_words + weight_words) * sizeof(float);
    static constexpr int border = (ROWS + 2) * (COLS + 2), copies = IMAGES * border, passes = (copies + NT - 1) / NT;
    static_assert(patch_words + weight_words == DG_PATCH_WORDS(ROWS, COLS, IMAGES, BN), "as the rules count");
    static_assert(COLS % 4 == 0 && NT % 32 == 0, "four positions a thread, whole warps");
    static_assert(THIN ? BN == 4 && T <= 4 : T == 4 && BN % 4 == 0, "16-byte accesses");
    static __device__ __forceinline__ int at(int col) { return col * 4 + col / 4 * 4; }
};

/* Copies this block's patch, four channels a step. */
template <class G> struct patch_loader {
    const float *y;
    int from[G::passes], to[G::passes]; /* from < 0: outside; to < 0: nothing to do */

    __device__ __forceinline__ patch_loader(const dg_conv_args &a, int image0, int a0, int b0, int c) : y((const float *)a.y)
    {
#pragma unroll
        for (int i = 0; i < G::passes; i++) {
            const int p = (int)threadIdx.x + i * G::NT, image = p / G::border, row = p % G::border / (G::COLS + 2);
            const int col = p % (G::COLS + 2), oy = a0 + row - 1, ox = b0 + col - 1;
            const bool inside = image0 + image < a.N && oy >= 0 && oy < a.Ho && ox >= 0 && ox < a.Wo;
            from[i] = inside ? (((image0 + image) * a.Ho + oy) * a.Wo + ox) * a.Co + c : -1;
            to[i] = p < G::copies ? image * G::image_words + row * G::line + G::at(col) : -1;
        }
    }
    __device__ __forceinline__ void load(float *patch)
    {
#pragma unroll
        for (int i = 0; i < G::passes; i++) {
            if (to[i] < 0) continue;
            cp_async16(patch + to[i], from[i] < 0 ? y : y + from[i], from[i] >= 0);
            if (from[i] >= 0) from[i] += STEP;
        }
    }
};

/* Weights of four channels of y, all taps, the block's channels of x: [STEP][16][BN]. */
template <class G> static __device__ __forceinline__ void load_weights(float *tile, const dg_conv_args &a, int co, int ci0)
{
    const float *w = (const float *)a.w + co * 16 * a.Ci;
    if (G::THIN) {
        for (int i = (int)threadIdx.x; i < STEP * 16 * G::T; i += G::NT) tile[i / G::T * 4 + i % G::T] = w[i];
        return;
    }
    constexpr int packs = G::BN / 4;
    for (int i = (int)threadIdx.x; i < STEP * 16 * packs; i += G::NT) {
        const int row = i / packs, n = i % packs * 4;
        const bool ok = ci0 + n < a.Ci;
        cp_async16(tile + row * G::BN + n, ok ? w + row * a.Ci + ci0 + n : w, ok);
    }
}

/* Row r of the three that a position sees, through tap ky: four positions, both columns of phases. */
template <class G>
static __device__ __forceinline__ void multiply_row(float (&acc)[2][4][G::T], const dg_pack<float, 4> (&v)[6], const float *weights,
                                                    int ky, int e)
{
#pragma unroll
    for (int kx = 0; kx < 4; kx++) {
        const int px = kx & 1 ? 0 : 1, shift = kx == 3 ? 0 : kx == 0 ? 2 : 1;
        const dg_pack<float, 4> w = dg_load<4>(weights + (e * 16 + ky * 4 + kx) * G::BN);
#pragma unroll
        for (int p = 0; p < 4; p++)
#pragma unroll
            for (int t = 0; t < G::T; t++) acc[px][p][t] += v[p + shift].v[e] * w.v[t];
    }
}

template <class G>
static __global__ void __launch_bounds__(G::NT) patch_kernel(const dg_conv_args a, float *out, int split, int stages)
{
    DEV_CHECK(blockDim.x == G::NT);
    DYN_SHARED(float, shared);
    constexpr int words = G::patch_words + G::weight_words;
    const int A = (a.H + 1) / 2, B = (a.W + 1) / 2, tiles_b = (B + G::COLS - 1) / G::COLS, tiles_a = (A + G::ROWS - 1) / G::ROWS;
    const int tile = (int)blockIdx.x, part = (int)blockIdx.z, ci0 = (int)blockIdx.y * G::BN;
    const int b0 = tile % tiles_b * G::COLS, a0 = tile / tiles_b % tiles_a * G::ROWS, image0 = tile / tiles_b / tiles_a * G::IMAGES;
    const int all = a.Co / STEP, first = (int)((int64_t)all * part / split), last = (int)((int64_t)all * (part + 1) / split);
    const int steps = last - first;
    const int lane = (int)threadIdx.x % G::lanes, group = (int)threadIdx.x / G::lanes;
    const int col = group % G::across * 4, row = group / G::across % G::ROWS, image = group / G::across / G::ROWS;
    const float *const mine = shared + image * G::image_words + row * G::line + G::at(col);

    patch_loader<G> loader(a, image0, a0, b0, first * STEP);
    for (int s = 0; s < stages - 1; s++) {
        if (s < steps) {
            loader.load(shared + s * words);
            load_weights<G>(shared + s * words + G::patch_words, a, (first + s) * STEP, ci0);
        }
        cp_async_commit();
    }
    float acc[2][2][4][G::T] = {}; /* [py][px][position][channel] */
    int now = 0, next = stages - 1;
    for (int step = 0; step < steps; step++) {
        if (stages == 2) cp_async_wait<0>();
        if (stages == 3) cp_async_wait<1>();
        if (stages == 4) cp_async_wait<2>();
        __syncthreads();
        if (step + stages - 1 < steps) {
            loader.load(shared + next * words);
            load_weights<G>(shared + next * words + G::patch_words, a, (first + step + stages - 1) * STEP, ci0);
        }
        cp_async_commit();
        const float *patch = mine + now * words, *weights = shared + now * words + G::patch_words + lane * G::T;
#pragma unroll
        for (int r = 0; r < 3; r++) {
            dg_pack<float, 4> v[6];
#pragma unroll
            for (int c = 0; c < 6; c++) v[c] = dg_load<4>(patch + r * G::line + G::at(c));
#pragma unroll
            for (int e = 0; e < STEP; e++) {
                if (r < 2) multiply_row<G>(acc[0], v, weights, r == 0 ? 3 : 1, e);
                if (r > 0) multiply_row<G>(acc[1], v, weights, r == 1 ? 2 : 0, e);
            }
        }
        now = now + 1 == stages ? 0 : now + 1;
        next = next + 1 == stages ? 0 : next + 1;
    }
    cp_async_wait<0>(); /* the last groups are empty */

    const int ci = ci0 + lane * G::T;
    if (image0 + image >= a.N || ci >= a.Ci) return;
    out += (int64_t)part * a.N * a.H * a.W * a.Ci;
#pragma unroll
    for (int py = 0; py < 2; py++) {
        const int iy = 2 * (a0 + row) + py;
        if (iy >= a.H) continue;
#pragma unroll
        for (int p = 0; p < 4; p++)
#pragma unroll
            for (int px = 0; px < 2; px++) {
                const int ix = 2 * (b0 + col + p) + px;
                if (ix >= a.W) continue;
                float *x = out + (((image0 + image) * a.H + iy) * a.W + ix) * a.Ci + ci;
                if (G::THIN) {
#pragma unroll
                    for (int t = 0; t < G::T; t++) x[t] = acc[py][px][p][t];
                } else {
                    dg_pack<float, 4> v;
#pragma unroll
                    for (int t = 0; t < G::T; t++) v.v[t] = acc[py][px][p][t];
                    dg_store<4>(x, v);
                }
            }
    }
}

template <class G> static void launch(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream)
{
    const int A = (a->H + 1) / 2, B = (a->W + 1) / 2;
    const int tiles = dg_div_up(A, G::ROWS) * dg_div_up(B, G::COLS) * dg_div_up(a->N, G::IMAGES);
    const dim3 grid((unsigned)tiles, (unsigned)dg_div_up(a->Ci, G::BN), (unsigned)tune->split);
    KLAUNCH(patch_kernel<G>, grid, dim3(G::NT), tune->stages * G::stage_bytes, stream, *a, out, tune->split, tune->stages);
}

/* Small maps leave room for several images in a tile. */
template <int POSITIONS, int BN> static void launch_tile(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream)
{
    if (a->W <= DG_PATCH_SMALL)
        launch<patch_tile<4, 4, POSITIONS / 16, BN, 4, false>>(a, tune, out, stream);
    else
        launch<patch_tile<POSITIONS / 8, 8, 1, BN, 4, false>>(a, tune, out, stream);
}

template <int CI> static void launch_thin(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream)
{
    if (a->W <= 32)
        launch<patch_tile<8, 8, 8, 4, CI, true>>(a, tune, out, stream);
    else
        launch<patch_tile<16, 32, 1, 4, CI, true>>(a, tune, out, stream);
}

void dg_conv_patch(const dg_conv_args *a, const dg_tune *tune, cudaStream_t stream)
{
    float *out = (float *)(tune->split > 1 ? a->scratch : a->x);
    if (dg_is(tune, "thin")) {
        a->Ci == 1 ? launch_thin<1>(a, tune, out, stream) : launch_thin<3>(a, tune, out, stream);
    } else {
#define X(POSITIONS, BN) \
    if (tune->tile_m == POSITIONS && tune->tile_n == BN) launch_tile<POSITIONS, BN>(a, tune, out, stream);
        DG_PATCH_TILES(X)
#undef X
    }
    if (tune->split > 1) dg_conv_sum((float *)a->x, out, dg_conv_count(DG_OP_conv_dx, a), tune->split, stream);
}
