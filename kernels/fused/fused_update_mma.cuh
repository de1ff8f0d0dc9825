/* Jobs of a fused update on tensor cores: conv_mma_dw.cuh with the prologues of a fused launch. */
#ifndef DG_FUSED_UPDATE_MMA_CUH
#define DG_FUSED_UPDATE_MMA_CUH

#include "kernels/ops/conv/cuda/conv_mma_dw.cuh"
#include "kernels/ops/conv/cuda/conv_thin_mma_dw.cuh"
#include "kernels/fused/fuse.cuh"
extern "C" {
#include "kernels/fused/fused_update.h"
}

/* A side through its prologue, of one tensor (norm) or two (norm_dx); plain is either. What a channel needs is in
 * shared memory, for each group unit by unit: as many scales as a unit has channels, then shifts, then (of two) tilts.
 * Values outside of the map stay 0. */
template <class E, int ITEMS, int CHANNELS, bool TWO> struct dg_dw_prologue {
    /* E: arithmetic; ITEMS: units of a thread; CHANNELS: of the tile on this side; TWO: of two tensors */
    static constexpr bool grouped = true;
    static constexpr int numbers = TWO ? 3 : 2, words = numbers * CHANNELS; /* of a channel; of a group */
    const dg_prologue &s; /* read again and again where it lies: registers are short */
    const int first;      /* this thread's channels of the first pixel */
    const float *const number;
    const int &groups;
    dg_parcel<E, float> item[ITEMS], beside[TWO ? ITEMS : 1];
    unsigned flags; /* of item j: bit j, there is such a value; bit 16 + j, its image is of the second group */
    static_assert(ITEMS <= 16, "two bits an item");

    /* Whole block: the numbers of CHANNELS channels from c0 on, of C. */
    static __device__ __forceinline__ void tabulate(float *table, const dg_prologue &s, int c0, int C, int groups,
                                                    int shift)
    {
        for (int i = (int)threadIdx.x; i < groups * CHANNELS; i += DG_UPDATE_THREADS) {
            const int group = i / CHANNELS, c = i % CHANNELS;
            dg_channel k = dg_channel_of(s, s.groups == 1 ? 0 : group, min(c0 + c, C - 1), C);
            if (E::scaled) k = dg_channel_times(k, shift);
            float *const to = table + group * words + c / E::unit * E::unit * numbers + c % E::unit;
            to[0] = k.scale;
            to[E::unit] = k.shift;
            if (TWO) to[2 * E::unit] = k.tilt;
        }
    }
    /* c: this thread's first channel in the tile; at: the same in the tensor, or the nearest that there is. */
    __device__ __forceinline__ dg_dw_prologue(const dg_prologue &of, const float *table, int c, int at, const int &all)
        : s(of), first(at), number(table + c * numbers), groups(all)
    {}
    __device__ __forceinline__ void begin() { flags = 0; }
    __device__ __forceinline__ void fetch(int j, bool ok, int at, int group)
    {
        const bool two = TWO && s.kind == DG_PROLOGUE_NORM_DX;
        const int from = first + (ok ? at : 0);
        item[j].fetch_or_zero(s.x + from, ok);
        if (TWO) beside[TWO ? j : 0].fetch_or_zero((two ? s.pre : s.x) + from, ok && two);
        flags |= (unsigned)ok << j | (unsigned)group << (16 + j);
    }
    template <class To> __device__ __forceinline__ void put(const To &to) const
    {
        const float below = s.kind == DG_PROLOGUE_NORM ? s.factor : 1;
        for (int group = 0; group < groups; group++) {
            const float *const at = number + group * words;
            dg_channel k[E::unit];
#pragma unroll
            for (int e = 0; e < E::unit; e += 4) {
                const dg_pack<float, 4> scale = dg_load<4>(at + e), shift = dg_load<4>(at + E::unit + e);
                const dg_pack<float, 4> tilt = TWO ? dg_load<4>(at + 2 * E::unit + e) : scale;
#pragma unroll
                for (int q = 0; q < 4; q++) k[e + q] = {scale.v[q], tilt.v[q], shift.v[q]};
            }
#pragma unroll
            for (int j = 0; j < ITEMS; j++) {
                if ((int)(flags >> (16 + j) & 1) != group) continue;
                const bool ok = flags >> j & 1;
                float v[E::unit];
#pragma unroll
                for (int e = 0; e < E::unit; e++) {
                    v[e] = TWO ? dg_two_value(k[e], item[j].v[e], beside[TWO ? j : 0].v[e])
                               : dg_one_value(k[e], item[j].v[e], below);
                    if (!ok) v[e] = 0;
                }
                to(j, E::round(v));
            }
        }
    }
};

/* Where a thread's values of the patch are, in shared memory: with prologues, registers are short. */
struct dg_dw_shared_spots {
    int *mine;

    __device__ __forceinline__ int &operator[](int j) const { return mine[j * DG_UPDATE_THREADS]; }
};

/* One part of one tile's sums. */
template <class E, bool SMALL, bool OF_X>
static __device__ __forceinline__ void dg_update_mma(const dg_update_work &w, int tile, int part, float *out)
{
    typedef dg_dw_tile<E, float, SMALL> G;
    typedef typename G::patch P;
    typedef dg_dw_prologue<E, G::x_items, G::N, OF_X> X;
    typedef dg_dw_prologue<E, G::y_items, G::M, !OF_X> Y;
    static_assert(G::NT == DG_UPDATE_THREADS &&
                      sizeof(float) * DG_UPDATE_GROUPS * (X::words + Y::words) <= DG_UPDATE_TABLE_BYTES,
                  "tables");
    const dg_conv_args &a = w.conv;
    const int co0 = tile % w.rows * G::M, ci0 = tile / w.rows * G::N;
    const int first = (int)((int64_t)w.units * part / w.parts), last = (int)((int64_t)w.units * (part + 1) / w.parts);
    dev_pool pool;
    uint4 *const patch = pool.take<uint4>(2 * P::units), *const grad = pool.take<uint4>(2 * G::y_planes * 64);
    float *const of_x = pool.take<float>(DG_UPDATE_GROUPS * X::words), *const of_y = pool.take<float>(DG_UPDATE_GROUPS *
                                                                                                      Y::words);
    const dg_dw_shared_spots spots = {pool.take<int>(G::x_items * DG_UPDATE_THREADS) + threadIdx.x};
    SHARED(dg_cell, cell, [2 * P::piece::cells]);
    X::tabulate(of_x, w.x, ci0, a.Ci, w.groups, a.shift_x);
    Y::tabulate(of_y, w.y, co0, a.Co, w.groups, a.shift_y);
    /* What is beyond the channels is multiplied, but not stored. */
    const X x(w.x, of_x, G::x_channel(), min(ci0 + G::x_channel(), a.Ci - E::unit), w.groups);
    const Y y(w.y, of_y, G::y_channel(), min(co0 + G::y_channel(), a.Co - E::unit), w.groups);
    dg_dw_job<G, X, Y, dg_dw_shared_spots> job(a, first, w.per_group, cell, patch, grad, x, y, spots);
    job.run(last - first);
    job.store(out, co0, ci0);
}

/* The same of pictures. */
template <class E>
static __device__ __forceinline__ void dg_update_thin_mma(const dg_update_work &w, int tile, int part, float *out)
{
    static_assert(DG_THIN_MMA_DW_THREADS == DG_UPDATE_THREADS, "a block is a block");
    const int first = (int)((int64_t)w.units * part / w.parts), last = (int)((int64_t)w.units * (part + 1) / w.parts);
    dev_pool pool;
    float *const shared = pool.take<float>((size_t)(w.conv.Ci == 1 ? DG_THIN_DW_WORDS(1) : DG_THIN_DW_WORDS(3)));
    if constexpr (E::there && !E::scaled) {
        if (w.conv.Ci == 1)
            dg_thin_mma_dw_part<E, 1>(w.conv, w.x.x, w.y, w.per_group, tile * DG_THIN_CHANNELS, first, last, shared,
                                      out);
        else
            dg_thin_mma_dw_part<E, 3>(w.conv, w.x.x, w.y, w.per_group, tile * DG_THIN_CHANNELS, first, last, shared,
                                      out);
    }
}

#endif
