/* Fused convolutions on tensor cores (fused.h): conv_mma_fwd.cuh and conv_mma_dx.cuh with a prologue and an epilogue.
 * The prologue is applied to a value when the value is stored in shared memory. The weights are rounded before the
 * launch.
 * Tile: as in conv_mma_fwd.cuh and conv_mma_dx.cuh.
 * Shared memory: as in conv_mma_fwd.cuh and conv_mma_dx.cuh, plus 16 bytes, plus 8 or 12 bytes per summed channel.
 * Weights have four pipeline stages instead of two if a stage has 8 KB. With warpgroups, a split sum needs at least the
 * size of a tile's sums (fused_mma_join.cuh).
 * Bound by: shared memory, and the latency of the epilogue's sums over blocks. */
#pragma once

#include "kernels/fused/fused_mma_join.cuh"
#include "kernels/ops/conv/cuda/conv_mma_instance.cuh"

/* Kernel arguments. The blocks of a statistics group have consecutive numbers. A block's tile consists of cells, which
 * are squares of 8x8 or 4x4 positions. The group's last block may have unused cells. */
struct dg_fused_mma {
    dg_conv_args conv;
    dg_prologue in;
    float bend;
    dg_epilogue out;
    int groups, per_group;
    int merged, clusters;
    float values; /* number of results per channel and group */
    int split, channels;
    const void *rounded;
    void *factors;
    unsigned share; /* mask of the rounded input's slices that blocks with blockIdx.y = 0 store */
    bool early;
    float *result, *sums, *parts;
    unsigned *columns, *tiles;
};

static __device__ __forceinline__ dg_channel dg_channel_times(const dg_channel &k, int shift)
{
    const float by = dg_power_of_two(shift);
    return {k.scale * by, k.tilt * by, k.shift * by};
}

template <class G>
static __device__ __forceinline__ void dg_fused_table(float *table, const dg_prologue &s, int group, int first,
                                                      int count, int C, int shift)
{
    static constexpr int unit = G::E::unit, numbers = G::loader::numbers;
    for (int i = (int)threadIdx.x; i < count; i += G::NT) {
        dg_channel k = dg_channel_of(s, s.groups == 1 ? 0 : group, first + i, C);
        if (G::E::scaled) k = dg_channel_times(k, shift);
        if (G::loader::bent) k = dg_channel_bent(k, s.factor);
        float *const to = table + i / unit * unit * numbers + i % unit;
        to[0] = k.scale;
        to[unit] = k.shift;
        if (numbers == 3) to[2 * unit] = k.tilt;
    }
}

/* With i = lane / 4, returns the sum of v[i] over the lanes with equal lane % 4. */
static __device__ __forceinline__ float dg_fold(const float (&v)[8])
{
    const int lane = dg_warp_lane();
    float four[4], two[2];
#pragma unroll
    for (int q = 0; q < 4; q++) {
        const float give = lane & 16 ? v[q] : v[q + 4], keep = lane & 16 ? v[q + 4] : v[q];
        four[q] = keep + __shfl_xor_sync(0xffffffffu, give, 16);
    }
#pragma unroll
    for (int q = 0; q < 2; q++) {
        const float give = lane & 8 ? four[q] : four[q + 2], keep = lane & 8 ? four[q + 2] : four[q];
        two[q] = keep + __shfl_xor_sync(0xffffffffu, give, 8);
    }
    const float give = lane & 4 ? two[0] : two[1], keep = lane & 4 ? two[1] : two[0];
    return keep + __shfl_xor_sync(0xffffffffu, give, 4);
}

/* Returns the sum of column threadIdx.x of the block's tile. `v` has this lane's sum of each of its columns. `room` is
 * shared memory for Job::shares * N floats. All threads of the block must call this function. */
template <class Job, class G>
static __device__ __forceinline__ float dg_column_sum(const float (&v)[2 * G::NJ], float *room, dg_own_warps own)
{
    static_assert(G::exchanged == 0 || Job::shares == G::NT / 32,
                  "with warpgroups, Job::shares must equal the number of warps");
    const int q = (int)(threadIdx.x % 32 / 4), column = Job::column() + q / 2 * 8 + (int)(threadIdx.x % 4) * 2 + q % 2;
    if (own.mine)
#pragma unroll
        for (int k = 0; k < 2 * G::NJ; k += 8) {
            const float eight[8] = {v[k], v[k + 1], v[k + 2], v[k + 3], v[k + 4], v[k + 5], v[k + 6], v[k + 7]};
            room[Job::share() * G::N + column + k * 4] = dg_fold(eight);
        }
    __syncthreads();
    float sum = 0;
    if (threadIdx.x < G::N) sum = dg_own_sum<Job, G>(room + threadIdx.x, G::N, own);
    return sum;
}

/* Not inlined, because few blocks call dg_fused_merge(). */
template <int NT>
static __device__ DEV_NOINLINE void dg_fused_merge(dg_epilogue s, float *sums, unsigned *counters, int block, int group,
                                                   int n0, int channels, int C, int clusters, int per_group,
                                                   float values, float *room)
{
    dg_epilogue_merge<NT>(s, sums, counters, block, group, n0, channels, C, (int)gridDim.y, clusters, per_group, values,
                          room);
}

/* Applies the epilogue to a lane's results and stores them. For epilogue norm_dx, also adds to the two sums of each
 * column (`first`, `second`). If WHOLE, all columns of the tile are in range. `at` has the index of each row's first
 * channel, which is negative for rows out of range. `n` is the lane's first column. */
template <class G, bool WHOLE, class Sums, int ROWS>
static __device__ __forceinline__ void dg_fused_leave(const dg_fused_mma &f, Sums &sums, const int (&at)[ROWS],
                                                      int group, int n, int C, float (&first)[2 * G::NJ],
                                                      float (&second)[2 * G::NJ])
{
    const dg_epilogue &s = f.out;
    const bool gradient = s.kind == DG_EPILOGUE_NORM_DX, before = gradient || s.kind == DG_EPILOGUE_ACT_DX;
    static constexpr bool bf16 = !G::E::scaled;
    const int stat = (s.groups == 1 ? 0 : group) * C;
    const float factor = s.factor;
    if (before) {
#pragma unroll
        for (int j = 0; j < G::NJ; j++) {
            const int c = n + j * 8;
            if (!WHOLE && c >= C) continue;
            dg_pack<float, 2> pre[ROWS]; /* rows out of range load from index 0, to avoid a branch */
            if (bf16 && s.rounded_y) {
                const uint16_t *const y = reinterpret_cast<const uint16_t *>(s.pre);
#pragma unroll
                for (int i = 0; i < ROWS; i++)
                    pre[i] = dg_widened(*reinterpret_cast<const uint32_t *>(y + (max(at[i], 0) + n) + j * 8));
            } else {
#pragma unroll
                for (int i = 0; i < ROWS; i++) pre[i] = dg_load<2>(s.pre + (max(at[i], 0) + n) + j * 8);
            }
            if (!gradient) {
#pragma unroll
                for (int q = 0; q < 2 * ROWS; q++) {
                    float &v = sums.c[q / 4][j][q % 4];
                    const float below = factor * v;
                    v = pre[q / 2].v[q % 2] > 0 ? v : below;
                }
                continue;
            }
            const dg_pack<float, 2> mean = dg_load<2>(s.mean + stat + c), rstd = dg_load<2>(s.rstd + stat + c),
                                    gamma = dg_load<2>(s.gamma + c), beta = dg_load<2>(s.beta + c);
#pragma unroll
            for (int q = 0; q < 2 * ROWS; q++) {
                const int e = q % 2, i = q / 2;
                float &v = sums.c[q / 4][j][q % 4];
                const float d = pre[i].v[e] - mean.v[e], z = d * (gamma.v[e] * rstd.v[e]) + beta.v[e],
                            below = factor * v;
                v = z > 0 ? v : below;
                v = at[i] < 0 ? 0 : v;
                first[j * 2 + e] += v;
                second[j * 2 + e] += v * d;
            }
        }
    }
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        if (at[i] < 0) continue;
        if (bf16 && s.rounded) sums.template store_rounded<WHOLE>(f.result, at[i], i, n, C);
        else sums.template store<WHOLE>(f.result + at[i], i, n, C);
    }
}

/* Applies the epilogue to a block's results. All threads of the block must call this function. `n0` is the first
 * channel of the tile. `room` is shared memory that is unused after the main loop. */
template <class Job, class G, class Sums>
static __device__ __forceinline__ void dg_fused_results(const dg_fused_mma &f, Sums &sums, const dg_cell *cell,
                                                        int group, int n0, float *room, dg_own_warps own)
{
    static_assert(G::NJ % 4 == 0, "the number of columns per lane must be a multiple of eight");
    static_assert(G::NT >= G::N, "each column of a tile needs its own thread");
    static constexpr int rows = 2 * G::MI;
    const dg_epilogue &s = f.out;
    const dg_maps to = Job::to_maps(f.conv);
    const int C = to.channels, mine = Job::column() + (int)(threadIdx.x % 4) * 2, n = n0 + mine;
    const int blocks = G::exchanged > 0 ? (int)gridDim.z : 1;
    int at[rows];
    float first[2 * G::NJ] = {}, second[2 * G::NJ] = {};
    if (own.mine) {
#pragma unroll
        for (int i = 0; i < rows; i++) at[i] = Job::result(f.conv, cell, i);
        if (n0 + G::N <= C) dg_fused_leave<G, true>(f, sums, at, group, n, C, first, second);
        else dg_fused_leave<G, false>(f, sums, at, group, n, C, first, second);
    }
    if (s.kind != DG_EPILOGUE_STATS && s.kind != DG_EPILOGUE_NORM_DX) return;

    const int c = n0 + (int)threadIdx.x, number = (int)blockIdx.x * blocks + (blocks > 1 ? (int)blockIdx.z : 0);
    float *const other = room + Job::shares * G::N;
    dg_pack<float, 2> part;
    if (s.kind == DG_EPILOGUE_STATS) {
        float *const there = other + G::N; /* number of rows in range, per warp */
        int missing = 0;
        if (own.mine) {
#pragma unroll
            for (int i = 0; i < rows; i++) missing -= at[i] >> 31;
#pragma unroll
            for (int d = 4; d < 32; d *= 2) missing += __shfl_xor_sync(0xffffffffu, missing, d);
            if (Job::column() == 0 && dg_warp_lane() == 0) there[Job::share()] = (float)(8 * rows - missing);
        }
        auto each = [&](auto f) {
#pragma unroll
            for (int q = 0; q < 2 * G::NJ; q++)
#pragma unroll
                for (int i = 0; i < rows; i++) f(q, i, sums.c[i / 2][q / 2][i % 2 * 2 + q % 2]);
        };
        if (own.mine && !missing) each([&](int q, int, float v) { first[q] += v; });
        else if (own.mine) each([&](int q, int i, float v) { first[q] += at[i] < 0 ? 0 : v; });
        part.v[0] = dg_column_sum<Job, G>(first, room, own);
        if (threadIdx.x < G::N) {
            const float values = dg_own_sum<Job, G>(there, 1, own);
            other[threadIdx.x] = part.v[0] /= fmaxf(values, 1);
            if (threadIdx.x == 0) dg_rows_of(f.sums, (int)gridDim.x * blocks, C, (int)blockIdx.y)[number] = values;
        }
        __syncthreads();
        auto square = [&](int q, float v) {
            const float d = v - other[mine + q / 2 * 8 + q % 2];
            return d * d;
        };
        if (own.mine && !missing) each([&](int q, int, float v) { second[q] += square(q, v); });
        else if (own.mine) each([&](int q, int i, float v) { second[q] += at[i] < 0 ? 0 : square(q, v); });
        part.v[1] = dg_column_sum<Job, G>(second, room, own);
    } else {
        part.v[0] = dg_column_sum<Job, G>(first, room, own);
        part.v[1] = dg_column_sum<Job, G>(second, other, own);
    }
    if (threadIdx.x < G::N && c < C) dg_store<2>(dg_parts_of(f.sums, number, c, C), part);
    unsigned *const counters = f.columns + (int)blockIdx.y * (1 + f.clusters * s.groups);
    const int of = s.groups == 1 ? 0 : group, block = number - of * f.merged;
    if (dg_epilogue_last(s, counters, block, of, f.clusters, f.merged))
        dg_fused_merge<G::NT>(s, f.sums, counters, block, of, n0, G::N, C, f.clusters, f.merged, f.values, room);
}

template <class Job, class G> static __device__ __forceinline__ void dg_fused_block(const dg_fused_mma &f)
{
    DEV_CHECK(blockDim.x == G::NT);
    typedef typename G::patch P;
    typedef typename P::piece piece;
    static constexpr int factors = 2 * P::units + G::stages * G::portion;
    static_assert(factors >= 5 * G::NT / 4 && factors >= 2 * Job::shares * G::N / 4,
                  "the sums of the epilogue must fit into the shared memory of the operands");
    dev_pool pool;
    uint4 *const patch = pool.take<uint4>(f.split > 1 ? max(factors, G::exchanged) : factors);
    uint4 *const weights = patch + 2 * P::units;
    dg_cell *const cell = pool.take<dg_cell>(P::cells);
    dg_transfer *const place = pool.take<dg_transfer>(G::loader::transfers);
    float *const table = pool.take<float>((size_t)(f.channels * G::loader::numbers));
    const dg_conv_args &a = f.conv;
    const dg_maps from = Job::from_maps(a), to = Job::to_maps(a);
    const int part = (int)blockIdx.z, n0 = (int)blockIdx.y * G::N, chunks = (int)((unsigned)from.channels / G::chunk);
    const int most = (int)((unsigned)f.channels / G::chunk), first = dg_fused_part(chunks, part, f.split, most),
              last = dg_fused_part(chunks, part + 1, f.split, most);
    int group = 0, block = (int)blockIdx.x;
    for (; block >= f.per_group; block -= f.per_group) group++;
    if (threadIdx.x < P::cells) {
        const int rows = dg_div_up(to.rows, Job::step), cols = dg_div_up(to.cols, Job::step);
        const int cells = a.N / f.groups * dg_div_up(rows, piece::side) * dg_div_up(cols, piece::side);
        const int number = block * P::cells + (int)threadIdx.x;
        cell[threadIdx.x] = number < cells ? dg_cell_of(group * cells + number, piece::side, rows, cols)
                                           : dg_cell{a.N, 0, 0};
    }
    __syncthreads();
    G::loader::build(place, patch, a.N, from.rows, from.cols, from.channels, cell);
    Job job(a, f.rounded, n0, first, place, patch, weights);
    if (f.early) job.template first_weights<true>(last - first);
    grid_dependency_wait(); /* before this call, the kernel reads only weights */
    if constexpr (G::loader::numbers != 0)
        dg_fused_table<G>(table, f.in, group, first * G::chunk, (last - first) * G::chunk, from.channels,
                          Job::shift(a));
    __syncthreads();
    job.loader.map(f.in.pre, table, G::loader::bent ? f.bend : f.in.factor);
    job.loader.keep(f.factors, f.share);
    dg_mma_run(job, last - first);
    grid_dependents_launch();
    float *const room = reinterpret_cast<float *>(patch);
    const dg_own_warps own = dg_own_warps::of<G>();
    if (f.split > 1) {
        if constexpr (G::exchanged > 0) dg_cluster_join<G>(job.sums, room, own.mine);
        else if (!dg_fused_join<G>(job.sums, f.parts, f.tiles)) return;
    }
    if (G::E::scaled) job.sums.times(dg_power_of_two(-Job::shift(a)));
    dg_fused_results<Job, G>(f, job.sums, cell, group, n0, room, own);
}

template <class Job, class G>
static __global__ void __launch_bounds__(G::NT, G::blocks) fused_kernel(const dg_fused_mma f)
{
    if constexpr (G::E::fused) dg_fused_block<Job, G>(f);
    else __trap();
}

template <class Job, class G>
static void dg_fused_launch(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream)
{
    const dg_fused_mma_grid g = dg_fused_mma_grid_of(kind, f, tune);
    dg_fused_mma k = {};
    k.conv = f->conv;
    (kind == DG_OP_conv_fwd ? k.conv.x : k.conv.y) = const_cast<float *>(f->in.x);
    k.in = f->in;
    if (f->in.kind != DG_PROLOGUE_NORM) k.in.factor = 1;
    k.bend = (1 - k.in.factor) / (1 + k.in.factor);
    if (f->in.kind != DG_PROLOGUE_NORM_DX) k.in.pre = f->in.x;
    k.out = f->out;
    if (f->out.kind == DG_EPILOGUE_ACT_DX) { /* the kernel treats act_dx as norm_dx without a norm */
        k.out.factor = (float)dg_act_factor(f->out.act, (double)f->out.slope);
        k.out.pre = f->out.y;
    }
    k.rounded = f->rounded;
    k.factors = f->factors;
    for (int i = 0; i < 32 && f->factors; i += g.columns) k.share |= 1u << i;
    k.early = f->early;
    k.groups = g.groups;
    k.per_group = g.per_group;
    k.merged = g.merged;
    k.clusters = dg_epilogue_clusters(k.merged, f->out.groups, G::N);
    const dg_maps to = Job::to_maps(f->conv);
    k.values = (float)(f->conv.N / f->out.groups * to.rows * to.cols);
    k.split = tune->split;
    k.channels = g.channels;
    k.result = (float *)(kind == DG_OP_conv_fwd ? f->conv.y : f->conv.x);
    k.sums = f->scratch;
    k.parts = f->scratch + g.sum_bytes / sizeof(float);
    k.columns = f->counters;
    k.tiles = f->counters + g.sum_counters;
    const dim3 grid((unsigned)g.blocks, (unsigned)g.columns, (unsigned)tune->split);
    if (G::exchanged > 0 && tune->split > 1)
        KLAUNCH_CLUSTER((fused_kernel<Job, G>), grid, dim3(G::NT), g.shared, stream, k);
    else KLAUNCH_AFTER((fused_kernel<Job, G>), grid, dim3(G::NT), g.shared, stream, k);
}

/* For each arithmetic, a bit mask of the prologues with compiled kernels. The enum in conv_mma.cuh defines the bits. */
enum {
    DG_FUSED_MAPS = 1 << DG_ONE_TENSOR | 1 << DG_TWO_TENSORS,
    DG_FUSED_MAPS_BF16 = 1 << DG_TWO_TENSORS | 1 << DG_ROUNDED | 1 << (DG_ROUNDED | DG_ONE_TENSOR) |
                         1 << (DG_ROUNDED | DG_TWO_TENSORS)
};

template <class E, int MAPS, int MAP = 0>
static void dg_fused_mma_as(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream)
{
    const bool plain = f->in.kind == DG_PROLOGUE_PLAIN, any = !f->in.rounded && !(MAPS >> DG_ONE_TENSOR & 1);
    const int tensors = f->in.kind == DG_PROLOGUE_NORM_DX || any ? DG_TWO_TENSORS
                        : plain && f->in.rounded                 ? DG_AS_IS
                                                                 : DG_ONE_TENSOR,
              map = (f->in.rounded ? DG_ROUNDED : 0) | tensors;
    if constexpr ((MAPS >> MAP & 1) != 0)
        if (map == MAP)
            return dg_mma_instance<E, MAP>(kind, f->conv.Wo <= DG_MMA_SMALL, tune, [=](auto which) {
                typedef decltype(which) of;
                dg_fused_launch<typename of::job, typename of::tile>(kind, f, tune, stream);
            });
    if constexpr (MAPS >> (MAP + 1) != 0) dg_fused_mma_as<E, MAPS, MAP + 1>(kind, f, tune, stream);
}
