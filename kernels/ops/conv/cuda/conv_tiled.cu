/* Variant tiled: convolution as an implicit GEMM in fp32. Loaders find the elements of the patch matrix in x or y. Each
 * copy has 16 bytes, because channels are innermost. Copies store zeros for padding and outside of the matrix.
 * In the forward pass, M = pixels of y, N = Co, K = taps x Ci.
 * In each phase of the data gradient, M = pixels of x, N = Ci, K = taps of the phase x Co. Output (iy, ix) belongs to
 * phase ((iy+P) % S, (ix+P) % S). A phase uses the taps whose (ky % S, kx % S) equals the phase.
 * In the weight gradient, M = Co, N = taps x Ci, K = pixels of y.
 * If split > 1, K is divided into parts, which are stored in scratch memory and added in order. In a weight gradient, a
 * part is a range of images.
 * Tile: 32x32 to 128x128 results (conv_tiles.h), 16 terms of the sum per stage, 2 to 4 stages.
 * Shared memory: 4 to 20 KB per stage.
 * Bound by: fp32 multiply-adds.
 * B: rows or columns of a loader's tile. NT: threads per block. DIR: order of taps, 1 or -1. G: the dg_gemm
 * (gemm.cuh). */
#include "kernels/ops/conv/cuda/conv.cuh"
#include "kernels/ops/conv/cuda/gemm.cuh"

static constexpr int BK = DG_TILED_K, NOWHERE = -(1 << 30);

/* Divides n by d exactly, for 0 <= n < 2^31, by a multiplication. Source: Granlund & Montgomery 1994, "Division by
 * invariant integers using multiplication", theorem 4.2. */
typedef struct {
    unsigned factor, shift;
    int d;
} divider;

static divider divider_of(int d)
{
    divider v = {0, 31, d};
    while ((1u << (v.shift - 31)) < (unsigned)d) v.shift++;
    v.factor = (unsigned)(((uint64_t)1 << v.shift) / (unsigned)d + 1);
    return v;
}

static __device__ __forceinline__ int divide(int n, const divider &v)
{
    return (int)(((uint64_t)(unsigned)n * v.factor) >> v.shift);
}

/* Loads rows of pixels of a tensor (H, W, C); k runs over taps x channels. Tap (ty, tx) of the row that starts at pixel
 * (y, x) reads pixel (y + DIR * ty, x + DIR * tx). */
template <int B, int NT, int DIR> struct pixel_rows {
    static constexpr int packs = BK / 4, passes = B * packs / NT, rows = NT / packs;
    const float *from;
    int H, W, C, taps_x;
    int at[passes], y[passes], x[passes];
    int row, k, c, ty, tx;

    __device__ __forceinline__ pixel_rows(const float *tensor, int h, int w, int channels, int taps_across, int step)
        : from(tensor), H(h), W(w), C(channels), taps_x(taps_across)
    {
        row = (int)threadIdx.x / packs;
        k = (int)threadIdx.x % packs * 4;
        const int chunks = (C + BK - 1) / BK, tap = step / chunks;
        c = step % chunks * BK;
        ty = tap / taps_x;
        tx = tap % taps_x;
    }
    __device__ __forceinline__ void start(int i, int image, int iy, int ix)
    {
        y[i] = iy;
        x[i] = ix;
        at[i] = ((image * H + iy) * W + ix) * C;
    }
    __device__ __forceinline__ void skip(int i) { y[i] = x[i] = NOWHERE, at[i] = 0; }
    __device__ __forceinline__ void load(float *tile)
    {
        const int tap = DIR * (ty * W + tx) * C + c + k;
#pragma unroll
        for (int i = 0; i < passes; i++) {
            const bool ok = (unsigned)(y[i] + DIR * ty) < (unsigned)H && (unsigned)(x[i] + DIR * tx) < (unsigned)W &&
                            c + k < C;
            cp_async16(tile + (row + i * rows) * (BK + DG_TILED_PAD) + k, ok ? from + at[i] + tap : from, ok);
        }
        c += BK;
        if (c < C) return;
        c = 0;
        if (++tx < taps_x) return;
        tx = 0;
        ty++;
    }
};

/* Loads rows of w for the forward pass: n is co, and k runs over taps x Ci. */
template <int B, int NT> struct weight_rows {
    static constexpr int packs = BK / 4, passes = B * packs / NT, rows = NT / packs;
    const float *w;
    int C, length, row, co, Co, k, c, tap;

    __device__ __forceinline__ weight_rows(const dg_conv_args &a, int first, int step)
        : w((const float *)a.w), C(a.Ci), length(a.K * a.K * a.Ci), Co(a.Co)
    {
        row = (int)threadIdx.x / packs;
        k = (int)threadIdx.x % packs * 4;
        co = first + row;
        const int chunks = (C + BK - 1) / BK;
        c = step % chunks * BK;
        tap = step / chunks * C;
    }
    __device__ __forceinline__ void load(float *tile)
    {
#pragma unroll
        for (int i = 0; i < passes; i++) {
            const bool ok = co + i * rows < Co && c + k < C;
            cp_async16(tile + (row + i * rows) * (BK + DG_TILED_PAD) + k,
                       ok ? w + (co + i * rows) * length + tap + c + k : w, ok);
        }
        c += BK;
        if (c < C) return;
        c = 0;
        tap += C;
    }
};

/* Loads columns of w for the data gradient: n is ci, and k runs over taps of the phase x Co. */
template <int B, int NT> struct weight_columns {
    static constexpr int packs = B / 4, rows = NT / packs, passes = BK / rows;
    const float *w;
    int Co, next, C, K, S;
    int row, n, ci, c, ky, kx, kx0;

    __device__ __forceinline__ weight_columns(const dg_conv_args &a, int first, int ry, int rx, int taps_x, int step)
        : w((const float *)a.w), Co(a.Co), next(a.K * a.K * a.Ci), C(a.Ci), K(a.K), S(a.S), kx0(rx)
    {
        row = (int)threadIdx.x / packs;
        n = (int)threadIdx.x % packs * 4;
        ci = first + n;
        const int chunks = (Co + BK - 1) / BK, tap = step / chunks;
        c = step % chunks * BK;
        ky = ry + S * (tap / taps_x);
        kx = rx + S * (tap % taps_x);
    }
    __device__ __forceinline__ void load(float *tile)
    {
#pragma unroll
        for (int i = 0; i < passes; i++) {
            const int co = c + row + i * rows;
            const bool ok = co < Co && ci < C;
            cp_async16(tile + (row + i * rows) * B + n, ok ? w + co * next + (ky * K + kx) * C + ci : w, ok);
        }
        c += BK;
        if (c < Co) return;
        c = 0;
        kx += S;
        if (kx < K) return;
        kx = kx0;
        ky += S;
    }
};

/* Loads columns of y for the weight gradient: m is co, and k runs over pixels. */
template <int B, int NT> struct y_columns {
    static constexpr int packs = B / 4, rows = NT / packs, passes = BK / rows;
    const float *y;
    int C, row, m, co, p, end;

    __device__ __forceinline__ y_columns(const dg_conv_args &a, int first, int pixel, int last)
        : y((const float *)a.y), C(a.Co), p(pixel), end(last)
    {
        row = (int)threadIdx.x / packs;
        m = (int)threadIdx.x % packs * 4;
        co = first + m;
    }
    __device__ __forceinline__ void load(float *tile)
    {
#pragma unroll
        for (int i = 0; i < passes; i++) {
            const int at = p + row + i * rows;
            const bool ok = at < end && co < C;
            cp_async16(tile + (row + i * rows) * B + m, ok ? y + at * C + co : y, ok);
        }
        p += BK;
    }
};

/* Loads columns of patches of x for the weight gradient: n is (tap, ci), and k runs over pixels of y. */
template <int B, int NT> struct patch_columns {
    static constexpr int packs = B / 4, rows = NT / packs, passes = BK / rows;
    const float *x;
    int H, W, C, S, row, n, p, end;
    int y0, x0, ci;
    divider across, down;

    __device__ __forceinline__ patch_columns(const dg_conv_args &a, int first, int pixel, int last, const divider &Wo,
                                             const divider &Ho)
        : x((const float *)a.x), H(a.H), W(a.W), C(a.Ci), S(a.S), p(pixel), end(last), across(Wo), down(Ho)
    {
        row = (int)threadIdx.x / packs;
        n = (int)threadIdx.x % packs * 4;
        const int tap = (first + n) / C;
        ci = (first + n) % C;
        y0 = tap < a.K * a.K ? tap / a.K - a.P : NOWHERE;
        x0 = tap % a.K - a.P;
    }
    __device__ __forceinline__ void load(float *tile)
    {
#pragma unroll
        for (int i = 0; i < passes; i++) {
            const int at = p + row + i * rows, line = divide(at, across), image = divide(line, down);
            const int iy = (line - image * down.d) * S + y0, ix = (at - line * across.d) * S + x0;
            const bool ok = at < end && (unsigned)iy < (unsigned)H && (unsigned)ix < (unsigned)W;
            cp_async16(tile + (row + i * rows) * B + n, ok ? x + ((image * H + iy) * W + ix) * C + ci : x, ok);
        }
        p += BK;
    }
};

/* Returns the first step of a part, if `all` steps are divided into `parts` parts. */
static __device__ __forceinline__ int share(int all, int part, int parts) { return (int)((int64_t)all * part / parts); }

/* For large tiles, limits registers so that two blocks of 256 threads or three smaller blocks fit an SM. */
#define DG_BOUNDS(G) __launch_bounds__(G::NT, G::TM *G::TN < 64 ? 1 : G::NT == 256 ? 2 : 3)

template <class G>
static __global__ void DG_BOUNDS(G) fwd_kernel(const dg_conv_args a, float *out, int split, int stages)
{
    const int M = a.N * a.Ho * a.Wo, m0 = (int)blockIdx.x * G::BM, n0 = (int)blockIdx.y * G::BN, part = (int)blockIdx.z;
    const int all = a.K * a.K * dg_div_up(a.Ci, BK), first = share(all, part, split),
              last = share(all, part + 1, split);
    pixel_rows<G::BM, G::NT, 1> load_a((const float *)a.x, a.H, a.W, a.Ci, a.K, first);
#pragma unroll
    for (int i = 0; i < load_a.passes; i++) {
        const int m = m0 + load_a.row + i * load_a.rows, line = m / a.Wo, image = line / a.Ho;
        if (m < M) load_a.start(i, image, (line - image * a.Ho) * a.S - a.P, (m - line * a.Wo) * a.S - a.P);
        else load_a.skip(i);
    }
    weight_rows<G::BN, G::NT> load_b(a, n0, first);
    float acc[G::TM][G::TN] = {};
    G::run(acc, load_a, load_b, last - first, stages);

    int ty, tx;
    G::place(&ty, &tx);
    out += (int64_t)part * M * a.Co;
#pragma unroll
    for (int i = 0; i < G::TM; i++) {
        const int m = m0 + G::A::index(i, ty);
        if (m >= M) continue;
#pragma unroll
        for (int j = 0; j < G::TN; j++) {
            const int n = n0 + G::B::index(j, tx);
            if (n < a.Co) out[m * a.Co + n] = acc[i][j];
        }
    }
}

/* Along one axis, a phase has the outputs start, start + S, ... (`count` outputs). The first tap of the first output
 * reads input `origin`. */
typedef struct {
    int start, count, origin, taps;
} axis;

static __host__ __device__ __forceinline__ axis axis_of(int phase, int outputs, int K, int S, int P)
{
    axis s;
    s.start = (phase - P % S + S) % S;
    s.count = s.start < outputs ? (outputs - 1 - s.start) / S + 1 : 0;
    s.origin = (s.start + P) / S;
    s.taps = phase < K ? (K - 1 - phase) / S + 1 : 0;
    return s;
}

template <class G>
static __global__ void DG_BOUNDS(G) dx_kernel(const dg_conv_args a, float *out, int split, int stages)
{
    const int phase = (int)blockIdx.z / split, part = (int)blockIdx.z % split, ry = phase / a.S, rx = phase % a.S;
    const axis v = axis_of(ry, a.H, a.K, a.S, a.P), h = axis_of(rx, a.W, a.K, a.S, a.P);
    const int M = a.N * v.count * h.count, m0 = (int)blockIdx.x * G::BM, n0 = (int)blockIdx.y * G::BN;
    if (m0 >= M) return;
    const int all = v.taps * h.taps * dg_div_up(a.Co, BK), first = share(all, part, split),
              last = share(all, part + 1, split);
    pixel_rows<G::BM, G::NT, -1> load_a((const float *)a.y, a.Ho, a.Wo, a.Co, h.taps > 0 ? h.taps : 1, first);
#pragma unroll
    for (int i = 0; i < load_a.passes; i++) {
        const int m = m0 + load_a.row + i * load_a.rows, line = m / h.count, image = line / v.count;
        if (m < M) load_a.start(i, image, line - image * v.count + v.origin, m - line * h.count + h.origin);
        else load_a.skip(i);
    }
    weight_columns<G::BN, G::NT> load_b(a, n0, ry, rx, h.taps > 0 ? h.taps : 1, first);
    float acc[G::TM][G::TN] = {};
    G::run(acc, load_a, load_b, last - first, stages);

    int ty, tx;
    G::place(&ty, &tx);
    out += (int64_t)part * a.N * a.H * a.W * a.Ci;
#pragma unroll
    for (int i = 0; i < G::TM; i++) {
        const int m = m0 + G::A::index(i, ty), line = m / h.count, image = line / v.count;
        if (m >= M) continue;
        const int iy = v.start + (line - image * v.count) * a.S, ix = h.start + (m - line * h.count) * a.S;
        float *x = out + ((image * a.H + iy) * a.W + ix) * a.Ci;
#pragma unroll
        for (int j = 0; j < G::TN; j += 4) {
            const int n = n0 + G::B::index(j, tx);
            if (n < a.Ci)
                dg_store<4>(x + n, dg_pack<float, 4>{{acc[i][j], acc[i][j + 1], acc[i][j + 2], acc[i][j + 3]}});
        }
    }
}

template <class G>
static __global__ void DG_BOUNDS(G)
    dw_kernel(const dg_conv_args a, float *out, int split, int stages, const divider Wo, const divider Ho)
{
    const int N = a.K * a.K * a.Ci, m0 = (int)blockIdx.x * G::BM, n0 = (int)blockIdx.y * G::BN, part = (int)blockIdx.z;
    const int first = share(a.N, part, split) * a.Ho * a.Wo, last = share(a.N, part + 1, split) * a.Ho * a.Wo;
    y_columns<G::BM, G::NT> load_a(a, m0, first, last);
    patch_columns<G::BN, G::NT> load_b(a, n0, first, last, Wo, Ho);
    float acc[G::TM][G::TN] = {};
    G::run(acc, load_a, load_b, dg_div_up(last - first, BK), stages);

    int ty, tx;
    G::place(&ty, &tx);
    out += (int64_t)part * a.Co * N;
#pragma unroll
    for (int i = 0; i < G::TM; i++) {
        const int m = m0 + G::A::index(i, ty);
        if (m >= a.Co) continue;
#pragma unroll
        for (int j = 0; j < G::TN; j += 4) {
            const int n = n0 + G::B::index(j, tx);
            if (n < N)
                dg_store<4>(out + m * N + n,
                            dg_pack<float, 4>{{acc[i][j], acc[i][j + 1], acc[i][j + 2], acc[i][j + 3]}});
        }
    }
}

template <int BM, int BN, int TM, int TN>
static void launch(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream)
{
    typedef dg_gemm<BM, BN, BK, TM, TN, true, true> rows_rows;
    typedef dg_gemm<BM, BN, BK, TM, TN, true, false> rows_columns;
    typedef dg_gemm<BM, BN, BK, TM, TN, false, false> columns_columns;
    const unsigned split = (unsigned)tune->split, stages = (unsigned)tune->stages;
    const dim3 block(rows_rows::NT);
    if (kind == DG_OP_conv_fwd) {
        const dim3 grid((unsigned)dg_div_up(a->N * a->Ho * a->Wo, BM), (unsigned)dg_div_up(a->Co, BN), split);
        KLAUNCH(fwd_kernel<rows_rows>, grid, block, stages * rows_rows::stage_bytes, stream, *a, out, tune->split,
                tune->stages);
    } else if (kind == DG_OP_conv_dx) {
        const int most = a->N * dg_div_up(a->H, a->S) * dg_div_up(a->W, a->S), phases = a->S * a->S;
        const dim3 grid((unsigned)dg_div_up(most, BM), (unsigned)dg_div_up(a->Ci, BN), (unsigned)phases * split);
        KLAUNCH(dx_kernel<rows_columns>, grid, block, stages * rows_columns::stage_bytes, stream, *a, out, tune->split,
                tune->stages);
    } else if constexpr (BM == BN) {
        const dim3 grid((unsigned)dg_div_up(a->Co, BM), (unsigned)dg_div_up(a->K * a->K * a->Ci, BN), split);
        KLAUNCH(dw_kernel<columns_columns>, grid, block, stages * columns_columns::stage_bytes, stream, *a, out,
                tune->split, tune->stages, divider_of(a->Wo), divider_of(a->Ho));
    }
}

void dg_conv_tiled(dg_op_kind kind, const dg_conv_args *args, const dg_tune *tune, cudaStream_t stream)
{
    const dg_conv_args flat = dg_conv_flat(args), *a = &flat;
    float *const out = dg_conv_out(kind, a, tune);
#define X(BM, BN, TM, TN) \
    if (tune->tile_m == BM && tune->tile_n == BN) launch<BM, BN, TM, TN>(kind, a, tune, out, stream);
    DG_TILED_TILES(X)
#undef X
    dg_conv_finish(kind, a, tune, stream);
}
