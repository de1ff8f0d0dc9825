/* Data gradient of the 4x4 convolution with stride 2 and pad 1, also the forward pass of DCGAN's transposed
 * convolutions. Pixel (2a+py, 2b+px) of x sums four taps (ky, kx) of the filter times four pixels of y. Rows of y and
 * their taps; columns likewise:
 *   py = 0: row a with ky = 1, row a-1 with ky = 3;  py = 1: row a with ky = 2, row a+1 with ky = 0
 * A block loads one patch of y, its positions (a, b) with a border of one, for all four phases: each value is used in
 * 16 multiplications per output channel, and whole rows of x are written. A thread has 4 adjacent positions x 4 phases
 * x T channels in registers. Tiles: patch (T = 4, a multiple of 4 channels), and thin for images of 1 or 3 channels,
 * where a thread has all channels and loads weights one by one.
 *
 * In shared memory a position is 4 channels of y; a gap of 4 values after every 4 positions keeps the reads of
 * neighbouring threads in different banks. */
#ifndef DG_CONV_PATCH_CUH
#define DG_CONV_PATCH_CUH

#include "kernels/ops/conv/cuda/conv.cuh"

/* ROWS x COLS x IMAGES: positions of a block; BN: channels of x of a block; T: channels of x of a thread; THIN: tile
 * for images. */
template <int ROWS_, int COLS_, int IMAGES_, int BN_, int T_, bool THIN_> struct dg_patch_tile {
    static constexpr int ROWS = ROWS_, COLS = COLS_, IMAGES = IMAGES_;
    static constexpr int BN = BN_, T = T_;
    static constexpr bool THIN = THIN_;
    static constexpr int lanes = THIN ? 1 : BN / T, across = COLS / 4, NT = IMAGES * ROWS * across * lanes;
    static constexpr int line = DG_PATCH_LINE(COLS), image_words = (ROWS + 2) * line;
    static constexpr int patch_words = IMAGES * image_words, weight_words = DG_PATCH_STEP * 16 * BN;
    static constexpr size_t stage_bytes = (size_t)(patch_words + weight_words) * sizeof(float);
    static constexpr int border = (ROWS + 2) * (COLS + 2), copies = IMAGES * border, passes = (copies + NT - 1) / NT;
    static_assert(patch_words + weight_words == DG_PATCH_WORDS(ROWS, COLS, IMAGES, BN),
                  "DG_PATCH_WORDS must be the number of words in shared memory");
    static_assert(COLS % 4 == 0 && NT % 32 == 0,
                  "COLS must be a multiple of four positions, and NT a multiple of a warp");
    static_assert(THIN ? BN == 4 && T <= 4 : T == 4 && BN % 4 == 0, "16-byte accesses");
    static __device__ __forceinline__ int at(int col) { return col * 4 + col / 4 * 4; }
};

/* Copies this block's patch, four channels per step. G is a dg_patch_tile, here and below. */
template <class G> struct dg_patch_loader {
    const float *y;
    int from[G::passes], to[G::passes];

    __device__ __forceinline__ dg_patch_loader(const dg_conv_args &a, int image0, int a0, int b0, int c)
        : y((const float *)a.y)
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
            if (from[i] >= 0) from[i] += DG_PATCH_STEP;
        }
    }
};

/* Weights of four channels of y, all taps, the block's channels of x: [DG_PATCH_STEP][16][BN]. */
template <class G>
static __device__ __forceinline__ void dg_patch_weights(float *tile, const dg_conv_args &a, int co, int ci0)
{
    const float *w = (const float *)a.w + co * 16 * a.Ci;
    if (G::THIN) {
        for (int i = (int)threadIdx.x; i < DG_PATCH_STEP * 16 * G::T; i += G::NT) tile[i / G::T * 4 + i % G::T] = w[i];
        return;
    }
    constexpr int packs = G::BN / 4;
    for (int i = (int)threadIdx.x; i < DG_PATCH_STEP * 16 * packs; i += G::NT) {
        const int row = i / packs, n = i % packs * 4;
        const bool ok = ci0 + n < a.Ci;
        cp_async16(tile + row * G::BN + n, ok ? w + row * a.Ci + ci0 + n : w, ok);
    }
}

/* Multiplies row r of the patch by tap row ky, for four positions and both column phases. */
template <class G>
static __device__ __forceinline__ void dg_patch_multiply(float (&acc)[2][4][G::T], const dg_pack<float, 4> (&v)[6],
                                                         const float *weights, int ky, int e)
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

template <class G> struct dg_patch_coord {
    int image0, a0, b0;
    int lane, image, row, col;

    __device__ __forceinline__ dg_patch_coord(const dg_conv_args &a, int tile)
    {
        const int A = (a.H + 1) / 2, B = (a.W + 1) / 2, tiles_b = (B + G::COLS - 1) / G::COLS,
                  tiles_a = (A + G::ROWS - 1) / G::ROWS;
        b0 = tile % tiles_b * G::COLS;
        a0 = tile / tiles_b % tiles_a * G::ROWS;
        image0 = tile / tiles_b / tiles_a * G::IMAGES;
        const int group = (int)(threadIdx.x / G::lanes);
        lane = (int)(threadIdx.x % G::lanes);
        col = group % G::across * 4;
        row = group / G::across % G::ROWS;
        image = group / G::across / G::ROWS;
    }
};

/* The block sums over one part (number `part` of `split`) of y's channels, for the channels of x from ci0 on.
 * change(loader, patch, channel) is the prologue that each thread applies to the values of y that the thread copied. */
template <class G, class F>
static __device__ __forceinline__ void dg_patch_sums(float (&acc)[2][2][4][G::T], const dg_conv_args &a, float *shared,
                                                     const dg_patch_coord<G> &at, int ci0, int part, int split,
                                                     int stages, const F &change)
{
    constexpr int words = G::patch_words + G::weight_words;
    const int all = a.Co / DG_PATCH_STEP, first = (int)((int64_t)all * part / split),
              last = (int)((int64_t)all * (part + 1) / split);
    const int steps = last - first;
    const float *const mine = shared + at.image * G::image_words + at.row * G::line + G::at(at.col);

    dg_patch_loader<G> loader(a, at.image0, at.a0, at.b0, first * DG_PATCH_STEP);
    for (int s = 0; s < stages - 1; s++) {
        if (s < steps) {
            loader.load(shared + s * words);
            dg_patch_weights<G>(shared + s * words + G::patch_words, a, (first + s) * DG_PATCH_STEP, ci0);
        }
        cp_async_commit();
    }
    int now = 0, next = stages - 1;
    for (int step = 0; step < steps; step++) {
        if (stages == 2) cp_async_wait<0>();
        if (stages == 3) cp_async_wait<1>();
        if (stages == 4) cp_async_wait<2>();
        change(loader, shared + now * words, (first + step) * DG_PATCH_STEP);
        __syncthreads();
        if (step + stages - 1 < steps) {
            loader.load(shared + next * words);
            dg_patch_weights<G>(shared + next * words + G::patch_words, a, (first + step + stages - 1) * DG_PATCH_STEP,
                                ci0);
        }
        cp_async_commit();
        const float *patch = mine + now * words, *weights = shared + now * words + G::patch_words + at.lane * G::T;
#pragma unroll
        for (int r = 0; r < 3; r++) {
            dg_pack<float, 4> v[6];
#pragma unroll
            for (int c = 0; c < 6; c++) v[c] = dg_load<4>(patch + r * G::line + G::at(c));
#pragma unroll
            for (int e = 0; e < DG_PATCH_STEP; e++) {
                if (r < 2) dg_patch_multiply<G>(acc[0], v, weights, r == 0 ? 3 : 1, e);
                if (r > 0) dg_patch_multiply<G>(acc[1], v, weights, r == 1 ? 2 : 0, e);
            }
        }
        now = now + 1 == stages ? 0 : now + 1;
        next = next + 1 == stages ? 0 : next + 1;
    }
    cp_async_wait<0>();
}

#endif
