/* Unfused weight gradient on tensor cores.
 * Tile: 64 channels of y x 16 taps x 16 channels of x.
 * Shared memory: 37 KB, in small maps 45 KB.
 * Bound by: shared memory and L2. */
#pragma once

#include "kernels/ops/conv/cuda/conv_mma_dw.cuh"

template <class E, int ITEMS> struct dg_dw_side {
    const float *const from;
    const float factor;
    dg_parcel<E, float> item[ITEMS];

    __device__ __forceinline__ dg_dw_side(const float *first, int shift)
        : from(first), factor(E::scaled ? dg_power_of_two(shift) : 1)
    {}
    __device__ __forceinline__ void fetch(int j, bool ok, int at) { item[j].fetch_or_zero(ok ? from + at : from, ok); }
    __device__ __forceinline__ uint4 unit(int j) const
    {
        dg_parcel<E, float> value = item[j];
        if (E::scaled)
#pragma unroll
            for (int e = 0; e < E::unit; e++) value.v[e] *= factor;
        return E::round(value.v);
    }
};

template <class G> struct dg_dw_job : dg_dw_products<G> {
    typedef dg_dw_products<G> W;
    typedef typename G::E E;
    typedef typename G::patch P;
    typedef typename P::piece piece;
    const dg_conv_args &a;
    const int first_piece;
    dg_cell *const cell;
    uint4 *const patch, *const grad;
    dg_dw_side<E, G::x_items> x;
    dg_dw_side<E, G::y_items> y;
    int spot[G::x_items];

    __device__ __forceinline__ dg_dw_job(const dg_conv_args &args, int from, int co0, int ci0, dg_cell *c, uint4 *p,
                                         uint4 *g)
        : W(p, g), a(args), first_piece(from), cell(c), patch(p), grad(g),
          x((const float *)args.x + min(ci0 + G::x_channel(), args.Ci - E::unit), args.shift_x),
          y((const float *)args.y + min(co0 + G::y_channel(), args.Co - E::unit), args.shift_y)
    {
#pragma unroll
        for (int j = 0; j < G::x_items; j++) spot[j] = W::spot(j);
        find_cells(0);
    }

    __device__ __forceinline__ void find_cells(int chunk) const
    {
        if (threadIdx.x >= piece::cells) return;
        cell[chunk % 2 * piece::cells + (int)threadIdx.x] =
            dg_cell_of((first_piece + chunk) * piece::cells + (int)threadIdx.x, piece::side, a.Ho, a.Wo);
    }
    __device__ __forceinline__ void fetch_piece(int chunk)
    {
        const dg_cell *const cells = cell + chunk % 2 * piece::cells;
#pragma unroll
        for (int j = 0; j < G::x_items; j++) {
            if (spot[j] < 0) continue;
            const dg_cell at = cells[spot[j] >> 10 & ((1 << (W::unit_bit - 10)) - 1)];
            const int iy = G::stride(a) * at.row - G::border + (spot[j] & 31),
                      ix = G::stride(a) * at.col - G::border + (spot[j] >> 5 & 31);
            const bool ok = at.image < a.N && (unsigned)iy < (unsigned)a.H && (unsigned)ix < (unsigned)a.W;
            x.fetch(j, ok, ((at.image * a.H + iy) * a.W + ix) * a.Ci);
        }
#pragma unroll
        for (int j = 0; j < G::y_items; j++) {
            if (!W::has_y(j)) continue;
            const int p = W::position(j);
            const dg_cell at = cells[piece::cell(p)];
            const int oy = at.row + piece::row(p), ox = at.col + piece::col(p);
            const bool ok = at.image < a.N && oy < a.Ho && ox < a.Wo;
            y.fetch(j, ok, ((at.image * a.Ho + oy) * a.Wo + ox) * a.Co);
        }
    }
    __device__ __forceinline__ void store_piece(int chunk)
    {
#pragma unroll
        for (int j = 0; j < G::x_items; j++)
            if (spot[j] >= 0) patch[chunk % 2 * P::units + (spot[j] >> W::unit_bit)] = x.unit(j);
#pragma unroll
        for (int j = 0; j < G::y_items; j++)
            if (W::has_y(j)) grad[chunk % 2 * G::y_units + W::unit_of_y(j)] = y.unit(j);
    }

    /* The first two turns of the loop only load and store values, so that the long body is compiled once. */
    __device__ __forceinline__ void run(int chunks)
    {
        for (int chunk = -2; chunk < chunks; chunk++) {
            __syncthreads();
            if (chunk >= 0) W::multiply(chunk % 2);
            if (chunk >= -1 && chunk + 1 < chunks) store_piece(chunk + 1);
            if (chunk + 2 < chunks) {
                fetch_piece(chunk + 2);
                find_cells(chunk + 3);
            }
        }
    }
};

template <class G>
static __device__ __forceinline__ void dg_dw_block(const dg_conv_args &a, float *out, int split, int pieces)
{
    DEV_CHECK(blockDim.x == G::NT);
    typedef typename G::patch P;
    dev_pool pool;
    uint4 *const patch = pool.take<uint4>(2 * P::units), *const grad = pool.take<uint4>(2 * G::y_units);
    SHARED(dg_cell, cell, [2 * P::piece::cells]);
    const int part = (int)blockIdx.z, co0 = (int)blockIdx.x * G::M, ci0 = (int)blockIdx.y * G::N;
    const int first = (int)((int64_t)pieces * part / split), last = (int)((int64_t)pieces * (part + 1) / split);
    dg_dw_job<G> job(a, first, co0, ci0, cell, patch, grad);
    job.run(last - first);
    job.store(a, out + (int64_t)part * a.Co * G::taps * a.Ci, co0, ci0, patch);
}

template <class G>
static __global__ void __launch_bounds__(G::NT) dg_dw_kernel(const dg_conv_args a, float *out, int split, int pieces)
{
    if constexpr (G::E::there) dg_dw_block<G>(a, out, split, pieces);
    else __trap();
}

template <class G> static void dg_dw_launch_tile(const dg_conv_args *a, int split, float *out, cudaStream_t stream)
{
    typedef typename G::patch::piece piece;
    const int cells = a->N * dg_div_up(a->Ho, piece::side) * dg_div_up(a->Wo, piece::side);
    const dim3 grid((unsigned)dg_div_up(a->Co, G::M), (unsigned)dg_div_up(a->Ci, G::N), (unsigned)split);
    KLAUNCH(dg_dw_kernel<G>, grid, dim3(G::NT), G::bytes, stream, *a, out, split, dg_div_up(cells, piece::cells));
}

template <class E> static void dg_dw_launch(const dg_conv_args *a, int split, float *out, cudaStream_t stream)
{
    a->Wo <= DG_MMA_SMALL ? dg_dw_launch_tile<dg_dw_tile<E, true>>(a, split, out, stream)
                          : dg_dw_launch_tile<dg_dw_tile<E, false>>(a, split, out, stream);
}
