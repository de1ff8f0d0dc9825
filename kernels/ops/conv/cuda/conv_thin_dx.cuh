/* Data gradient of images (variant thin), also the forward pass of G's last layer: 4x4, stride 2, pad 1. Pixel (2a+py,
 * 2b+px) of x needs two rows and two columns of taps. In phase py = 0, tap row ky = 1 reads row a of y, and ky = 3
 * reads row a-1. In phase py = 1, tap row ky = 2 reads row a of y, and ky = 0 reads row a+1. Columns are alike. A block
 * computes all four phases of its positions (a, b) from one patch of y with a border of one pixel. A thread keeps the
 * sums of 4 adjacent positions x 4 phases x T channels of x in registers.
 *
 * Shared memory stores 4 channels of y per position. A gap of 4 values after every 4 positions avoids bank
 * conflicts. */
#pragma once

#include "kernels/ops/conv/cuda/conv.cuh"

/* A block computes ROWS x COLS x IMAGES positions. T: channels of x. */
template <int ROWS_, int COLS_, int IMAGES_, int T_> struct dg_thin_dx {
    static constexpr int ROWS = ROWS_, COLS = COLS_, IMAGES = IMAGES_, T = T_;
    static constexpr int across = COLS / 4, NT = IMAGES * ROWS * across;
    static constexpr int line = DG_THIN_DX_LINE(COLS), image_words = (ROWS + 2) * line;
    static constexpr int patch_words = IMAGES * image_words, stage_words = DG_THIN_DX_WORDS(ROWS, COLS, IMAGES);
    static constexpr int border = (ROWS + 2) * (COLS + 2), copies = IMAGES * border, passes = (copies + NT - 1) / NT;
    static_assert(COLS % 4 == 0 && NT % 32 == 0, "COLS must be a multiple of 4, and NT a multiple of 32");
    static_assert(T <= 4, "16-byte accesses");
    static __device__ __forceinline__ int at(int col) { return col * 4 + col / 4 * 4; }
};

template <class G> struct dg_thin_dx_loader {
    const float *y;
    int from[G::passes], to[G::passes];

    __device__ __forceinline__ dg_thin_dx_loader(const dg_conv_args &a, int image0, int a0, int b0)
        : y((const float *)a.y)
    {
#pragma unroll
        for (int i = 0; i < G::passes; i++) {
            const int p = (int)threadIdx.x + i * G::NT, image = p / G::border, row = p % G::border / (G::COLS + 2);
            const int col = p % (G::COLS + 2), oy = a0 + row - 1, ox = b0 + col - 1;
            const bool inside = image0 + image < a.N && oy >= 0 && oy < a.Ho && ox >= 0 && ox < a.Wo;
            from[i] = inside ? (((image0 + image) * a.Ho + oy) * a.Wo + ox) * a.Co : -1;
            to[i] = p < G::copies ? image * G::image_words + row * G::line + G::at(col) : -1;
        }
    }
    __device__ __forceinline__ void load(float *patch)
    {
#pragma unroll
        for (int i = 0; i < G::passes; i++) {
            if (to[i] < 0) continue;
            cp_async16(patch + to[i], from[i] < 0 ? y : y + from[i], from[i] >= 0);
            if (from[i] >= 0) from[i] += DG_THIN_DX_STEP;
        }
    }
};

/* Loads the weights of DG_THIN_DX_STEP channels of y. Layout: [channel of y][tap][4]. Only the first T of the 4 values
 * are used. */
template <class G> static __device__ __forceinline__ void dg_thin_dx_weights(float *tile, const dg_conv_args &a, int co)
{
    const float *w = (const float *)a.w + co * 16 * a.Ci;
    for (int i = (int)threadIdx.x; i < DG_THIN_DX_STEP * 16 * G::T; i += G::NT) tile[i / G::T * 4 + i % G::T] = w[i];
}

/* Multiplies a row of the patch by row ky of the taps, for four positions and both column phases. */
template <class G>
static __device__ __forceinline__ void dg_thin_dx_multiply(float (&acc)[2][4][G::T], const dg_pack<float, 4> (&v)[6],
                                                           const float *weights, int ky, int e)
{
#pragma unroll
    for (int kx = 0; kx < 4; kx++) {
        const int px = kx & 1 ? 0 : 1, shift = kx == 3 ? 0 : kx == 0 ? 2 : 1;
        const dg_pack<float, 4> w = dg_load<4>(weights + (e * 16 + ky * 4 + kx) * 4);
#pragma unroll
        for (int p = 0; p < 4; p++)
#pragma unroll
            for (int t = 0; t < G::T; t++) acc[px][p][t] += v[p + shift].v[e] * w.v[t];
    }
}

template <class G> struct dg_thin_dx_coord {
    int image0, a0, b0;
    int image, row, col;

    __device__ __forceinline__ dg_thin_dx_coord(const dg_conv_args &a, int tile)
    {
        const int A = (a.H + 1) / 2, B = (a.W + 1) / 2, tiles_b = (B + G::COLS - 1) / G::COLS,
                  tiles_a = (A + G::ROWS - 1) / G::ROWS, group = (int)threadIdx.x;
        b0 = tile % tiles_b * G::COLS;
        a0 = tile / tiles_b % tiles_a * G::ROWS;
        image0 = tile / tiles_b / tiles_a * G::IMAGES;
        col = group % G::across * 4;
        row = group / G::across % G::ROWS;
        image = group / G::across / G::ROWS;
    }
};

/* change(loader, patch, channel) applies the prologue to the values of y that this thread copied. */
template <class G, class F>
static __device__ __forceinline__ void dg_thin_dx_sums(float (&acc)[2][2][4][G::T], const dg_conv_args &a,
                                                       float *shared, const dg_thin_dx_coord<G> &at, int stages,
                                                       const F &change)
{
    const int steps = a.Co / DG_THIN_DX_STEP;
    const float *const mine = shared + at.image * G::image_words + at.row * G::line + G::at(at.col);

    dg_thin_dx_loader<G> loader(a, at.image0, at.a0, at.b0);
    for (int s = 0; s < stages - 1; s++) {
        if (s < steps) {
            loader.load(shared + s * G::stage_words);
            dg_thin_dx_weights<G>(shared + s * G::stage_words + G::patch_words, a, s * DG_THIN_DX_STEP);
        }
        cp_async_commit();
    }
    int now = 0, next = stages - 1;
    for (int step = 0; step < steps; step++) {
        if (stages == 2) cp_async_wait<0>();
        if (stages == 3) cp_async_wait<1>();
        if (stages == 4) cp_async_wait<2>();
        change(loader, shared + now * G::stage_words, step * DG_THIN_DX_STEP);
        __syncthreads();
        if (step + stages - 1 < steps) {
            loader.load(shared + next * G::stage_words);
            dg_thin_dx_weights<G>(shared + next * G::stage_words + G::patch_words, a,
                                  (step + stages - 1) * DG_THIN_DX_STEP);
        }
        cp_async_commit();
        const float *patch = mine + now * G::stage_words, *weights = shared + now * G::stage_words + G::patch_words;
#pragma unroll
        for (int r = 0; r < 3; r++) {
            dg_pack<float, 4> v[6];
#pragma unroll
            for (int c = 0; c < 6; c++) v[c] = dg_load<4>(patch + r * G::line + G::at(c));
#pragma unroll
            for (int e = 0; e < DG_THIN_DX_STEP; e++) {
                if (r < 2) dg_thin_dx_multiply<G>(acc[0], v, weights, r == 0 ? 3 : 1, e);
                if (r > 0) dg_thin_dx_multiply<G>(acc[1], v, weights, r == 1 ? 2 : 0, e);
            }
        }
        now = now + 1 == stages ? 0 : now + 1;
        next = next + 1 == stages ? 0 : next + 1;
    }
    cp_async_wait<0>();
}
