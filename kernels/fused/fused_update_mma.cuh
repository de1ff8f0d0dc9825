/* Jobs of a fused update on tensor cores: the tiles of conv_mma_dw.cuh, with operands rounded before the launch. */
#pragma once

#include "kernels/ops/conv/cuda/conv_mma_dw.cuh"
#include "kernels/ops/conv/cuda/conv_thin_mma_dw.cuh"
#include "kernels/fused/fuse.cuh"
#include "kernels/fused/fused_update_wgmma.cuh"
extern "C" {
#include "kernels/fused/fused_update.h"
}

/* Copies the rounded operands x and y to shared memory, STAGES - 1 stages ahead, and multiplies them. G is the tile.
 * The struct Products multiplies a tile. */
template <class G, class Products, int STAGES> struct dg_update_sums : Products {
    typedef typename G::E E;
    typedef typename G::piece piece;
    /* The values of x or y that belong to a cell of 8x8 or 4x4 positions. `first` is the offset of the first unit,
     * which in x is part of the border. `outside` is a bit mask of rows and columns outside of the map. */
    struct alignas(8) origin {
        int first;
        uint32_t outside;
    };
    struct alignas(16) place {
        origin x, y;
    };
    /* A 16-byte unit of x or y that this thread copies. `where` has the unit's bits in origin::outside. `to` is an
     * offset in a stage of shared memory, or < 0 if there is no unit. `from` is the offset in units from the cell's
     * first unit. */
    struct item {
        uint32_t where;
        int cell, to, from;
    };
    /* Bit 0 of `outside` marks the row before the cell. Bits 1 to LINES - 1 mark rows of y, or pairs of rows of x. The
     * next LINES bits mark columns. Bit 31 marks a cell outside of all images. */
    static constexpr int LINES = 10;
    static constexpr uint32_t nowhere = 1u << 31;
    static_assert(piece::side + 2 <= LINES && 2 * LINES < 32,
                  "a 32-bit mask must have a bit for each row and each column");
    static __device__ __forceinline__ uint32_t y_bit(int row) { return 2u << row; }
    static __device__ __forceinline__ uint32_t x_bit(int row, int size)
    {
        const int pair = (row + 1 - size % 2) / 2;
        return (row == 0 ? 1u : 0u) | (pair ? 1u << pair : 0u);
    }
    static __device__ __forceinline__ uint32_t outside_of(int first, int size)
    {
        return (first == 0 ? 1u : 0u) | ((1u << LINES) - (2u << min(size - first, LINES - 1)));
    }
    static_assert(G::NT == DG_UPDATE_THREADS, "NT must be the number of threads per block of the optimizer kernel");
    const int N, H, W, Ho, Wo, Ci, Co;
    const uint4 *const x, *const y;
    const int first_piece;
    place *const cell;
    uint4 *const patch, *const grad;
    item of_x[G::x_items], of_y[G::y_items];

    __device__ __forceinline__ dg_update_sums(const dg_update_work &w, int from, int co0, int ci0, place *c, uint4 *p,
                                              uint4 *g)
        : Products(p, g), N(w.conv.N), H(w.conv.H), W(w.conv.W), Ho(w.conv.Ho), Wo(w.conv.Wo), Ci(w.conv.Ci / E::unit),
          Co(w.conv.Co / E::unit), x((const uint4 *)w.x.x), y((const uint4 *)w.y.x), first_piece(from), cell(c),
          patch(p), grad(g)
    {
        const int of_channels[2] = {min((ci0 + G::x_channel()) / E::unit, Ci - 1),
                                    min((co0 + G::y_channel()) / E::unit, Co - 1)};
#pragma unroll
        for (int j = 0; j < G::x_items; j++) {
            const int spot = Products::spot(j);
            const int row = spot & 31, col = spot >> 5 & 31;
            of_x[j] = {nowhere | x_bit(row, H) | x_bit(col, W) << LINES, spot >> 10 & 3, spot >> 12,
                       (row * W + col) * Ci + of_channels[0]};
        }
#pragma unroll
        for (int j = 0; j < G::y_items; j++) {
            const int at = Products::position(j), row = piece::row(at), col = piece::col(at);
            of_y[j] = {nowhere | y_bit(row) | y_bit(col) << LINES, piece::cell(at), Products::unit_of_y(j),
                       (row * Wo + col) * Co + of_channels[1]};
        }
    }

    __device__ __forceinline__ void find_cells(int chunk, int stage) const
    {
        if (threadIdx.x >= piece::cells) return;
        const dg_cell c = dg_cell_of((first_piece + chunk) * piece::cells + (int)threadIdx.x, piece::side, Ho, Wo);
        place p = {{0, nowhere}, {0, nowhere}};
        if (c.image < N) {
            const uint32_t outside = outside_of(c.row, Ho) | outside_of(c.col, Wo) << LINES;
            p.x = {((c.image * H + 2 * c.row - 1) * W + 2 * c.col - 1) * Ci, outside};
            p.y = {((c.image * Ho + c.row) * Wo + c.col) * Co, outside};
        }
        cell[stage * piece::cells + (int)threadIdx.x] = p;
    }
    __device__ __forceinline__ void fetch(int stage) const
    {
        const place *const cells = cell + stage * piece::cells;
        origin from_x[G::x_items], from_y[G::y_items];
#pragma unroll
        for (int j = 0; j < G::x_items; j++) from_x[j] = cells[piece::cells == 1 ? 0 : of_x[j].cell].x;
#pragma unroll
        for (int j = 0; j < G::y_items; j++) from_y[j] = cells[piece::cells == 1 ? 0 : of_y[j].cell].y;
        const auto copy = [](uint4 *to, const uint4 *side, const origin &at, const item &i) {
            const bool ok = !(at.outside & i.where);
            cp_async16(to + i.to, side + (at.first + i.from), ok);
        };
#pragma unroll
        for (int j = 0; j < G::x_items; j++)
            if ((j + 1) * G::NT <= G::values * G::x_planes || of_x[j].to >= 0)
                copy(patch + stage * G::x_units, x, from_x[j], of_x[j]);
#pragma unroll
        for (int j = 0; j < G::y_items; j++) copy(grad + stage * G::y_units, y, from_y[j], of_y[j]);
    }
    __device__ __forceinline__ void run(int chunks)
    {
        for (int s = 0; s < STAGES; s++) find_cells(s, s);
        __syncthreads();
        for (int s = 0; s < STAGES - 1; s++) {
            if (s < chunks) fetch(s);
            cp_async_commit();
        }
#pragma unroll 1
        for (int first = 0; first < chunks; first += STAGES) {
#pragma unroll
            for (int stage = 0; stage < STAGES; stage++) {
                const int chunk = first + stage;
                if (chunk >= chunks) break;
                cp_async_wait<STAGES - 2>();
                E::publish();
                __syncthreads(); /* the stage to multiply is loaded, and the stage that fetch() fills is free */
                if (E::warps > 1) Products::multiply(stage);
                if (chunk + STAGES - 1 < chunks) fetch((stage + STAGES - 1) % STAGES);
                cp_async_commit();
                find_cells(chunk + STAGES, stage);
                if (E::warps == 1) Products::multiply(stage);
                Products::finish();
            }
        }
        cp_async_wait<0>();
    }
};

template <class G, class Products>
static __device__ __forceinline__ void dg_update_tile(const dg_update_work &w, int tile, int part, float *out)
{
    typedef typename G::E E;
    static constexpr int STAGES = DG_UPDATE_STAGES(E::scaled);
    typedef dg_update_sums<G, Products, STAGES> job_type;
    const int co0 = tile % w.rows * G::M, ci0 = tile / w.rows * G::N;
    const int first = dg_update_unit(w, part), last = dg_update_unit(w, part + 1);
    dev_pool pool;
    uint4 *const patch = pool.take<uint4>(STAGES * (G::x_units + G::y_units)), *const grad = patch +
                                                                                             STAGES * G::x_units;
    SHARED(typename job_type::place, cell, [STAGES * G::piece::cells]);
    job_type job(w, first, co0, ci0, cell, patch, grad);
    job.run(last - first);
    job.store(w.conv, out, co0, ci0, patch);
}

template <class E, bool SMALL>
static __device__ __forceinline__ void dg_update_mma(const dg_update_work &w, int tile, int part, float *out)
{
    if constexpr (E::warps > 1) {
        typedef dg_dw_wgmma_tile<E, SMALL> G;
        dg_update_tile<G, dg_dw_wgmma_products<G>>(w, tile, part, out);
    } else {
        typedef dg_dw_tile<E, SMALL> G;
        dg_update_tile<G, dg_dw_products<G>>(w, tile, part, out);
    }
}

template <class E>
static __device__ __forceinline__ void dg_update_thin_mma(const dg_update_work &w, int tile, int part, float *out)
{
    static_assert(DG_THIN_MMA_DW_THREADS == DG_UPDATE_THREADS,
                  "thin_mma and the update kernel must have the same number of threads per block");
    const int first = dg_update_unit(w, part), last = dg_update_unit(w, part + 1);
    dev_pool pool;
    float *const shared = pool.take<float>((size_t)(w.conv.Ci == 1 ? DG_THIN_DW_WORDS(1) : DG_THIN_DW_WORDS(3)));
    auto run = [&](auto channels, auto as_is) {
        dg_thin_mma_dw_part<decltype(channels)::value, decltype(as_is)::value>(w.conv, w.x.x, w.y, w.per_group,
                                                                               tile * DG_THIN_CHANNELS, first, last,
                                                                               shared, out);
    };
    auto of = [&](auto as_is) {
        if (w.conv.Ci == 1) run(std::integral_constant<int, 1>(), as_is);
        else run(std::integral_constant<int, 3>(), as_is);
    };
    if constexpr (E::there && !E::scaled) {
        if (w.y.rounded && w.y.kind == DG_PROLOGUE_PLAIN) of(std::true_type());
        else of(std::false_type());
    }
}
