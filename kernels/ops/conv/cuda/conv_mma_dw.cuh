/* Weight gradient on tensor cores: M = Co, N = 16 taps x 16 channels of x, the sum over positions of y, a piece at a
 * time. Both sides are read by columns (mma.cuh): y is [plane of Co][position], positions of odd planes exchanged; of x
 * there is the patch, which every tap reads from another first position. A warp has two taps.
 *
 * How a side's values get from memory to registers and become units is the side's matter: dg_dw_plain here, the
 * prologues of a fused launch in fused_update_mma.cuh. A thread has the same channels of all of its values. */
#ifndef DG_CONV_MMA_DW_CUH
#define DG_CONV_MMA_DW_CUH

#include "kernels/ops/conv/cuda/conv_mma.cuh"

/* E: arithmetic (mma.cuh); T: type of the values in memory; SMALL: maps of y up to 4 wide, cells of 4x4. */
template <class E_, class T_, bool SMALL> struct dg_dw_tile {
    typedef E_ E;
    typedef T_ T;
    static constexpr int M = 64, N = 16, NT = 256, MI = M / 16, NJ = 4; /* sums of a warp: 16*MI x (2 taps x 16) */
    static constexpr int y_planes = M / E::unit, x_planes = N / E::unit;
    typedef dg_patch<SMALL, 1, x_planes, true> patch;
    static constexpr int y_items = y_planes * 64 / NT, values = patch::cells * patch::input * patch::input;
    static constexpr int x_items = dg_div_up(values * x_planes, NT);
    static constexpr size_t bytes = DG_MMA_DW_BYTES(SMALL, E::unit);
    static_assert(NT == 8 * 32 && NT % (4 * y_planes) == 0 && NT % (4 * x_planes) == 0 && values % 4 == 0,
                  "a warp has two taps; a thread stays in one plane of y and of x");

    /* This thread's first channel of either side. */
    static __device__ __forceinline__ int x_channel() { return dg_unit_plane<x_planes>((int)threadIdx.x) * E::unit; }
    static __device__ __forceinline__ int y_channel() { return dg_unit_plane<y_planes>((int)threadIdx.x) * E::unit; }
};

/* Where a thread's values of the patch are, in registers. */
template <int ITEMS> struct dg_dw_spots {
    int spot[ITEMS];

    __device__ __forceinline__ int &operator[](int j) { return spot[j]; }
};

/* A side as it lies in memory. E, T: as above; ITEMS: units of a thread. */
template <class E, class T, int ITEMS> struct dg_dw_plain {
    static constexpr bool grouped = false; /* does it want to know an image's group? */
    const T *const from;                   /* this thread's channels of the first pixel */
    const float factor;                    /* of a scaled arithmetic */
    dg_parcel<E, T> item[ITEMS];

    __device__ __forceinline__ dg_dw_plain(const T *first, int shift)
        : from(first), factor(E::scaled ? dg_power_of_two(shift) : 1)
    {}
    __device__ __forceinline__ void begin() {}
    __device__ __forceinline__ void fetch(int j, bool ok, int at, int)
    {
        item[j].fetch_or_zero(ok ? from + at : from, ok);
    }
    /* to(j, unit) for every one. */
    template <class To> __device__ __forceinline__ void put(const To &to) const
    {
#pragma unroll
        for (int j = 0; j < ITEMS; j++) {
            dg_parcel<E, T> value = item[j];
            if (E::scaled)
#pragma unroll
                for (int e = 0; e < E::unit; e++) value.v[e] *= factor;
            to(j, E::round(value.v));
        }
    }
};

/* G: tile; X, Y: prologue of either side; Spots: where a thread's values of the patch are. */
template <class G, class X, class Y, class Spots = dg_dw_spots<G::x_items>> struct dg_dw_job {
    typedef typename G::E E;
    typedef typename G::patch P;
    typedef typename P::piece piece;
    const dg_conv_args &a;
    const int first_piece; /* of those of all images */
    const int &per_group;  /* images */
    dg_cell *const cell;   /* of two pieces, by turns */
    uint4 *const patch, *const grad;
    X x;
    Y y;
    dg_sums<E, G::MI, G::NJ> sums;
    Spots spot;                   /* row, column, cell, unit of a value of the patch; -1: none */
    const uint4 *mine_a, *mine_b; /* this lane's units of the first products */
    int four;

    __device__ __forceinline__ dg_dw_job(const dg_conv_args &args, int from, const int &images, dg_cell *c, uint4 *p,
                                         uint4 *g, const X &of_x, const Y &of_y, const Spots &spots = Spots())
        : a(args), first_piece(from), per_group(images), cell(c), patch(p), grad(g), x(of_x), y(of_y), spot(spots)
    {
        const int warp = (int)threadIdx.x / 32, odd = E::columns_plane_of_a() % 2;
        mine_a = grad + E::columns_plane_of_a() * 64 + (E::column_of_a() ^ odd * 4);
        four = odd ? -4 : 4;
        mine_b = patch + E::columns_plane_of_b() * P::plane + P::of_position(E::column_of_b()) +
                 P::of_tap(warp / 2, warp % 2 * 2);
#pragma unroll
        for (int j = 0; j < G::x_items; j++) {
            const int i = (int)threadIdx.x + j * G::NT, plane = dg_unit_plane<G::x_planes>(i),
                      value = dg_unit_position<G::x_planes>(i);
            const int number = value / (P::input * P::input), row = value % (P::input * P::input) / P::input,
                      col = value % P::input;
            spot[j] = value < G::values
                          ? row | col << 5 | number << 10 | (plane * P::plane + P::at(number, row, col)) << 12
                          : -1;
        }
        find_cells(0);
    }

    /* Where the cells of a piece are, counted from 0 in this block. */
    __device__ __forceinline__ void find_cells(int chunk) const
    {
        if (threadIdx.x >= piece::cells) return;
        dg_cell c = dg_cell_of((first_piece + chunk) * piece::cells + (int)threadIdx.x, piece::side, a.Ho, a.Wo);
        if (X::grouped || Y::grouped) c.group = min(c.image, a.N - 1) / per_group;
        cell[chunk % 2 * piece::cells + (int)threadIdx.x] = c;
    }
    __device__ __forceinline__ uint4 *patch_of(int chunk) const { return patch + chunk % 2 * P::units; }
    __device__ __forceinline__ uint4 *grad_of(int chunk, int j) const
    {
        const int plane = dg_unit_plane<G::y_planes>((int)threadIdx.x);
        return grad + chunk % 2 * (G::y_planes * 64) + plane * 64 + (position(j) ^ plane % 2 * 4);
    }
    static __device__ __forceinline__ int position(int j)
    {
        return dg_unit_position<G::y_planes>((int)threadIdx.x + j * G::NT);
    }

    __device__ __forceinline__ void fetch_piece(int chunk)
    {
        const dg_cell *const cells = cell + chunk % 2 * piece::cells;
        x.begin();
        y.begin();
#pragma unroll
        for (int j = 0; j < G::x_items; j++) {
            if (spot[j] < 0) continue;
            const dg_cell at = cells[spot[j] >> 10 & 3];
            const int iy = 2 * at.row - 1 + (spot[j] & 31), ix = 2 * at.col - 1 + (spot[j] >> 5 & 31);
            const bool ok = at.image < a.N && (unsigned)iy < (unsigned)a.H && (unsigned)ix < (unsigned)a.W;
            x.fetch(j, ok, ((at.image * a.H + iy) * a.W + ix) * a.Ci, at.group);
        }
#pragma unroll
        for (int j = 0; j < G::y_items; j++) {
            const int p = position(j);
            const dg_cell at = cells[piece::cell(p)];
            const int oy = at.row + piece::row(p), ox = at.col + piece::col(p);
            const bool ok = at.image < a.N && oy < a.Ho && ox < a.Wo;
            y.fetch(j, ok, ((at.image * a.Ho + oy) * a.Wo + ox) * a.Co, at.group);
        }
    }
    __device__ __forceinline__ void store_piece(int chunk)
    {
        uint4 *const to_patch = patch_of(chunk);
        x.put([&](int j, const uint4 &u) {
            if (spot[j] >= 0) to_patch[spot[j] >> 12] = u;
        });
        y.put([&](int j, const uint4 &u) { *grad_of(chunk, j) = u; });
    }

    __device__ __forceinline__ void multiply(int chunk)
    {
        const uint4 *const from_a = mine_a + chunk % 2 * (G::y_planes * 64), *const from_b = mine_b +
                                                                                             chunk % 2 * P::units;
#pragma unroll
        for (int k = 0; k < 64 / E::k; k++) {
            uint32_t fa[G::MI][4], fb[2][4];
#pragma unroll
            for (int i = 0; i < G::MI; i++) E::columns_a(fa[i], from_a + i * (16 / E::unit) * 64 + k * E::k, four, 64);
#pragma unroll
            for (int t = 0; t < 2; t++)
                E::columns_b(fb[t], from_b + t * P::phase + P::of_eight(k * E::k / 8), P::four, P::plane);
            sums.add(fa, fb);
        }
    }

    /* The loop of the other directions (dg_mma_run), with its beginning in it: what is here once is a lot of code.
     * Loads are for the step after the next; cells are found a step ahead of their loads. */
    __device__ __forceinline__ void run(int chunks)
    {
        sums.clear();
        for (int chunk = -2; chunk < chunks; chunk++) {
            /* the cells and values of this step are there, and nobody reads what is overwritten in it */
            __syncthreads();
            if (chunk >= 0) multiply(chunk);
            if (chunk >= -1 && chunk + 1 < chunks) store_piece(chunk + 1);
            if (chunk + 2 < chunks) {
                fetch_piece(chunk + 2);
                find_cells(chunk + 3);
            }
        }
    }

    /* All sums to their places among the weights (Co, 16, Ci). */
    __device__ __forceinline__ void store(float *out, int co0, int ci0)
    {
        if (E::scaled) sums.times(dg_power_of_two(-a.shift_x - a.shift_y));
        const int lane = dg_warp_lane(), warp = (int)threadIdx.x / 32;
#pragma unroll
        for (int i = 0; i < 2 * G::MI; i++) {
            const int co = co0 + i * 8 + lane / 4;
            if (co >= a.Co) continue;
#pragma unroll
            for (int j = 0; j < G::NJ; j++) {
                const int ci = ci0 + j % 2 * 8 + lane % 4 * 2;
                float *const w = out + (co * 16 + 2 * warp + j / 2) * a.Ci + ci;
                if (ci < a.Ci)
                    dg_store<2>(w, dg_pack<float, 2>{{sums.c[i / 2][j][i % 2 * 2], sums.c[i / 2][j][i % 2 * 2 + 1]}});
            }
        }
    }
};

#endif
