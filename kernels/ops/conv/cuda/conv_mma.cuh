/* Code shared by the three directions of the 4x4 convolution with stride 2 and pad 1 on tensor cores. Terms:
 * Cell: 8x8 positions of y, or 4x4 positions in small maps.
 * Piece: 64 positions, which are the rows of a warp's product. A piece is one 8x8 cell or four 4x4 cells.
 * Patch: the values of x that a piece reads. In the data gradient, a patch has values of y.
 * Chunk: the channels that one buffer of shared memory holds. In the weight gradient, a chunk is a piece.
 * Unit: 16 bytes, adjacent rounded channels of one position.
 * Plane: the units that contain the same channels, one per position (mma.cuh).
 * Group: some of the filter's taps. A step multiplies one group; it also loads weights and a slice of the next patch.
 *   A patch has one slice per group.
 * Two buffers alternate: one is multiplied while the other is filled. Values are rounded once, when they are stored to
 * shared memory. */
#pragma once

#include <type_traits>

#include "kernels/ops/conv/cuda/conv.cuh"
#include "kernels/fused/fuse.cuh"
#include "kernels/dev/mma.cuh"

struct alignas(16) dg_cell {
    int image, row, col;
};

struct dg_maps {
    int rows, cols, channels;
};

/* Returns cell `number`, counted over all images. `side`: positions per edge of a cell; rows x cols: positions of a
 * map. */
static __device__ __forceinline__ dg_cell dg_cell_of(int number, int side, int rows, int cols)
{
    const int down = dg_div_up(rows, side), across = dg_div_up(cols, side), line = number / across;
    return {line / down, line % down * side, (number - line * across) * side};
}

/* Position p of a piece: its cell, and its row and column in this cell. In small maps, positions 8q .. 8q + 7 are row q
 * % 4 of two adjacent cells. */
template <bool SMALL> struct dg_row_tile {
    static constexpr int side = SMALL ? 4 : 8, cells = SMALL ? 4 : 1;
    static __device__ __forceinline__ int cell(int p) { return SMALL ? (p >> 2 & 1) + (p >> 5 & 1) * 2 : 0; }
    static __device__ __forceinline__ int row(int p) { return SMALL ? p >> 3 & 3 : p >> 3; }
    static __device__ __forceinline__ int col(int p) { return SMALL ? p & 3 : p & 7; }
};

/* Layout of a patch in shared memory. SMALL: cells are 4x4.
 * With HALVED, a patch is divided into four phases. Phase (py, px) stores x[2u - 1 + py][2v - 1 + px] at (u, v). Tap
 * (ky, kx) of position (r, c) is in phase (ky % 2, kx % 2) at (r + ky / 2, c + kx / 2).
 * Without HALVED, tap (ky, kx) of position (r, c) is at (r + ky, c + kx). */
template <bool SMALL, int PIECES_, int PLANES_, bool HALVED> struct dg_patch {
    typedef dg_row_tile<SMALL> piece;
    static constexpr bool small = SMALL;
    static constexpr int PIECES = PIECES_, PLANES = PLANES_, cells = PIECES * piece::cells;
    /* rows and columns of a cell's patch in the tensor */
    static constexpr int input = HALVED ? 2 * piece::side + 2 : piece::side + 2;
    static constexpr int scale = HALVED ? 2 : 1;
    static constexpr int line = HALVED ? piece::side + 1 : input;
    static constexpr int cell = DG_MMA_CELL(SMALL, HALVED), phase = DG_MMA_PHASE(SMALL, PIECES, HALVED);
    static constexpr int plane = DG_MMA_PLANE(SMALL, PIECES, HALVED), units = PLANES * plane;
    static_assert(cell >= line * line && (!SMALL || cell % 8 == 4),
                  "one row of each of two 4x4 cells must be in different shared memory banks");
    static_assert(plane % 8 == 4 && (!HALVED || phase % 8 == 2),
                  "4 values of a row, in each of 2 planes, must be in different shared memory banks");

    static __device__ __forceinline__ int at(unsigned number, unsigned row, unsigned col)
    {
        return (int)(HALVED ? (row % 2 * 2 + col % 2) * phase + number * cell + row / 2 * line + col / 2
                            : number * cell + row * line + col);
    }
    static __device__ __forceinline__ int of_position(int p)
    {
        return piece::cell(p) * cell + piece::row(p) * line + piece::col(p);
    }
    static __device__ __forceinline__ int of_piece(int number) { return number * piece::cells * cell; }
    /* Returns the distance, in units, from position p of a piece to position p + 8q, for p < 8. */
    static __device__ __forceinline__ constexpr int of_eight(int q)
    {
        return SMALL ? (q & 3) * line + (q >> 2) * 2 * cell : q * line;
    }
    static __device__ __forceinline__ constexpr int of_tap(int ky, int kx)
    {
        return HALVED ? (ky % 2 * 2 + kx % 2) * phase + ky / 2 * line + kx / 2 : ky * line + kx;
    }
};

/* Return the plane and the position of unit i of an operand. Thread i (modulo the block size) loads unit i. Eight
 * consecutive units are 4 positions of 2 planes. */
template <int PLANES> static __device__ __forceinline__ int dg_unit_plane(int i)
{
    return i % 2 + i / 8 % (PLANES / 2) * 2;
}
template <int PLANES> static __device__ __forceinline__ int dg_unit_position(int i)
{
    return i / (4 * PLANES) * 4 + i / 2 % 4;
}

template <class E, class T> struct dg_parcel;

template <class E> struct dg_parcel<E, float> {
    float v[E::unit];

    __device__ __forceinline__ void fetch(const float *from)
    {
#pragma unroll
        for (int q = 0; q < E::unit; q += 4) {
            const dg_pack<float, 4> w = dg_load<4>(from + q);
#pragma unroll
            for (int e = 0; e < 4; e++) v[q + e] = w.v[e];
        }
    }
    __device__ __forceinline__ void fetch_or_zero(const float *from, bool ok)
    {
#pragma unroll
        for (int e = 0; e < E::unit; e++) v[e] = 0;
        if (ok) fetch(from);
    }
    __device__ __forceinline__ void put(uint4 *to) const { *to = E::round(v); }
    __device__ __forceinline__ float value(int e) const { return v[e]; }
};

template <class E> struct dg_parcel<E, uint16_t> {
    uint4 v;

    __device__ __forceinline__ void fetch(const uint16_t *from) { v = *reinterpret_cast<const uint4 *>(from); }
    __device__ __forceinline__ float value(int e) const
    {
        const uint32_t word[4] = {v.x, v.y, v.z, v.w};
        return dg_widened(word[e / 2 % 4]).v[e % 2];
    }
};

/* Source and destination of one position of the patch. If `to` is negative, the position is outside of the map and
 * stays zero. */
struct dg_transfer {
    unsigned from; /* offset in the tensor, in units */
    int to;        /* offset in plane 0 of the patch, in bytes */
};
enum { DG_BORDER = 1 << 24 };

/* Prologues, applied to values before rounding (fused.h). DG_ONE_TENSOR is an affine map; it multiplies negative
 * results by a factor. DG_TWO_TENSORS is an affine map of two tensors. The flag DG_ROUNDED marks bf16 tensors. For each
 * unit of channels, shared memory holds scales, shifts and, for two tensors, tilts (factors of the second tensor). In
 * bf16 arithmetic, DG_TWO_TENSORS kernels also handle one fp32 tensor, passed twice with a tilt of 0. */
enum { DG_AS_IS, DG_ONE_TENSOR, DG_TWO_TENSORS, DG_ROUNDED = 4 };

/* Loads a patch. Two threads load each position, one per plane. */
template <class E, class P, int NT, int GROUPS, int MAP = DG_AS_IS> struct dg_patch_loader {
    static constexpr int all = P::cells * P::input * P::input, items = dg_div_up(2 * all, NT),
                         slice = dg_div_up(items, GROUPS);
    static constexpr int transfers = items * NT / 2;
    static constexpr int tensors = MAP & 3, numbers = tensors ? tensors + 1 : 0;
    static constexpr bool both = tensors == DG_TWO_TENSORS, any = MAP == DG_TWO_TENSORS && !E::scaled;
    static constexpr bool bent = MAP == (DG_ROUNDED | DG_ONE_TENSOR);
    typedef typename std::conditional<(MAP & DG_ROUNDED) != 0, uint16_t, float>::type V;
    static_assert(P::PLANES == 2 && NT % 8 == 0, "a patch must have two planes, and NT must be a multiple of 8");

    const V *tensor;
    const dg_transfer *place;
    int plane;
    dg_parcel<E, V> parcel[slice];
    dg_transfer way[numbers ? slice : 1];
    const V *second; /* the second tensor */
    dg_parcel<E, V> beside[both ? slice : 1];
    const float *number;
    float below;
    uint4 *kept;        /* output: rounded operands */
    unsigned keeps = 0; /* bit mask of the slices to store, from the current chunk on */

    static __device__ __forceinline__ void build(dg_transfer *place, uint4 *patch, int N, int H, int W, int C,
                                                 const dg_cell *cell)
    {
        static constexpr unsigned edge = P::input;
        for (unsigned i = threadIdx.x; i < transfers; i += NT) {
            place[i] = {0, -1};
            if (i >= all) break;
            const unsigned c = i / (edge * edge), line = i / edge, row = line - c * edge, col = i - line * edge;
            const dg_cell at = cell[c];
            const int y = at.row * P::scale - 1 + (int)row, x = at.col * P::scale - 1 + (int)col;
            const int unit = P::at(c, row, col);
            if (at.image < N && (unsigned)y < (unsigned)H && (unsigned)x < (unsigned)W) {
                const bool own = is_own((int)row, at.row, H) & is_own((int)col, at.col, W);
                place[i] = {(unsigned)(((at.image * H + y) * W + x) * (C / E::unit)),
                            unit * (int)sizeof(uint4) + (own ? 0 : DG_BORDER)};
            } else {
#pragma unroll
                for (int k = 0; k < 4; k++) patch[unit + k * P::plane] = make_uint4(0, 0, 0, 0);
            }
        }
    }
    /* True if this cell stores row (or column) i of its patch to `kept`. A neighbouring cell stores the border, except
     * at the map's end. */
    static __device__ __forceinline__ bool is_own(int i, int at, int size)
    {
        return (i > 0) & ((i <= P::scale * P::piece::side) | (at + P::piece::side >= size / P::scale));
    }
    dg_patch_loader() = default;
    __device__ __forceinline__ dg_patch_loader(const float *of, const dg_transfer *table)
        : tensor(reinterpret_cast<const V *>(of)), place(table + dg_settled((int)(threadIdx.x / 2))),
          plane(dg_settled((int)(threadIdx.x % 2)))
    {}
    __device__ __forceinline__ void map(const float *also, const float *table, float factor)
    {
        if constexpr (both) second = reinterpret_cast<const V *>(also);
        number = table + plane * (numbers * E::unit);
        below = factor;
    }
    /* Makes the loader also store the rounded values to `to`. Blocks that differ only in blockIdx.y load the same
     * patch. So each stores only some slices. `share`: bit mask of the slices that block 0 stores. */
    __device__ __forceinline__ void keep(void *to, unsigned share)
    {
        kept = (uint4 *)to;
        keeps = blockIdx.y < 32 ? share << blockIdx.y : 0;
    }
    __device__ __forceinline__ void next_chunk() { keeps = keeps >> GROUPS | keeps << (32 - GROUPS); }
    static __device__ __forceinline__ bool is_idle(int j)
    {
        const int threads = dg_div_up(2 * all - j * NT, 32) * 32;
        return threads < NT && (int)threadIdx.x >= threads;
    }
    __device__ __forceinline__ void fetch(int g, int pair)
    {
        const unsigned mine = (unsigned)(2 * pair + plane);
#pragma unroll
        for (int k = 0; k < slice; k++) {
            const int j = g * items / GROUPS + k;
            if (j >= (g + 1) * items / GROUPS || is_idle(j)) break;
            dg_transfer t = place[j * NT / 2];
            t.from += mine;
            parcel[k].fetch(tensor + (size_t)t.from * E::unit);
            if (both) beside[both ? k : 0].fetch(second + (size_t)t.from * E::unit);
            if (numbers) way[numbers ? k : 0] = t;
        }
    }
    /* Returns channel e of parcel k after the prologue. */
    __device__ __forceinline__ float value(int k, int e, const dg_channel &f) const
    {
        const float v = parcel[k].value(e);
        if (both) {
            const float two = dg_two_value(f, v, beside[both ? k : 0].value(e));
            return any ? fmaxf(two, below * two) : two;
        }
        if (numbers) return bent ? dg_bent_value(f, v, below) : dg_one_value(f, v, below);
        return MAP == DG_AS_IS && E::scaled ? v * below : v;
    }
    /* Rounds a slice and stores it to this thread's plane of `patch`. Chunks are counted from this block's first
     * chunk. */
    __device__ __forceinline__ void put(uint4 *patch, int g, int chunk) const
    {
        const float *const of_unit = number + chunk * (2 * numbers * E::unit);
        dg_pack<float, 4> scale[E::unit / 4] = {}, shift[E::unit / 4] = {}, tilt[E::unit / 4] = {};
#pragma unroll
        for (int q = 0; numbers && q < E::unit / 4; q++) {
            scale[q] = dg_load<4>(of_unit + 4 * q), shift[q] = dg_load<4>(of_unit + E::unit + 4 * q);
            if (both) tilt[q] = dg_load<4>(of_unit + 2 * E::unit + 4 * q);
        }
        const bool keeping = numbers && keeps >> g & 1;
#pragma unroll
        for (int k = 0; k < slice; k++) {
            const int j = g * items / GROUPS + k;
            if (j >= (g + 1) * items / GROUPS || is_idle(j)) break;
            uint4 u;
            if constexpr (MAP == DG_ROUNDED) {
                u = parcel[k].v;
            } else {
                float v[E::unit];
#pragma unroll
                for (int e = 0; e < E::unit; e++)
                    v[e] = value(k, e, {scale[e / 4].v[e % 4], tilt[e / 4].v[e % 4], shift[e / 4].v[e % 4]});
                u = E::round(v);
            }
            const dg_transfer t = numbers ? way[numbers ? k : 0] : place[j * NT / 2];
            unsigned char *const start = reinterpret_cast<unsigned char *>(patch);
            if (t.to >= 0) *reinterpret_cast<uint4 *>(start + (t.to & (DG_BORDER - 1))) = u;
            if (keeping && (unsigned)t.to < DG_BORDER) kept[t.from] = u;
        }
    }
};

/* Loads weights to shared memory, one group per step. Unfused launches load fp32 weights to registers one step ahead
 * and round them. Fused launches copy rounded weights (dg_rounded in fused.h) stages - 1 steps ahead, without
 * registers. Job has these functions for this thread's unit j:
 * `unit(chunk, j)` returns the offset at tap 0, in values. Chunks are counted from this block's first chunk.
 * `tap(g, j)` returns the tap of unit j in group g, relative to tap 0.
 * `weight(stage, j)` returns the destination in shared memory. */
template <class Job, class G> struct dg_weights {
    typedef typename G::E E;
    static constexpr bool rounded = G::rounded;
    static constexpr int items = G::copied / G::NT, groups = G::groups, ahead = G::stages - 1;
    const void *w;
    bool early = false;
    dg_parcel<E, float> parcel[rounded ? 1 : items];

    __device__ __forceinline__ const Job &job() const { return *static_cast<const Job *>(this); }
    __device__ __forceinline__ const char *source(int chunk, int g, int j, int bytes) const
    {
        return (const char *)w + (size_t)job().unit(chunk, j) * bytes + (int64_t)job().Ci * (job().tap(g, j) * bytes);
    }
    static __device__ __forceinline__ int stage_of(int chunk, int g)
    {
        return groups % G::stages == 0 ? g % G::stages : (chunk * groups + g) % G::stages;
    }

    /* Copies the rounded weights of the step that is `later` steps after step (chunk, g). EARLY: before
     * grid_dependency_wait(). */
    template <bool EARLY> __device__ __forceinline__ void copy_step(int chunk, int g, int later, int chunks)
    {
        const int at = chunk + (g + later) / groups, group = (g + later) % groups, stage = stage_of(at, group);
        if (at < chunks)
#pragma unroll
            for (int j = 0; j < items; j++) {
                const char *const from = source(at, group, j, 16 / E::unit);
                if (EARLY) cp_async16_early(job().weight(stage, j), from, true);
                else cp_async16(job().weight(stage, j), from, true);
            }
        cp_async_commit();
    }
    template <bool EARLY> __device__ __forceinline__ void first_weights(int chunks)
    {
        if constexpr (rounded) {
#pragma unroll
            for (int s = 0; s < ahead; s++) copy_step<EARLY>(0, 0, s, chunks);
            early = true;
        }
    }
    __device__ __forceinline__ void copy(int chunk, int g, int chunks)
    {
        if (rounded) copy_step<false>(chunk, g, ahead, chunks);
    }
    template <int LATER = ahead - 1> static __device__ __forceinline__ void arrive()
    {
        if (rounded) cp_async_wait<LATER>();
    }

    __device__ __forceinline__ void fetch_weights(int chunk, int g)
    {
        if constexpr (!rounded)
#pragma unroll
            for (int j = 0; j < items; j++) parcel[j].fetch((const float *)source(chunk, g, j, sizeof(float)));
    }
    __device__ __forceinline__ void store_weights(int chunk, int g)
    {
        if constexpr (!rounded)
#pragma unroll
            for (int j = 0; j < items; j++) parcel[j].put(job().weight(stage_of(chunk, g), j));
    }
};

/* Main loop of forward passes and data gradients. `fetch()` loads values to registers; `store()` writes them to shared
 * memory. `copy()` starts asynchronous copies of weights; `arrive()` waits for them. Loads are issued two steps ahead,
 * before a barrier, so that the compiler cannot delay them. */
template <class Job> static __device__ __forceinline__ void dg_mma_run(Job &job, int chunks)
{
    job.first(chunks);
    job.fetch(0, 0, chunks > 1);
    Job::arrive();
    Job::E::publish();
    __syncthreads();
    for (int chunk = 0; chunk < chunks; chunk++) {
        const bool more = chunk + 1 < chunks;
#pragma unroll
        for (int g = 0; g < Job::groups; g++) {
            job.copy(chunk, g, chunks);
            job.multiply(chunk, g);
            job.store(chunk, g, more);
            if (g + 1 < Job::groups) job.fetch(chunk, g + 1, more);
            else if (more) job.fetch(chunk + 1, 0, chunk + 2 < chunks);
            Job::E::finish(job.sums);
            Job::arrive();
            Job::E::publish();
            __syncthreads(); /* all threads have stored the next step's values and finished this step's products */
        }
    }
    Job::template arrive<0>();
}
