/* Data gradient of images on tensor cores (the forward pass of G's last layer), with and without prologue and
 * epilogue.
 *
 * The matrix product has M = positions of y, N = 16 taps x CI channels and K = Co. The term r[a, b](ky, kx) is the
 * product of position (a, b) of y and tap (ky, kx). Terms outside of y are 0. A value of x is a sum over four positions
 * of y. For py and px of 0 or 1, step (a, b) computes pixel (2a - 1 + py, 2b - 1 + px) of x as
 *   r[a, b](py, px) + r[a - 1, b](2 + py, px) + r[a, b - 1](py, 2 + px) + r[a - 1, b - 1](2 + py, 2 + px).
 *
 * Four lanes load 16 channels of a position directly into registers. Lane t of these four lanes gets the sums of the
 * taps with kx = t. Shuffles exchange sums between adjacent positions of a row. Each warp computes one row of
 * positions. A warp passes its sums for the next row of pixels to the next warp. The first warp of a block only passes
 * sums, because its row belongs to the previous block. A warp writes its two rows of pixels to shared memory for the
 * epilogue.
 * Tile: up to 17 rows of positions of one image, with all channels. The row above the tile is computed again.
 * Warp tile: one row of y. Each step multiplies 16 positions x 16 channels by 16 CI columns.
 * Shared memory: 1.5 KB per row (0.5 KB if CI = 1), and 1.7 KB per 16 channels of y.
 * Bound by: shared memory. */
#include "kernels/ops/conv/cuda/conv_thin_mma.cuh"
#include "kernels/fused/fuse.cuh"

template <int CI_, bool ROUNDED> struct thin_dx {
    typedef typename std::conditional<ROUNDED, uint16_t, float>::type V;
    typedef dg_quad quad;
    static constexpr int CI = CI_, COLS = DG_THIN_MMA_COLS, CHUNK = DG_THIN_MMA_CHUNK, NT = DG_THIN_MMA_ROWS * 32;
    /* Operand B has `fragments` fragments of 8 columns. A warp passes `handed` sums per position to the next warp. */
    static constexpr int fragments = 2 * CI, handed = 2 * CI;
    static constexpr int chunk_words = fragments * 32 * quad::words;
    static constexpr int slot = 2 * handed * 32;
    static constexpr int line = ((2 * COLS + 1) * CI + 10) / 4 * 4;
    static_assert(COLS == 16 && CHUNK == 16, "each lane must load four channels at two positions");
    static_assert(slot >= 2 * line && slot % 4 == 0,
                  "two rows of pixels must fit into the shared memory that holds the sums");

    struct values {
        typename std::conditional<ROUNDED, quad, dg_pack<float, 4>>::type of[2];
    };
    const V *const y;
    const int there, channels;
    const int Co, chunks;
    values even, odd;
    float c[fragments][4];

    static __device__ __forceinline__ int lane() { return (int)(threadIdx.x % 32); }

    __device__ __forceinline__ thin_dx(const dg_conv_args &a, const float *from, int image, int row, int chunks_)
        : y(reinterpret_cast<const V *>(from) + (((image * a.Ho + row) * a.Wo + lane() / 4) * a.Co + lane() % 4 * 4)),
          there((unsigned)row < (unsigned)a.Ho ? a.Wo - lane() / 4 : 0), channels(a.Co - lane() % 4 * 4), Co(a.Co),
          chunks(chunks_)
    {}
    /* The weights are stored as [chunk][fragment][lane]. */
    template <bool EARLY>
    static __device__ __forceinline__ void load_weights(uint32_t *weight, const dg_conv_args &a, int chunks)
    {
        for (int i = (int)threadIdx.x; i < chunks * CHUNK * CI; i += (int)blockDim.x) {
            const int co = i / (4 * CI) * 4, k = i % (4 * CI) * 4;
            const float *const w = (const float *)a.w + co * 16 * CI + k;
            dg_pack<float, 4> of[4] = {};
            if (co < a.Co)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    of[e] = EARLY ? grid_early_load(reinterpret_cast<const dg_pack<float, 4> *>(w + e * 16 * CI))
                                  : dg_load<4>(w + e * 16 * CI);
#pragma unroll
            for (int m = 0; m < 4; m++) {
                const int v = (k + m) / (4 * CI) * CI + (k + m) % CI, g = (k + m) / CI % 4 * 2 + v % 2;
                const float four[4] = {of[0].v[m], of[1].v[m], of[2].v[m], of[3].v[m]};
                quad::of(four).store(weight +
                                     ((co / CHUNK * fragments + v / 2) * 32 + g * 4 + co % CHUNK / 4) * quad::words);
            }
        }
    }
    /* Returns tanh(v) with an error of 2^-22, which is less than the error of bf16 products. */
    static __device__ __forceinline__ float tanh_of(float v)
    {
        return 1 - 2 * near_reciprocal(1 + near_power(v * 2.88539008f));
    }
    /* Returns this lane's sum of position p (0 or 1) for ky = v / CI and channel v % CI. */
    __device__ __forceinline__ float at(int p, int v) const { return c[v / 2][p * 2 + v % 2]; }

    __device__ __forceinline__ void fetch(values &to, int p0, int chunk) const
    {
#pragma unroll
        for (int p = 0; p < 2; p++) {
            const V *const from = y + (unsigned)((p0 + 8 * p) * Co + chunk * CHUNK);
            to.of[p] = {};
            if (p0 + 8 * p >= there || chunk * CHUNK >= channels) continue;
            if constexpr (ROUNDED) to.of[p] = quad::load(reinterpret_cast<const uint32_t *>(from));
            else to.of[p] = dg_load<4>(from);
        }
    }
    static __device__ __forceinline__ dg_pack<float, 4> widened(const dg_pack<float, 4> &v) { return v; }
    static __device__ __forceinline__ dg_pack<float, 4> widened(const quad &q)
    {
        const dg_pack<float, 2> low = dg_widened(q.w[0]), high = dg_widened(q.w[1]);
        return {{low.v[0], low.v[1], high.v[0], high.v[1]}};
    }
    __device__ __forceinline__ void multiply(const values &from, int p0, int chunk, const dg_prologue &in,
                                             const uint32_t *weight, const float *table)
    {
        const uint32_t *const mine = weight + chunk * chunk_words + lane() * quad::words;
        auto products = [&](const quad(&x)[2]) {
#pragma unroll
            for (int j = 0; j < fragments; j++)
                quad::multiply(c[j], x[0], x[1], quad::load(mine + j * 32 * quad::words));
        };
        if constexpr (ROUNDED)
            if (in.kind != DG_PROLOGUE_NORM) return products(from.of);
        dg_pack<float, 4> x[2] = {widened(from.of[0]), widened(from.of[1])};
        if (in.kind == DG_PROLOGUE_NORM) {
            const float *const numbers = table + chunk * 2 * CHUNK + lane() % 4 * 4;
            const dg_pack<float, 4> scale = dg_load<4>(numbers), shift = dg_load<4>(numbers + CHUNK);
            const float factor = in.factor;
#pragma unroll
            for (int p = 0; p < 2; p++)
#pragma unroll
                for (int e = 0; e < 4; e++) x[p].v[e] = dg_one_value({scale.v[e], 0, shift.v[e]}, x[p].v[e], factor);
        }
        quad to[2];
#pragma unroll
        for (int p = 0; p < 2; p++) to[p] = p0 + 8 * p < there ? quad::of(x[p].v) : quad{};
        products(to);
    }
    __device__ __forceinline__ void first()
    {
        fetch(even, 0, 0);
        fetch(odd, 0, 1);
    }
    __device__ __forceinline__ void add(int p0, const dg_prologue &in, const uint32_t *weight, const float *table)
    {
#pragma unroll
        for (int i = 0; i < 4 * fragments; i++) c[i / 4][i % 4] = 0;
#pragma unroll 1
        for (int chunk = 0; chunk < chunks; chunk += 2) {
            multiply(even, p0, chunk, in, weight, table);
            fetch(even, chunk + 2 < chunks ? p0 : p0 + COLS, chunk + 2 < chunks ? chunk + 2 : 0);
            if (chunk + 1 == chunks) break;
            multiply(odd, p0, chunk + 1, in, weight, table);
            fetch(odd, chunk + 3 < chunks ? p0 : p0 + COLS, chunk + 3 < chunks ? chunk + 3 : 1);
        }
    }
    __device__ __forceinline__ void hand_on(float *to) const
    {
#pragma unroll
        for (int k = 0; k < handed / 2; k++) {
            dg_pack<float, 4> v;
#pragma unroll
            for (int e = 0; e < 4; e++) v.v[e] = at(e / 2, handed + 2 * k + e % 2);
            dg_store<4>(to + (k * 32 + lane()) * 4, v);
        }
    }
    /* Adds this warp's sums to the previous warp's sums in `place`. Overwrites `place` with two rows of pixels,
     * [2][line]. `left` has the sums of the last position, which the next call needs. If `last`, also stores `left`. */
    __device__ __forceinline__ void pixels(float *place, bool last, float (&left)[handed]) const
    {
        const int t = lane() % 4, g = lane() / 4;
        float *const mine_of = place + 4 - CI + (2 * g + t) * CI, *const end_of = place + 4 - CI +
                                                                                  (2 * COLS + t - 2) * CI;
        float u[handed][2];
#pragma unroll
        for (int k = 0; k < handed / 2; k++) {
            const dg_pack<float, 4> above = dg_load<4>(place + (k * 32 + lane()) * 4);
#pragma unroll
            for (int e = 0; e < 4; e++) u[2 * k + e % 2][e / 2] = at(e / 2, 2 * k + e % 2) + above.v[e];
        }
        __syncwarp();
#pragma unroll
        for (int v = 0; v < handed; v++) {
            const int of_row = v / CI * line + v % CI;
#pragma unroll
            for (int p = 0; p < 2; p++) {
                /* lanes 30 and 31 pass the last sum of the previous eight positions */
                const float mine = lane() < 30 ? u[v][p] : p ? u[v][p - 1] : left[v];
                const float other = __shfl_sync(0xffffffffu, mine, (lane() + 30) % 32);
                if (t < 2) mine_of[of_row + 16 * p * CI] = u[v][p] + other;
            }
            left[v] = u[v][1];
            if (last && lane() >= 30) end_of[of_row] = left[v];
        }
        __syncwarp();
    }
};

/* Applies the epilogue to n values of each of rows iy and iy + 1 of x. The rows are read at `from` and from + G::line.
 * The results are stored at indices `row` and row + width of x. Rows outside of x are skipped. */
template <class G>
static __device__ __forceinline__ void write(const dg_fused_conv &f, const float *from, int row, int width, int n,
                                             int iy)
{
    constexpr int BATCH = 4;
    const int lane = G::lane();
    const bool reads = f.out.kind == DG_EPILOGUE_ACT_DX;
    auto each = [&](auto become) {
#pragma unroll 1
        for (int r = 0; r < 2; r++, row += width, from += G::line) {
            if ((unsigned)(iy + r) >= (unsigned)f.conv.H) continue;
            const int first = row + lane;
#pragma unroll 1
            for (int i0 = 0; i0 < n; i0 += 32 * BATCH) {
                float *const x = (float *)f.conv.x + (first + i0);
                const float *const values = from + lane + i0;
                const int left = n - lane - i0;
                float old[BATCH] = {};
                if (reads) {
                    const float *const y = f.out.y + (first + i0);
#pragma unroll
                    for (int k = 0; k < BATCH; k++)
                        if (32 * k < left) old[k] = y[32 * k];
                }
#pragma unroll
                for (int k = 0; k < BATCH; k++) {
                    const float v = become(32 * k < left ? values[32 * k] : 0, old[k]);
                    if (32 * k < left) x[32 * k] = v;
                }
            }
        }
    };
    const bool by_tanh = f.out.act == DG_ACT_TANH;
    if (f.out.kind == DG_EPILOGUE_ACT && by_tanh) each([](float v, float) { return G::tanh_of(v); });
    else if (f.out.kind == DG_EPILOGUE_ACT) each([&](float v, float) { return dg_epilogue_act(f.out, v); });
    else if (reads && by_tanh) each([](float v, float old) { return v * (1 - old * old); });
    else if (reads) each([&](float v, float old) { return dg_epilogue_act_dx(f.out, v, old); });
    else each([](float v, float) { return v; });
}

template <class G> static __device__ __forceinline__ void dx_block(const dg_fused_conv &f, int chunks)
{
    const int rows = (int)(blockDim.x / 32);
    DEV_CHECK(rows == dg_thin_mma_rows(f.conv.Ho));
    constexpr int CI = G::CI;
    dev_pool pool;
    uint32_t *const weight = pool.take<uint32_t>((size_t)(chunks * G::chunk_words));
    float *const table = pool.take<float>((size_t)(chunks * 2 * G::CHUNK));
    /* the shuffle tells the compiler that `warp` is equal in all lanes */
    const int warp = __shfl_sync(0xffffffffu, (int)(threadIdx.x / 32), 0);
    float *const slot = pool.take<float>((size_t)(rows * G::slot)) + warp * G::slot;
    const dg_conv_args &a = f.conv;
    const unsigned down = dg_div_up((unsigned)a.Ho + 1, (unsigned)rows - 1);
    const int image = (int)(blockIdx.x / down), row = (int)(blockIdx.x % down) * (rows - 1) - 1 + warp;
    if (f.early) G::template load_weights<true>(weight, a, chunks);
    grid_dependency_wait();
    grid_dependents_launch();
    if (!f.early) G::template load_weights<false>(weight, a, chunks);
    if (f.in.kind == DG_PROLOGUE_NORM)
        for (int c = (int)threadIdx.x; c < chunks * G::CHUNK; c += (int)blockDim.x) {
            const dg_channel k = c < a.Co ? dg_channel_of(f.in, 0, c, a.Co) : dg_channel{0, 0, 0};
            float *const to = table + c / G::CHUNK * 2 * G::CHUNK + c % G::CHUNK;
            to[0] = k.scale;
            to[G::CHUNK] = k.shift;
        }
    G sums(a, f.in.x, image, row, chunks);
    sums.first();
    __syncthreads();
    float left[G::handed] = {};
#pragma unroll 1
    for (int p0 = 0; p0 < a.Wo; p0 += G::COLS) {
        sums.add(p0, f.in, weight, table);
        if (p0) __syncthreads();
        sums.hand_on(slot);
        __syncthreads();
        if (warp == 0 || row > a.Ho) continue;
        const bool last = p0 + G::COLS >= a.Wo;
        float *const place = slot - G::slot;
        sums.pixels(place, last, left);
        /* column 2 * p0 of x begins at place[4] */
        const int lo = max(0, 2 * p0 - 1) * CI, hi = min(a.W, 2 * (p0 + G::COLS) + (last ? 1 : -1)) * CI, n = hi - lo,
                  iy = 2 * row - 1;
        write<G>(f, place + lo - 2 * p0 * CI + 4, (image * a.H + iy) * a.W * CI + lo, a.W * CI, n, iy);
    }
}

template <class G> static __global__ void __launch_bounds__(G::NT, 1) dx_kernel(const dg_fused_conv f, int chunks)
{
    if constexpr (dg_mma_bf16::there) dx_block<G>(f, chunks);
    else __trap();
}

template <class G> static void launch(const dg_fused_conv *f, bool overlapping, cudaStream_t stream)
{
    const dg_conv_args *a = &f->conv;
    const int chunks = dg_div_up(a->Co, G::CHUNK), rows = dg_thin_mma_rows(a->Ho);
    const dim3 grid((unsigned)(a->N * dg_div_up(a->Ho + 1, rows - 1))), block((unsigned)rows * 32);
    const size_t bytes = DG_THIN_MMA_BYTES(G::CI, a->Co, rows);
    if (overlapping) KLAUNCH_AFTER(dx_kernel<G>, grid, block, bytes, stream, *f, chunks);
    else KLAUNCH(dx_kernel<G>, grid, block, bytes, stream, *f, chunks);
}

void dg_fused_thin_mma_dx(const dg_fused_conv *f, bool overlapping, cudaStream_t stream)
{
    const auto of_one = f->in.rounded ? launch<thin_dx<1, true>> : launch<thin_dx<1, false>>,
               of_three = f->in.rounded ? launch<thin_dx<3, true>> : launch<thin_dx<3, false>>;
    (f->conv.Ci == 1 ? of_one : of_three)(f, overlapping, stream);
}
