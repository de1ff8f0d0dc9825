/* Weight gradient of images on tensor cores, with M = 32 channels of y, N = 16 taps x CI, K = positions. Each of the
 * eight warps sums half a row of a tile. The matrix product may use rows and positions in any order. So lane (g, t) =
 * (lane / 4, lane % 4) multiplies channels 4g .. 4g + 3 of positions 4t .. 4t + 3. Shared memory stores x tap by tap,
 * with adjacent positions contiguous. Each value of x is stored twice, because two columns of taps read it. Taps are 48
 * positions apart in shared memory, so that 8 taps x 4 lanes have different banks. */
#pragma once

#include "kernels/ops/conv/cuda/conv_thin_mma.cuh"
#include "kernels/fused/fuse.cuh"

static constexpr int DG_THIN_MMA_DW_THREADS = 256;

template <int CI> struct dg_thin_mma_dw {
    typedef dg_quad quad;
    static constexpr int NT = DG_THIN_MMA_DW_THREADS, warps = NT / 32, fragments = 2 * CI, held = 16 * CI;
    static constexpr int line = DG_THIN_PATCH_COLS * CI;
    static constexpr int row_taps = DG_THIN_K * CI, plane = DG_THIN_COLS + 16;
    static_assert(warps == 2 * DG_THIN_ROWS && DG_THIN_COLS == 32 && DG_THIN_CHANNELS == 32 && plane / 4 % 8 == 4,
                  "a tile must have 32 columns, 32 channels, two warps per row, and a plane without bank conflicts");
    static_assert(DG_THIN_PATCH_ROWS * row_taps * plane * quad::words / 4 <= DG_THIN_DW_WORDS(CI) &&
                      warps / 2 * held * 32 <= DG_THIN_DW_WORDS(CI),
                  "the shared memory of thin must hold the patch, and later the sums");
    float c[2][fragments][4];

    static __device__ __forceinline__ int lane() { return (int)(threadIdx.x % 32); }
    static __device__ __forceinline__ int warp() { return (int)(threadIdx.x / 32); }
    /* Row and column of the lane's first position in the tile, and the lane's first channel. */
    static __device__ __forceinline__ int row() { return warp() / 2; }
    static __device__ __forceinline__ int col() { return warp() % 2 * 16 + lane() % 4 * 4; }
    static __device__ __forceinline__ int channel() { return lane() / 4 * 4; }

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int i = 0; i < held; i++) c[i / (4 * fragments)][i / 4 % fragments][i % 4] = 0;
    }
    /* Returns the first of the two indices at which value i of a patch row is stored. The second index is `second`
     * higher. Values outside of the row are stored in padding. */
    static constexpr int second = 2 * CI * plane - 1;
    static __device__ __forceinline__ int place(int row, int i)
    {
        if ((unsigned)i >= (unsigned)line) return row * row_taps * plane + DG_THIN_COLS + (i < 0 ? 1 : 2);
        return (row * row_taps + i % (2 * CI)) * plane + i / (2 * CI);
    }
    static __device__ __forceinline__ void put(float *patch, const int (&at)[4], const float (&v)[4])
    {
        const quad rounded = quad::of(v);
#pragma unroll
        for (int e = 0; e < 4; e++) {
            uint16_t *const to = reinterpret_cast<uint16_t *>(patch) + at[e];
            to[0] = to[second] = (uint16_t)(rounded.w[e / 2] >> e % 2 * 16);
        }
    }
    __device__ __forceinline__ void add(const float *patch, const quad (&y)[4])
    {
        const uint32_t *const from = reinterpret_cast<const uint32_t *>(patch) +
                                     ((2 * row() * row_taps + lane() / 4) * plane + col()) * quad::words / 4;
#pragma unroll
        for (int j = 0; j < fragments; j++) {
            const quad x = quad::load(from + 8 * j * plane * quad::words / 4);
#pragma unroll
            for (int m = 0; m < 2; m++) quad::multiply(c[m][j], y[2 * m], y[2 * m + 1], x);
        }
    }
    /* Adds the warps' sums and stores the weight gradient (Co, 4, 4, CI). All threads of the block must call this
     * function. */
    __device__ __forceinline__ void finish(float *shared, float *out, int co0, int Co)
    {
        for (int half = warps / 2; half > 0; half /= 2) {
            __syncthreads();
            if (warp() >= half && warp() < 2 * half)
#pragma unroll
                for (int i = 0; i < held; i++)
                    shared[((warp() - half) * held + i) * 32 + lane()] =
                        c[i / (4 * fragments)][i / 4 % fragments][i % 4];
            __syncthreads();
            if (warp() < half)
#pragma unroll
                for (int i = 0; i < held; i++)
                    c[i / (4 * fragments)][i / 4 % fragments][i % 4] += shared[(warp() * held + i) * 32 + lane()];
        }
        const int co = co0 + channel();
        if (warp() || co >= Co) return;
#pragma unroll
        for (int k = 0; k < 4; k++)
#pragma unroll
            for (int j = 0; j < fragments; j++)
                dg_store<2>(out + (co + k) * held + 8 * j + lane() % 4 * 2,
                            dg_pack<float, 2>{{c[k / 2][j][k % 2 * 2], c[k / 2][j][k % 2 * 2 + 1]}});
    }
};

/* Returns channel e of two adjacent positions, packed into one word. A position has four channels in two words. */
static __device__ __forceinline__ uint32_t dg_pair(const dg_pack<uint32_t, 2> &left, const dg_pack<uint32_t, 2> &right,
                                                   int e)
{
    const uint32_t l = left.v[e / 2], r = right.v[e / 2];
    return __byte_perm(l, r, e % 2 ? 0x7632 : 0x5410);
}

/* Sums tiles first .. last - 1, for the channels of y from co0 on. The next tile is loaded to registers while the
 * current tile is multiplied. AS_IS: y is bf16 and has no prologue. `shared` has DG_THIN_DW_WORDS words. */
template <int CI, bool AS_IS>
static __device__ __forceinline__ void dg_thin_mma_dw_part(const dg_conv_args &a, const float *images,
                                                           const dg_prologue &of, int per_group, int co0, int first,
                                                           int last, float *shared, float *out)
{
    typedef dg_thin_mma_dw<CI> dw;
    typedef typename dw::quad quad;
    /* x is loaded in aligned packs of four, so `border` values precede each row of the patch */
    constexpr int border = 4 - CI, across = dg_div_up(dw::line + border, 4),
                  packs = dg_div_up(DG_THIN_PATCH_ROWS * across, dw::NT);
    const dg_thin_tiling t = dg_thin_tiling_of(a);
    const bool there = co0 + dw::channel() < a.Co, rounded = of.rounded;
    dg_four of_y(of, min(co0 + dw::channel(), a.Co - 4), a.Co);
    dg_pack<float, 4> next_x[packs];
    dg_pack<float, 4> next_y[4], next_pre[4];
    dg_pack<uint32_t, 2> next_words[4];
    unsigned inside = 0;
    int group = 0, end = per_group;
    const bool two = of_y.two();
    const int width = a.W * CI;
    const bool wide = width % 4 == 0;
    int to[packs][4], x_row[packs], x_col[packs];
    unsigned x_from[packs];
#pragma unroll
    for (int j = 0; j < packs; j++) {
        const int i = (int)threadIdx.x + j * dw::NT;
        x_row[j] = i < DG_THIN_PATCH_ROWS * across ? i / across : 1 << 28;
        x_col[j] = i % across * 4;
        x_from[j] = (unsigned)(i / across * width + x_col[j]);
#pragma unroll
        for (int e = 0; e < 4; e++) to[j][e] = dw::place(i / across, x_col[j] - border + e);
    }

    /* position of the tile that fetch() loads next */
    int b0 = first % t.across * DG_THIN_COLS, a0 = first / t.across % t.down * DG_THIN_ROWS,
        image = first / t.across / t.down;
    auto go_on = [&] {
        if ((b0 += DG_THIN_COLS) < t.across * DG_THIN_COLS) return;
        b0 = 0;
        if ((a0 += DG_THIN_ROWS) < t.down * DG_THIN_ROWS) return;
        a0 = 0;
        image++;
    };
    auto fetch = [&] {
        const int top = 2 * a0 - 1, left_x = 2 * b0 * CI - 4;
        const unsigned begin = (unsigned)(image * a.H + top) * (unsigned)width + (unsigned)left_x;
#pragma unroll
        for (int j = 0; j < packs; j++) {
            const bool in_row = (unsigned)(top + x_row[j]) < (unsigned)a.H;
            const float *const from = images + (int)(begin + x_from[j]);
            next_x[j] = {};
            if (wide && in_row && (unsigned)(left_x + x_col[j]) < (unsigned)width) next_x[j] = dg_load<4>(from);
            if (wide) continue;
#pragma unroll
            for (int e = 0; e < 4; e++)
                if (in_row && (unsigned)(left_x + x_col[j] + e) < (unsigned)width) next_x[j].v[e] = from[e];
        }
        for (; !AS_IS && image >= end; end += per_group) group++;
        const int oy = a0 + dw::row(), ox = b0 + dw::col(), left = there && oy < a.Ho ? a.Wo - ox : 0;
        unsigned at = (unsigned)((image * a.Ho + oy) * a.Wo + ox) * (unsigned)a.Co + (unsigned)(co0 + dw::channel());
        inside = 0;
        if (left >= 4 && !two) {
            inside = 15;
            auto all = [&](auto load) {
#pragma unroll
                for (int j = 0; j < 4; j++) load(j, at + j * (uint64_t)a.Co);
            };
            if constexpr (AS_IS)
                all([&](int j, uint64_t from) {
                    next_words[j] = dg_load<2>((const uint32_t *)((const uint16_t *)of.x + from));
                });
            else if (rounded) all([&](int j, uint64_t from) { next_y[j] = dg_load_four(of.x, from, true); });
            else all([&](int j, uint64_t from) { next_y[j] = dg_load_four(of.x, from, false); });
            return;
        }
#pragma unroll
        for (int j = 0; j < 4; j++, at += (unsigned)a.Co) {
            const bool ok = j < left;
            inside |= (unsigned)ok << j;
            if constexpr (AS_IS) {
                next_words[j] = {};
                if (ok) next_words[j] = dg_load<2>((const uint32_t *)((const uint16_t *)of.x + at));
                continue;
            }
            next_y[j] = next_pre[j] = {};
            if (ok) next_y[j] = dg_load_four(of.x, at, rounded);
            if (ok && two) next_pre[j] = dg_load_four(of.pre, at, rounded);
        }
    };

    dw sums;
    sums.clear();
    fetch();
    for (int number = first; number < last; number++) {
        __syncthreads();
        if (!AS_IS) of_y.of_group(group);
#pragma unroll
        for (int j = 0; j < packs; j++)
            if ((j + 1) * dw::NT <= DG_THIN_PATCH_ROWS * across ||
                (int)threadIdx.x + j * dw::NT < DG_THIN_PATCH_ROWS * across)
                dw::put(shared, to[j], next_x[j].v);
        quad factors[4];
        if constexpr (AS_IS) {
#pragma unroll
            for (int i = 0; i < 8; i++)
                factors[i / 2].w[i % 2] = dg_pair(next_words[i % 2 * 2], next_words[i % 2 * 2 + 1], i / 2);
        } else {
            float y[4][4]; /* [channel][position] */
            auto take = [&](int j, const dg_pack<float, 4> &v) {
#pragma unroll
                for (int e = 0; e < 4; e++) y[e][j] = v.v[e];
            };
            if (!two && inside == 15) {
#pragma unroll
                for (int j = 0; j < 4; j++) take(j, of_y.one(next_y[j]));
            } else {
#pragma unroll
                for (int j = 0; j < 4; j++)
                    take(j, inside >> j & 1 ? of_y.value(next_y[j], next_pre[j]) : dg_pack<float, 4>{});
            }
#pragma unroll
            for (int e = 0; e < 4; e++) factors[e] = quad::of(y[e]);
        }
        __syncthreads();
        if (number + 1 < last) {
            go_on();
            fetch();
        }
        sums.add(shared, factors);
    }
    sums.finish(shared, out, co0, a.Co);
}
