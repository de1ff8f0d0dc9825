/* Jobs of a fused update on tensor cores: conv_mma_dw.cuh with factors that were rounded before. */
#ifndef DG_FUSED_UPDATE_MMA_CUH
#define DG_FUSED_UPDATE_MMA_CUH

#include "kernels/ops/conv/cuda/conv_mma_dw.cuh"
#include "kernels/ops/conv/cuda/conv_thin_mma_dw.cuh"
#include "kernels/fused/fuse.cuh"
extern "C" {
#include "kernels/fused/fused_update.h"
}

/* Copies the factors of both sides (fuse.h), stages - 1 pieces ahead and past the registers, and multiplies. G: tile;
 * STAGES: pieces in shared memory. */
template <class G, int STAGES> struct dg_update_sums : dg_dw_products<G> {
    typedef dg_dw_products<G> W;
    typedef typename G::E E;
    typedef typename G::patch P;
    typedef typename P::piece piece;
    static constexpr unsigned width = 16 / E::unit; /* bytes of a value */
    struct alignas(16) place {
        int x, y, row, col; /* a cell's first values of both sides, that of x without its border; its first position */
    };
    const dg_conv_args &a;
    const char *const x, *const y; /* of this thread's channels, of the first pixel */
    const int first_piece;         /* of those of all images */
    place *const cell;             /* of STAGES pieces */
    uint4 *const patch, *const grad;
    int spot[G::x_items], of_x[G::x_items], of_y[G::y_items]; /* dg_dw_products; values behind the cell's */

    /* What is beyond the channels is multiplied, but not stored. */
    __device__ __forceinline__ dg_update_sums(const dg_update_work &w, int from, int co0, int ci0, place *c, uint4 *p,
                                              uint4 *g)
        : W(p, g), a(w.conv), x((const char *)w.x.x + width * (unsigned)min(ci0 + G::x_channel(), a.Ci - E::unit)),
          y((const char *)w.y.x + width * (unsigned)min(co0 + G::y_channel(), a.Co - E::unit)), first_piece(from),
          cell(c), patch(p), grad(g)
    {
#pragma unroll
        for (int j = 0; j < G::x_items; j++) {
            spot[j] = W::spot(j);
            of_x[j] = ((spot[j] & 31) * a.W + (spot[j] >> 5 & 31)) * a.Ci;
        }
#pragma unroll
        for (int j = 0; j < G::y_items; j++)
            of_y[j] = (piece::row(W::position(j)) * a.Wo + piece::col(W::position(j))) * a.Co;
    }

    __device__ __forceinline__ void find_cells(int chunk) const
    {
        if (threadIdx.x >= piece::cells) return;
        const dg_cell c = dg_cell_of((first_piece + chunk) * piece::cells + (int)threadIdx.x, piece::side, a.Ho, a.Wo);
        const bool there = c.image < a.N; /* else so far below that nothing is */
        cell[chunk % STAGES * piece::cells + (int)threadIdx.x] =
            place{there ? ((c.image * a.H + 2 * c.row - 1) * a.W + 2 * c.col - 1) * a.Ci : 0,
                  there ? ((c.image * a.Ho + c.row) * a.Wo + c.col) * a.Co : 0, there ? c.row : 1 << 28, c.col};
    }
    __device__ __forceinline__ void fetch(int chunk) const
    {
        const int stage = chunk % STAGES;
        const place *const cells = cell + stage * piece::cells;
#pragma unroll
        for (int j = 0; j < G::x_items; j++) {
            if (spot[j] < 0) continue;
            const place at = cells[spot[j] >> 10 & 3];
            const int iy = 2 * at.row - 1 + (spot[j] & 31), ix = 2 * at.col - 1 + (spot[j] >> 5 & 31);
            const bool ok = (unsigned)iy < (unsigned)a.H && (unsigned)ix < (unsigned)a.W;
            cp_async16(patch + stage * P::units + (spot[j] >> 12),
                       x + (size_t)(unsigned)(ok ? at.x + of_x[j] : 0) * width, ok);
        }
#pragma unroll
        for (int j = 0; j < G::y_items; j++) {
            const int p = W::position(j);
            const place at = cells[piece::cell(p)];
            const bool ok = at.row + piece::row(p) < a.Ho && at.col + piece::col(p) < a.Wo;
            cp_async16(grad + stage * (G::y_planes * 64) + W::unit_of_y(j),
                       y + (size_t)(unsigned)(ok ? at.y + of_y[j] : 0) * width, ok);
        }
    }
    __device__ __forceinline__ void run(int chunks)
    {
        for (int s = 0; s < STAGES; s++) find_cells(s);
        __syncthreads();
        for (int s = 0; s < STAGES - 1; s++) {
            if (s < chunks) fetch(s);
            cp_async_commit();
        }
#pragma unroll 1
        for (int chunk = 0; chunk < chunks; chunk++) {
            cp_async_wait<STAGES - 2>();
            __syncthreads(); /* this piece is there, for all; nobody reads what is overwritten now */
            if (chunk + STAGES - 1 < chunks) fetch(chunk + STAGES - 1);
            cp_async_commit();
            find_cells(chunk + STAGES);
            W::multiply(chunk % STAGES);
        }
        cp_async_wait<0>();
    }
};

/* One part of one tile's sums. */
template <class E, bool SMALL>
static __device__ __forceinline__ void dg_update_mma(const dg_update_work &w, int tile, int part, float *out)
{
    typedef dg_dw_tile<E, float, SMALL> G;
    static constexpr int STAGES = DG_UPDATE_STAGES(E::scaled, E::unit);
    typedef dg_update_sums<G, STAGES> job_type;
    static_assert(G::NT == DG_UPDATE_THREADS, "a block is a block");
    const int co0 = tile % w.rows * G::M, ci0 = tile / w.rows * G::N;
    const int first = (int)((int64_t)w.units * part / w.parts), last = (int)((int64_t)w.units * (part + 1) / w.parts);
    dev_pool pool;
    uint4 *const patch = pool.take<uint4>(STAGES * G::patch::units), *const grad = pool.take<uint4>(STAGES *
                                                                                                    G::y_planes * 64);
    SHARED(typename job_type::place, cell, [STAGES * G::patch::piece::cells]);
    job_type job(w, first, co0, ci0, cell, patch, grad);
    job.run(last - first);
    job.store(w.conv, out, co0, ci0);
}

/* The same of pictures. */
template <class E>
static __device__ __forceinline__ void dg_update_thin_mma(const dg_update_work &w, int tile, int part, float *out)
{
    static_assert(DG_THIN_MMA_DW_THREADS == DG_UPDATE_THREADS, "a block is a block");
    const int first = (int)((int64_t)w.units * part / w.parts), last = (int)((int64_t)w.units * (part + 1) / w.parts);
    dev_pool pool;
    float *const shared = pool.take<float>((size_t)(w.conv.Ci == 1 ? DG_THIN_DW_WORDS(1) : DG_THIN_DW_WORDS(3)));
    auto run = [&](auto channels, auto as_is) {
        dg_thin_mma_dw_part<E, decltype(channels)::value, decltype(as_is)::value>(w.conv, w.x.x, w.y, w.per_group,
                                                                                  tile * DG_THIN_CHANNELS, first, last,
                                                                                  shared, out);
    };
    auto of = [&](auto as_is) {
        if (w.conv.Ci == 1) run(std::integral_constant<int, 1>(), as_is);
        else run(std::integral_constant<int, 3>(), as_is);
    };
    if constexpr (E::there && !E::scaled) {
        if (E::unit != 8 || !w.y.rounded || w.y.kind != DG_PROLOGUE_PLAIN) of(std::false_type());
        else if constexpr (E::unit == 8) of(std::true_type());
    }
}

#endif
