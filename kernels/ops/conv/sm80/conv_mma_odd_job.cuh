/* Forward passes and data gradients on tensor cores: 3x3 with stride 1, and 1x1 with any stride and no pad. At stride
 * 1, the data gradient is a forward pass with reversed taps and transposed weights. Template parameter G: a
 * dg_odd_tile.
 *
 * If K = 3, cells are 4x4 in all maps, because such cells waste the least work in maps of 7x7 or 14x14. If K = 1, a
 * piece is 64 consecutive positions, which may span rows and images. With a stride, the data gradient also writes the
 * zeros between pixels.
 * Tile: 128 positions x 64 channels (K = 3), or 128 positions x 128 channels (K = 1).
 * Shared memory: 34 KB (K = 3) or 70 KB (K = 1).
 * Bound by: the L2 cache, because weights and values are fp32 in memory. */
#pragma once

#include "kernels/ops/conv/cuda/conv_mma.cuh"

/* For K = 1, a piece has POSITIONS cells of one position each. A patch has PIECES pieces. */
template <int POSITIONS> struct dg_run {
    static constexpr int side = 1, cells = POSITIONS;
    static __device__ __forceinline__ int cell(int p) { return p; }
    static __device__ __forceinline__ int row(int) { return 0; }
    static __device__ __forceinline__ int col(int) { return 0; }
};
template <int POSITIONS, int PIECES, int PLANES_> struct dg_runs {
    typedef dg_run<POSITIONS> piece;
    static constexpr int PLANES = PLANES_, cells = PIECES * POSITIONS, input = 1, scale = 1;
    static constexpr int plane = DG_MMA_UP(cells, 4), units = PLANES * plane;
    static __device__ __forceinline__ int at(int number, int, int) { return number; }
    static __device__ __forceinline__ int of_position(int p) { return p; }
    static __device__ __forceinline__ int of_piece(int number) { return number * POSITIONS; }
    static __device__ __forceinline__ constexpr int of_eight(int q) { return q * 8; }
    static __device__ __forceinline__ constexpr int of_tap(int, int) { return 0; }
};

/* K: side of the kernel. BACK: tile of a data gradient. */
template <int K_, bool BACK> struct dg_odd_tile {
    typedef dg_mma_bf16 E;
    static constexpr bool back = BACK;
    static constexpr int K = K_, M = DG_ODD_M(K, 0), N = DG_ODD_N(K, 0), NT = DG_ODD_THREADS(K, 0), PIECES = M / 64,
                         across = N / 32;
    static constexpr int depth = DG_ODD_DEPTH(K), products = DG_ODD_PRODUCTS(K), groups = K * K * depth / products;
    static constexpr int pair = 2 * E::unit;
    static constexpr int weights = 2 * N, planes = N / E::unit, pitch = BACK ? pair : N;
    static constexpr int portion = products * weights, items = portion / NT, step = NT / weights;
    static constexpr int MI = 4, NJ = 4, blocks = NT == 128 ? 2 : 1;
    typedef typename std::conditional<K == 1, dg_runs<64, PIECES, 2>, dg_patch<true, PIECES, 2, false>>::type patch;
    typedef dg_patch_loader<E, patch, NT, groups> loader;
    static constexpr int half = depth * patch::units;
    static constexpr size_t bytes = DG_ODD_BYTES(K);
    static_assert(NT == PIECES * across * 32 && portion % NT == 0 && NT % weights == 0,
                  "each warp must compute 64 x 32 sums, and all threads must copy the same number of weights");

    static __host__ __device__ __forceinline__ dg_maps from_maps(const dg_conv_args &a)
    {
        return back ? dg_maps{a.Ho, a.Wo, a.Co} : dg_maps{a.H, a.W, a.Ci};
    }
    static __host__ __device__ __forceinline__ dg_maps to_maps(const dg_conv_args &a)
    {
        return back ? dg_maps{a.H, a.W, a.Ci} : dg_maps{a.Ho, a.Wo, a.Co};
    }
    static __device__ __forceinline__ void build(dg_transfer *place, uint4 *p, const dg_conv_args &a,
                                                 const dg_cell *cell)
    {
        const dg_maps from = from_maps(a);
        if (K == 3) return loader::build(place, p, a.N, from.rows, from.cols, from.channels, cell);
        const int i = (int)threadIdx.x, stride = back ? 1 : a.S;
        if (i >= M) return;
        const dg_cell at = cell[i];
        place[i] = {0, -1};
        if (at.image < a.N)
            place[i] = {(unsigned)(((at.image * from.rows + at.row * stride) * from.cols + at.col * stride) *
                                   (from.channels / E::unit)),
                        i * (int)sizeof(uint4)};
        else
            for (int k = 0; k < 2 * 2 * depth; k++) p[i + k * patch::plane] = make_uint4(0, 0, 0, 0);
    }
};

template <class G> struct dg_odd_job {
    typedef typename G::E E;
    typedef typename G::patch P;
    static constexpr int groups = G::groups;

    const int first_pair, pairs;
    typename G::loader loader[G::depth];
    dg_parcel<E, float> parcel[G::items];
    dg_sums<E, G::MI, G::NJ> sums;
    uint4 *patch, *weights;
    const float *from;
    int tap, onward, advance;
    const uint4 *mine_a, *mine_b;

    __device__ __forceinline__ dg_odd_job(const dg_conv_args &a, int n0, int first, int count, const dg_transfer *place,
                                          uint4 *p, uint4 *units)
        : first_pair(first), pairs(count)
    {
        const int i = (int)threadIdx.x % G::weights, n = column();
        const int taps = G::K * G::K;
        int plane, row, at;
#pragma unroll
        for (int d = 0; d < G::depth; d++) loader[d] = typename G::loader((const float *)(G::back ? a.y : a.x), place);
        patch = p + (int)threadIdx.x % 2 * P::plane;
        mine_a = p + P::of_piece(piece()) + dg_plane_of_a() * P::plane + P::of_position(dg_row_of_a());
        if (G::back) {
            plane = dg_unit_plane<G::planes>(i);
            row = dg_unit_position<G::planes>(i);
            mine_b = units + (n / E::unit + dg_columns_plane_of_b()) * G::pitch +
                     (dg_column_of_b() ^ dg_columns_plane_of_b() * 4);
            onward = G::K == 1 ? G::pair * a.Ci : -a.Ci;
            advance = G::depth * taps * G::pair * a.Ci;
            at = ((first * G::pair + row) * taps + taps - 1) * a.Ci + min(n0 + plane * E::unit, a.Ci - E::unit);
        } else {
            plane = i % 2;
            row = i / 2;
            mine_b = units + n + dg_plane_of_b() * G::pitch + (dg_row_of_b() ^ dg_plane_of_b() * 4);
            onward = G::K == 1 ? G::pair : a.Ci;
            advance = G::depth * G::pair;
            at = min(n0 + row, a.Co - 1) * taps * a.Ci + first * G::pair + plane * E::unit;
        }
        tap = (int)threadIdx.x / G::weights;
        weights = units + tap * G::weights + plane * G::pitch + (row ^ plane % 2 * 4);
        from = (const float *)a.w + (at + tap * onward);
    }

    /* True if the chunk has product q. If K = 1, the last chunk may lack some products. */
    __device__ __forceinline__ bool has(int chunk, int q) const { return G::K > 1 || chunk * G::depth + q < pairs; }
    __device__ __forceinline__ void fetch_weights(int chunk, int g)
    {
#pragma unroll
        for (int j = 0; j < G::items; j++)
            if (has(chunk, tap + j * G::step))
                parcel[j].fetch(from + (chunk * advance + (g * G::products + j * G::step) * onward));
    }
    __device__ __forceinline__ void store_weights(int chunk, int g)
    {
#pragma unroll
        for (int j = 0; j < G::items; j++)
            if (has(chunk, tap + j * G::step))
                parcel[j].put(weights + (chunk + g) % 2 * G::portion + j * G::step * G::weights);
    }
    __device__ __forceinline__ void fetch_patch(typename G::loader (&by)[G::depth], int chunk, int g) const
    {
#pragma unroll
        for (int d = 0; d < G::depth; d++)
            if (has(chunk, d)) by[d].fetch(g, first_pair + chunk * G::depth + d);
    }
    __device__ __forceinline__ void put_patch(const typename G::loader (&by)[G::depth], int chunk, int g) const
    {
#pragma unroll
        for (int d = 0; d < G::depth; d++)
            if (has(chunk, d)) by[d].put(patch + chunk % 2 * G::half + d * P::units, g, chunk);
    }

    template <int = 0> static __device__ __forceinline__ void arrive() {}
    __device__ __forceinline__ void copy(int, int, int) const {}
    __device__ __forceinline__ void first(int)
    {
        typename G::loader slice[groups][G::depth];
        fetch_weights(0, 0);
#pragma unroll
        for (int g = 0; g < groups; g++) {
#pragma unroll
            for (int d = 0; d < G::depth; d++) slice[g][d] = loader[d];
            fetch_patch(slice[g], 0, g);
        }
        store_weights(0, 0);
#pragma unroll
        for (int g = 0; g < groups; g++) put_patch(slice[g], 0, g);
        sums.clear();
    }
    __device__ __forceinline__ void fetch(int chunk, int g, bool more)
    {
        if (g + 1 < groups) fetch_weights(chunk, g + 1);
        else if (more) fetch_weights(chunk + 1, 0);
        if (more) fetch_patch(loader, chunk + 1, g);
    }
    __device__ __forceinline__ void store(int chunk, int g, bool more)
    {
        if (g + 1 < groups) store_weights(chunk, g + 1);
        else if (more) store_weights(chunk + 1, 0);
        if (more) put_patch(loader, chunk + 1, g);
    }
    __device__ __forceinline__ void multiply(int chunk, int g)
    {
        const uint4 *const from_a = mine_a + chunk % 2 * G::half, *const from_b = mine_b + (chunk + g) % 2 * G::portion;
#pragma unroll
        for (int q = 0; q < G::products; q++) {
            if (!has(chunk, q)) break;
            const int t = g * G::products + q;
            const uint4 *const at = from_a + (G::K == 1 ? q * P::units : P::of_tap(t / 3, t % 3));
            uint32_t fa[G::MI][4], fb[G::NJ / 2][4];
#pragma unroll
            for (int i = 0; i < G::MI; i++) ldsm_x4(fa[i], at + P::of_eight(2 * i));
#pragma unroll
            for (int j = 0; j < G::NJ / 2; j++) {
                if (!G::back) ldsm_x4(fb[j], from_b + q * G::weights + j * 16);
                else ldsm_x4_trans(fb[j], from_b + q * G::weights + j * 2 * G::pitch);
            }
            sums.add(fa, fb);
        }
    }

    /* column() and result() are as in dg_fwd_job (conv_mma_fwd.cuh). */
    static __device__ __forceinline__ int column() { return (int)threadIdx.x / 32 % G::across * 32; }
    static __device__ __forceinline__ int piece() { return (int)threadIdx.x / 32 / G::across; }
    static __device__ __forceinline__ int result(const dg_conv_args &a, const dg_cell *cell, const dg_maps &to, int i)
    {
        typedef typename P::piece positions;
        const int p = i * 8 + dg_warp_lane() / 4, stride = G::K == 1 && G::back ? a.S : 1;
        const dg_cell at = cell[piece() * positions::cells + positions::cell(p)];
        const int row = at.row + positions::row(p), col = at.col + positions::col(p);
        if (at.image >= a.N || row >= a.Ho || col >= a.Wo) return -1;
        return ((at.image * to.rows + row * stride) * to.cols + col * stride) * to.channels;
    }
};

/* For 1x1 kernels with a stride, stores zeros below and to the right of the pixel at `at`. The lane stores channels n +
 * j and n + j + 1, for j = 0, 8, 16, 24. */
static __device__ __forceinline__ void dg_odd_zeros(float *out, const dg_maps &to, int stride, int at, int n)
{
    const int pixel = at / to.channels, col = pixel % to.cols, row = pixel / to.cols % to.rows;
    for (int k = 1; k < stride * stride; k++) {
        if (row + k / stride >= to.rows || col + k % stride >= to.cols) continue;
        float *const zero = out + at + (k / stride * to.cols + k % stride) * to.channels;
        for (int j = 0; j < 32; j += 8)
            if (n + j < to.channels) dg_store<2>(zero + n + j, dg_pack<float, 2>{{0, 0}});
    }
}

template <class G> static __device__ __forceinline__ void dg_odd_block(const dg_conv_args &a, float *out, int split)
{
    DEV_CHECK(blockDim.x == G::NT);
    typedef typename G::patch P;
    dev_pool pool;
    uint4 *const patch = pool.take<uint4>(2 * G::half), *const weights = pool.take<uint4>(2 * G::portion);
    dg_cell *const cell = pool.take<dg_cell>(P::cells);
    dg_transfer *const place = pool.take<dg_transfer>(G::loader::transfers);
    const dg_maps from = G::from_maps(a), to = G::to_maps(a);
    const int part = (int)blockIdx.z, n0 = (int)blockIdx.y * G::N, pairs = from.channels / G::pair;
    const int first = (int)((int64_t)pairs * part / split), last = (int)((int64_t)pairs * (part + 1) / split);
    if (threadIdx.x < P::cells)
        cell[threadIdx.x] = dg_cell_of((int)(blockIdx.x * P::cells + threadIdx.x), P::piece::side, a.Ho, a.Wo);
    __syncthreads();
    G::build(place, patch, a, cell);
    __syncthreads();
    dg_odd_job<G> job(a, n0, first, last - first, place, patch, weights);
    dg_mma_run(job, dg_div_up(last - first, G::depth));

    const int n = n0 + job.column() + dg_warp_lane() % 4 * 2;
    out += (int64_t)part * a.N * to.rows * to.cols * to.channels;
#pragma unroll
    for (int i = 0; i < 2 * G::MI; i++) {
        const int at = job.result(a, cell, to, i);
        if (at < 0) continue;
        job.sums.store(out + at, i, n, to.channels);
        if (G::K == 1 && G::back && a.S > 1) dg_odd_zeros(out, to, a.S, at, n);
    }
}

template <class G>
static __global__ void __launch_bounds__(G::NT, G::blocks) dg_odd_kernel(const dg_conv_args a, float *out, int split)
{
    if constexpr (G::E::there) dg_odd_block<G>(a, out, split);
    else __trap();
}

template <class G> static void dg_odd_launch(const dg_conv_args *a, int split, float *out, cudaStream_t stream)
{
    const int side = G::patch::piece::side, cells = a->N * dg_div_up(a->Ho, side) * dg_div_up(a->Wo, side);
    const dim3 grid((unsigned)dg_div_up(cells, G::patch::cells), (unsigned)dg_div_up(G::to_maps(*a).channels, G::N),
                    (unsigned)split);
    KLAUNCH(dg_odd_kernel<G>, grid, dim3(G::NT), G::bytes, stream, *a, out, split);
}
