/* Weight gradient on tensor cores: M = Co, N = 16 taps x 16 channels of x, the sum over positions of y, a piece at a
 * time. Both sides are read by columns (mma.cuh): y is [plane of Co][position], positions of odd planes exchanged; of x
 * there is the patch, which every tap reads from another first position. A warp has two taps. */
#include "conv_mma.cuh"

template <class E_, class T_, bool SMALL> struct dw_tile {
    typedef E_ E;
    typedef T_ T;
    static constexpr int M = 64, N = 16, NT = 256, MI = M / 16, NJ = 4; /* sums of a warp: 16*MI x (2 taps x 16) */
    static constexpr int y_planes = M / E::unit, x_planes = N / E::unit;
    typedef dg_patch<SMALL, 1, x_planes, true> patch;
    static constexpr int y_items = y_planes * 64 / NT, values = patch::cells * patch::input * patch::input;
    static constexpr int x_items = dg_div_up(values * x_planes, NT);
    static constexpr size_t bytes = DG_MMA_DW_BYTES(SMALL, E::unit);
    static_assert(NT == 8 * 32 && NT % (4 * y_planes) == 0 && values % 4 == 0, "a warp has two taps; a thread stays in one plane of y");
};

template <class G> struct dw_job {
    typedef typename G::E E;
    typedef typename G::T T;
    typedef typename G::patch P;
    typedef typename P::piece piece;
    static constexpr int groups = 1;

    const dg_conv_args &a;
    const int first_piece;        /* of those of all images */
    dg_cell *const cell;          /* of two pieces, by turns */
    uint4 *const patch, *const grad;
    dg_parcel<E, T> x[G::x_items], y[G::y_items];
    dg_sums<E, G::MI, G::NJ> sums;
    const T *from_x[G::x_items], *from_y; /* the channels, of the first pixel */
    int spot[G::x_items];         /* row, column, cell, unit of a value of the patch; -1: none */
    const uint4 *mine_a, *mine_b; /* this lane's units of the first products */
    int four;

    __device__ __forceinline__ dw_job(const dg_conv_args &args, int co0, int ci0, int from, dg_cell *c, uint4 *p, uint4 *g)
        : a(args), first_piece(from), cell(c), patch(p), grad(g)
    {
        const int warp = (int)threadIdx.x / 32, odd = E::columns_plane_of_a() % 2;
        mine_a = grad + E::columns_plane_of_a() * 64 + (E::column_of_a() ^ odd * 4);
        four = odd ? -4 : 4;
        mine_b = patch + E::columns_plane_of_b() * P::plane + P::of_position(E::column_of_b()) + P::of_tap(warp / 2, warp % 2 * 2);
        const int plane = dg_unit_plane<G::y_planes>((int)threadIdx.x);
        from_y = (const T *)a.y + min(co0 + plane * E::unit, a.Co - E::unit); /* what is beyond is multiplied, but not stored */
#pragma unroll
        for (int j = 0; j < G::x_items; j++) {
            const int i = (int)threadIdx.x + j * G::NT, x_plane = dg_unit_plane<G::x_planes>(i), value = dg_unit_position<G::x_planes>(i);
            const int number = value / (P::input * P::input), row = value % (P::input * P::input) / P::input, col = value % P::input;
            from_x[j] = (const T *)a.x + min(ci0 + x_plane * E::unit, a.Ci - E::unit);
            spot[j] = value < G::values ? row | col << 5 | number << 10 | (x_plane * P::plane + P::at(number, row, col)) << 12 : -1;
        }
        find_cells(0);
        find_cells(1);
    }

    /* Where the cells of a piece are, counted from 0 in this block. Done a step ahead of its use. */
    __device__ __forceinline__ void find_cells(int chunk) const
    {
        if (threadIdx.x < piece::cells)
            cell[chunk % 2 * piece::cells + (int)threadIdx.x] = dg_cell_of((first_piece + chunk) * piece::cells + (int)threadIdx.x, piece::side, a.Ho, a.Wo);
    }
    __device__ __forceinline__ uint4 *patch_of(int chunk) const { return patch + chunk % 2 * P::units; }
    __device__ __forceinline__ uint4 *grad_of(int chunk, int j) const
    {
        const int plane = dg_unit_plane<G::y_planes>((int)threadIdx.x);
        return grad + chunk % 2 * (G::y_planes * 64) + plane * 64 + (position(j) ^ plane % 2 * 4);
    }
    static __device__ __forceinline__ int position(int j) { return dg_unit_position<G::y_planes>((int)threadIdx.x + j * G::NT); }

    __device__ __forceinline__ void fetch_piece(int chunk)
    {
        const dg_cell *const cells = cell + chunk % 2 * piece::cells;
#pragma unroll
        for (int j = 0; j < G::x_items; j++) {
            if (spot[j] < 0) continue;
            const dg_cell at = cells[spot[j] >> 10 & 3];
            const int iy = 2 * at.row - 1 + (spot[j] & 31), ix = 2 * at.col - 1 + (spot[j] >> 5 & 31);
            const bool ok = at.image < a.N && (unsigned)iy < (unsigned)a.H && (unsigned)ix < (unsigned)a.W;
            x[j].fetch_or_zero(ok ? from_x[j] + ((at.image * a.H + iy) * a.W + ix) * a.Ci : from_x[j], ok);
        }
#pragma unroll
        for (int j = 0; j < G::y_items; j++) {
            const int p = position(j);
            const dg_cell at = cells[piece::cell(p)];
            const int oy = at.row + piece::row(p), ox = at.col + piece::col(p);
            const bool ok = at.image < a.N && oy < a.Ho && ox < a.Wo;
            y[j].fetch_or_zero(ok ? from_y + ((at.image * a.Ho + oy) * a.Wo + ox) * a.Co : from_y, ok);
        }
    }
    __device__ __forceinline__ void store_piece(int chunk)
    {
#pragma unroll
        for (int j = 0; j < G::x_items; j++) x[j].put_at(patch_of(chunk), spot[j] >> 12);
#pragma unroll
        for (int j = 0; j < G::y_items; j++) y[j].put(grad_of(chunk, j));
    }

    __device__ __forceinline__ void first()
    {
        __syncthreads(); /* the cells are found */
        fetch_piece(0);
        store_piece(0);
        sums.clear();
        __syncthreads(); /* nobody reads the first cells any more */
    }
    /* The cells that are found here are of the fetch after this one: a barrier is in between. */
    __device__ __forceinline__ void fetch(int chunk, int, bool more)
    {
        if (!more) return;
        fetch_piece(chunk + 1);
        find_cells(chunk + 2);
    }
    __device__ __forceinline__ void store(int chunk, int, bool more)
    {
        if (more) store_piece(chunk + 1);
    }
    __device__ __forceinline__ void multiply(int chunk, int)
    {
        const uint4 *const from_a = mine_a + chunk % 2 * (G::y_planes * 64), *const from_b = mine_b + chunk % 2 * P::units;
#pragma unroll
        for (int k = 0; k < 64 / E::k; k++) {
            uint32_t fa[G::MI][4], fb[2][4];
#pragma unroll
            for (int i = 0; i < G::MI; i++) E::columns_a(fa[i], from_a + i * (16 / E::unit) * 64 + k * E::k, four, 64);
#pragma unroll
            for (int t = 0; t < 2; t++) E::columns_b(fb[t], from_b + t * P::phase + P::of_eight(k * E::k / 8), P::four, P::plane);
            sums.add(fa, fb);
        }
    }
};

template <class G> static __global__ void __launch_bounds__(G::NT) dw_kernel(const dg_conv_args a, float *out, int split, int pieces)
{
    DEV_CHECK(blockDim.x == G::NT);
    typedef typename G::patch P;
    dev_pool pool;
    uint4 *const patch = pool.take<uint4>(2 * P::units), *const grad = pool.take<uint4>(2 * G::y_planes * 64);
    SHARED(dg_cell, cell, [2 * P::piece::cells]);
    const int part = (int)blockIdx.z, co0 = (int)blockIdx.x * G::M, ci0 = (int)blockIdx.y * G::N;
    const int first = (int)((int64_t)pieces * part / split), last = (int)((int64_t)pieces * (part + 1) / split);
    dw_job<G> job(a, co0, ci0, first, cell, patch, grad);
    dg_mma_run(job, last - first);

    const int lane = dg_lane(), warp = (int)threadIdx.x / 32;
    out += (int64_t)part * a.Co * 16 * a.Ci;
#pragma unroll
    for (int i = 0; i < 2 * G::MI; i++) {
        const int co = co0 + i * 8 + lane / 4;
        if (co >= a.Co) continue;
#pragma unroll
        for (int j = 0; j < G::NJ; j++) {
            const int ci = ci0 + j % 2 * 8 + lane % 4 * 2;
            float *const w = out + (co * 16 + 2 * warp + j / 2) * a.Ci + ci;
            if (ci < a.Ci) dg_store<2>(w, dg_pack<float, 2>{{job.sums.c[i / 2][j][i % 2 * 2], job.sums.c[i / 2][j][i % 2 * 2 + 1]}});
        }
    }
}

template <class G> static void launch(const dg_conv_args *a, int split, float *out, cudaStream_t stream)
{
    typedef typename G::patch::piece piece;
    const int cells = a->N * dg_div_up(a->Ho, piece::side) * dg_div_up(a->Wo, piece::side);
    const dim3 grid((unsigned)dg_div_up(a->Co, G::M), (unsigned)dg_div_up(a->Ci, G::N), (unsigned)split);
    KLAUNCH(dw_kernel<G>, grid, dim3(G::NT), G::bytes, stream, *a, out, split, dg_div_up(cells, piece::cells));
}

template <class E> static void launch_tile(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream)
{
    a->Wo <= DG_MMA_SMALL ? launch<dw_tile<E, float, true>>(a, tune->split, out, stream)
                          : launch<dw_tile<E, float, false>>(a, tune->split, out, stream);
}

void dg_conv_mma_dw(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream)
{
    tune->math == DG_MATH_BF16 ? launch_tile<dg_mma_bf16>(a, tune, out, stream) : launch_tile<dg_mma_tf32>(a, tune, out, stream);
}
