/* Device code of fused launches (fused.h): prologues, epilogues, and the election of the last block. */
#pragma once

#include "kernels/dev/cuda.cuh"
#include "kernels/dev/divide.cuh"
extern "C" {
#include "kernels/fused/fuse_launch.h"
}

void dg_fused_conv_launch(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream);
void dg_fused_mma_bf16(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream);
void dg_fused_mma_fp16(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream);
void dg_fused_wgmma(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream);
/* Launchers of fused convolutions. If `overlapping`, blocks may begin before the previous launch has ended. */
void dg_fused_thin(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, bool overlapping, cudaStream_t stream);
void dg_fused_thin_mma_fwd(const dg_fused_conv *f, bool overlapping, cudaStream_t stream);
void dg_fused_thin_mma_dx(const dg_fused_conv *f, bool overlapping, cudaStream_t stream);
void dg_fused_dense(const dg_fused_conv *f, cudaStream_t stream);
void dg_fused_head_launch(const dg_fused_head *h, cudaStream_t stream);
void dg_fused_update_launch(const dg_fused_update *u, cudaStream_t stream);
void dg_round_weights(const dg_rounded *r, cudaStream_t stream);
/* Rounds operand x (side 0) or y (side 1) of a weight gradient. */
void dg_round_factors(const dg_update_job *j, int side, cudaStream_t stream);

/* Returns true only in the last of `expected` blocks, which sees all earlier writes of the other blocks. All threads of
 * a block must call this function. The last block resets the counter to 0. One thread's fence between two barriers is
 * sufficient. The fence also orders what other threads wrote before the first barrier (PTX ISA, "Causality order"). */
static __device__ __forceinline__ bool dg_comes_last(unsigned *counter, unsigned expected)
{
    SHARED(int, last, );
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(counter, 1u) == expected - 1;
        if (last) {
            atomicExch(counter, 0u);
            __threadfence();
        }
    }
    __syncthreads();
    return last != 0;
}

/* A prologue's coefficients for one channel. Prologues plain and norm compute z = scale x + shift. Negative z are
 * multiplied by `factor`. Prologue norm_dx computes scale x + tilt pre + shift. */
struct dg_channel {
    float scale, tilt, shift;
};

static __device__ __forceinline__ dg_channel dg_channel_of(const dg_prologue &s, int group, int c, int C)
{
    if (s.kind == DG_PROLOGUE_PLAIN) return {1, 0, 0};
    const int at = group * C + c;
    const float scale = s.gamma[c] * s.rstd[at], mean = s.mean[at];
    if (s.kind == DG_PROLOGUE_NORM) return {scale, 0, s.beta[c] - mean * scale};
    const float *const total = s.totals + 2 * group * C + c;
    return {scale, -scale * total[C], scale * (mean * total[C] - total[0])};
}

/* The factor is at most 1, so the result is max(z, factor z). */
static __device__ __forceinline__ float dg_one_value(const dg_channel &k, float x, float factor)
{
    const float z = k.scale * x + k.shift;
    return fmaxf(z, factor * z);
}
/* Computes dg_one_value() with one operation fewer. The arguments are k = dg_channel_bent(...) and bend = (1 - factor)
 * / (1 + factor). */
static __device__ __forceinline__ dg_channel dg_channel_bent(const dg_channel &k, float factor)
{
    const float unit = 0.5f * (1 + factor);
    return {k.scale * unit, k.tilt * unit, k.shift * unit};
}
static __device__ __forceinline__ float dg_bent_value(const dg_channel &k, float x, float bend)
{
    const float z = k.scale * x + k.shift;
    return fmaf(fabsf(z), bend, z);
}
static __device__ __forceinline__ float dg_two_value(const dg_channel &k, float x, float pre)
{
    return k.scale * x + (k.tilt * pre + k.shift);
}

static __device__ __forceinline__ dg_pack<float, 2> dg_widened(uint32_t v)
{
    return {{__uint_as_float(v << 16), __uint_as_float(v & 0xffff0000u)}};
}
/* Loads x[at] to x[at + 3]. Index `at` must be a multiple of 4. If `rounded`, x is stored as bf16 (fused.h). */
static __device__ __forceinline__ dg_pack<float, 4> dg_load_four(const float *x, int64_t at, bool rounded)
{
    if (!rounded) return dg_load<4>(x + at);
    const dg_pack<uint32_t, 2> v = dg_load<2>(
        reinterpret_cast<const uint32_t *>(reinterpret_cast<const uint16_t *>(x) + at));
    const dg_pack<float, 2> low = dg_widened(v.v[0]), high = dg_widened(v.v[1]);
    return {{low.v[0], low.v[1], high.v[0], high.v[1]}};
}

static __device__ __forceinline__ void dg_store_four(void *x, int64_t at, bool rounded, const dg_pack<float, 4> &v)
{
    if (!rounded) return dg_store<4>(static_cast<float *>(x) + at, v);
    dg_store<2>(reinterpret_cast<uint32_t *>(static_cast<uint16_t *>(x) + at),
                dg_pack<uint32_t, 2>{{to_bf16x2(v.v[0], v.v[1]), to_bf16x2(v.v[2], v.v[3])}});
}

struct dg_four {
    const dg_prologue &s;
    const int c, C;
    int group;
    dg_channel k[4];

    __device__ __forceinline__ dg_four(const dg_prologue &of, int channel, int channels)
        : s(of), c(channel), C(channels), group(-1)
    {}
    __device__ __forceinline__ void of_group(int g)
    {
        if (g == group) return;
        group = g;
#pragma unroll
        for (int e = 0; e < 4; e++) k[e] = dg_channel_of(s, s.groups == 1 ? 0 : g, c + e, C);
    }
    __device__ __forceinline__ dg_pack<float, 4> value(const dg_pack<float, 4> &x, const dg_pack<float, 4> &pre) const
    {
        const float below = s.kind == DG_PROLOGUE_NORM ? s.factor : 1;
        dg_pack<float, 4> v;
#pragma unroll
        for (int e = 0; e < 4; e++)
            v.v[e] = s.kind == DG_PROLOGUE_NORM_DX ? dg_two_value(k[e], x.v[e], pre.v[e])
                                                   : dg_one_value(k[e], x.v[e], below);
        return v;
    }
    __device__ __forceinline__ dg_pack<float, 4> one(const dg_pack<float, 4> &x) const
    {
        const float below = s.kind == DG_PROLOGUE_NORM ? s.factor : 1;
        dg_pack<float, 4> v;
#pragma unroll
        for (int e = 0; e < 4; e++) v.v[e] = dg_one_value(k[e], x.v[e], below);
        return v;
    }
    __device__ __forceinline__ bool two() const { return s.kind == DG_PROLOGUE_NORM_DX; }
};

/* The activation must have the property `fused` (core/plan/act.h). */
static __device__ __forceinline__ float dg_epilogue_act(const dg_epilogue &s, float v)
{
    switch (s.act) {
    case DG_ACT_TANH: return tanhf(v);
    case DG_ACT_NONE:
    case DG_ACT_RELU:
    case DG_ACT_LEAKY: break;
    }
    return v > 0 || s.act == DG_ACT_NONE ? v : s.act == DG_ACT_RELU ? (v != v ? v : 0) : s.slope * v;
}
static __device__ __forceinline__ float dg_epilogue_act_dx(const dg_epilogue &s, float v, float y)
{
    switch (s.act) {
    case DG_ACT_TANH: return v * (1 - y * y);
    case DG_ACT_NONE:
    case DG_ACT_RELU:
    case DG_ACT_LEAKY: break;
    }
    return y > 0 || s.act == DG_ACT_NONE ? v : s.act == DG_ACT_RELU ? 0 : s.slope * v;
}

/* Returns the address of a block's two partial sums for channel c. For epilogue stats, the partial sums are the mean
 * and the sum of squared deviations. For norm_dx, the partial sums are sum g and sum g (pre - mean). The blocks of a
 * statistics group have consecutive numbers. For epilogue stats, dg_rows_of() returns each block's number of values
 * per channel, which is 0 in a block of a cluster whose warps have no results. */
static __host__ __device__ __forceinline__ float *dg_parts_of(float *parts, int block, int c, int C)
{
    return parts + 2 * ((int64_t)block * C + c);
}
static __host__ __device__ __forceinline__ float *dg_rows_of(float *parts, int blocks, int C, int column)
{
    return parts + 2 * (int64_t)blocks * C + (int64_t)column * blocks;
}

/* Merged partial sums of two adjacent channels. For stats, n is the number of values, a is the sum of (value - shift),
 * and b is the sum of (value - shift)^2. To avoid cancellation, `shift` is the mean of the first block with values. */
struct dg_merged {
    float n, shift[2], a[2], b[2];
};

/* Merges the partial sums of blocks first to first + count - 1. All threads of a block must call this function. The
 * threads are divided into slots of `lanes` threads. Slot s adds the sums of every slots-th block, beginning with block
 * first + s. Slot 0 returns the total. Loads in batches of eight reduce the latency. */
template <int NT>
static __device__ __forceinline__ dg_merged dg_merge_parts(bool stats, float *parts, const float *rows, int first,
                                                           int count, int c, int C, int lanes, float *room)
{
    constexpr int BATCH = 8;
    const int slots = NT / lanes, slot = (int)(threadIdx.x / lanes);
    dg_merged m = {};
    if (stats && c < C) {
        dg_pack<float, 4> part = dg_load<4>(dg_parts_of(parts, first, c, C));
        float n = rows[first];
#pragma unroll 1
        for (int i = first + 1; n == 0 && i < first + count; i++) /* the mean of a block without values is 0 */
            part = dg_load<4>(dg_parts_of(parts, i, c, C)), n = rows[i];
        m.shift[0] = part.v[0], m.shift[1] = part.v[2];
    }
    const float *from = dg_parts_of(parts, first + slot, c, C), *values = rows + first + slot;
    const int64_t step = 2 * (int64_t)slots * C;
    int left = c < C ? (count - slot + slots - 1) / slots : 0;
    auto add = [&](auto batch) {
        constexpr int B = decltype(batch)::value;
        dg_pack<float, 4> part[B];
        float n[B];
#pragma unroll
        for (int i = 0; i < B; i++, from += step, values += slots) {
            const bool there = B > 2 || i < left;
            part[i] = there ? dg_load<4>(from) : dg_pack<float, 4>{};
            n[i] = !there ? 0 : stats ? *values : 1;
        }
#pragma unroll
        for (int i = 0; i < B; i++) {
            m.n += n[i];
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const float d = part[i].v[2 * e] - m.shift[e], weighted = n[i] * d;
                m.a[e] += weighted;
                m.b[e] += part[i].v[2 * e + 1] + weighted * (stats ? d : 0);
            }
        }
        left -= B;
    };
#pragma unroll 1
    while (left >= BATCH) add(std::integral_constant<int, BATCH>());
#pragma unroll 1
    while (left > 0) add(std::integral_constant<int, 2>());
    __syncthreads();
    dg_store<4>(room + 4 * threadIdx.x, dg_pack<float, 4>{{m.a[0], m.b[0], m.a[1], m.b[1]}});
    room[4 * NT + threadIdx.x] = m.n;
    __syncthreads();
    if (slot) return m;
#pragma unroll 4
    for (int k = (int)threadIdx.x + lanes; k < NT; k += lanes) {
        const dg_pack<float, 4> v = dg_load<4>(room + 4 * k);
        m.a[0] += v.v[0], m.b[0] += v.v[1], m.a[1] += v.v[2], m.b[1] += v.v[3];
        m.n += room[4 * NT + k];
    }
    return m;
}

static __device__ __forceinline__ void dg_epilogue_write(const dg_epilogue &s, int group, int c, int C,
                                                         const dg_merged &m, float values)
{
    const float momentum = (float)s.momentum;
#pragma unroll
    for (int e = 0; e < 2; e++) {
        const int at = group * C + c + e;
        const float a = dg_quotient(m.a[e], values);
        if (s.kind == DG_EPILOGUE_STATS) {
            const float mean = m.shift[e] + a, squares = m.b[e] - m.a[e] * a;
            s.mean[at] = mean;
            const float of_root = dg_quotient(squares, values) + (float)s.eps;
            s.rstd[at] = dg_quotient(1, dg_square_root(fmaxf(of_root, FLT_MIN)));
            if (!s.running_mean) continue;
            s.running_mean[c + e] = (1 - momentum) * s.running_mean[c + e] + momentum * mean;
            s.running_var[c + e] = (1 - momentum) * s.running_var[c + e] +
                                   momentum * dg_quotient(squares, fmaxf(values - 1, 1));
        } else {
            const float rstd = s.rstd[at];
            s.totals[2 * group * C + c + e] = a;
            s.totals[(2 * group + 1) * C + c + e] = dg_quotient(m.b[e], values) * (rstd * rstd);
        }
    }
}

/* If there are clusters, returns true in the last block of each cluster. Without clusters, returns true in the last
 * block of the column of tiles. All threads of a block must call this function after they have stored the block's
 * partial sums. `block` is the block's number in its statistics group. */
static __device__ __forceinline__ bool dg_epilogue_last(const dg_epilogue &s, unsigned *counters, int block, int group,
                                                        int clusters, int per_group)
{
    const int which = block / DG_EPILOGUE_CLUSTER,
              expected = clusters ? min(per_group - which * DG_EPILOGUE_CLUSTER, (int)DG_EPILOGUE_CLUSTER)
                                  : per_group * s.groups;
    return dg_comes_last(clusters ? counters + 1 + group * clusters + which : counters, (unsigned)expected);
}

/* Merges the partial sums of channels c0 to c0 + channels - 1. In large statistics groups, each cluster first merges
 * its blocks' sums. Called by the NT threads of a block for which dg_epilogue_last() returned true. The last block of
 * a column of tiles finishes the epilogue and returns true. NT and channels are powers of two. `scratch` has
 * dg_epilogue_bytes() bytes (fuse_launch.h) and begins with the partial sums. `counters` has the
 * dg_epilogue_counters() counters of this column of tiles. `clusters` is the number of clusters per statistics group.
 * `values` is the number of values per channel and statistics group. `room` is shared memory for 5 * NT floats. */
template <int NT>
static __device__ __forceinline__ bool dg_epilogue_merge(const dg_epilogue &s, float *scratch, unsigned *counters,
                                                         int block, int group, int c0, int channels, int C, int columns,
                                                         int clusters, int per_group, float values, float *room)
{
    const bool stats = s.kind == DG_EPILOGUE_STATS;
    const int lanes = min(channels / 2, NT), mine = c0 + ((int)threadIdx.x & (lanes - 1)) * 2, column = c0 / channels;
    const bool writes = (int)threadIdx.x < lanes;
    const int which = block / DG_EPILOGUE_CLUSTER, to = group * clusters + which;
    const int of_cluster = min(per_group - which * DG_EPILOGUE_CLUSTER, (int)DG_EPILOGUE_CLUSTER);
    float *const merged = scratch + dg_parts_bytes(per_group * s.groups, columns, C) / sizeof(float);
#pragma unroll 1
    for (int last = !clusters; last < 2; last++) {
        if (last && clusters && !dg_comes_last(counters, (unsigned)(clusters * s.groups))) return false;
        float *const parts = last && clusters ? merged : scratch;
        const int each = last && clusters ? clusters : per_group, runs = last ? s.groups : 1;
        const int begin = last ? 0 : group * per_group + which * DG_EPILOGUE_CLUSTER;
        const int count = last ? each : of_cluster;
        const float *const rows = dg_rows_of(parts, each * s.groups, C, column);
#pragma unroll 1
        for (int c = mine; c < c0 + channels; c += 2 * lanes) {
            float dgamma[2] = {}, dbeta[2] = {};
#pragma unroll 1
            for (int g = 0; g < runs; g++) {
                const dg_merged m = dg_merge_parts<NT>(stats, parts, rows, begin + g * each, count, c, C, lanes, room);
                if (!writes || c >= C) continue;
                if (last) {
                    dg_epilogue_write(s, g, c, C, m, values);
#pragma unroll
                    for (int e = 0; e < 2; e++) {
                        dbeta[e] += m.a[e];
                        if (!stats) dgamma[e] += m.b[e] * s.rstd[g * C + c + e];
                    }
                    continue;
                }
                dg_pack<float, 4> part;
#pragma unroll
                for (int e = 0; e < 2; e++) {
                    const float a = stats ? dg_quotient(m.a[e], m.n) : m.a[e];
                    part.v[2 * e] = m.shift[e] + a;
                    part.v[2 * e + 1] = stats ? m.b[e] - m.a[e] * a : m.b[e];
                }
                dg_store<4>(dg_parts_of(merged, to, c, C), part);
                if (stats && c == c0) dg_rows_of(merged, clusters * s.groups, C, column)[to] = m.n;
            }
            if (!last || stats || !writes || c >= C) continue;
#pragma unroll
            for (int e = 0; e < 2; e++) {
                if (s.dgamma) s.dgamma[c + e] = dgamma[e];
                if (s.dbeta) s.dbeta[c + e] = dbeta[e];
            }
        }
    }
    return true;
}

template <int NT>
static __device__ __forceinline__ bool dg_epilogue_finish(const dg_epilogue &s, float *scratch, unsigned *counters,
                                                          int block, int c0, int channels, int C, int columns,
                                                          int per_group, float values, float *room)
{
    const int clusters = dg_epilogue_clusters(per_group, s.groups, channels);
    int group = 0;
    if (clusters)
        for (; block >= per_group; block -= per_group) group++;
    return dg_epilogue_last(s, counters, block, group, clusters, per_group) &&
           dg_epilogue_merge<NT>(s, scratch, counters, block, group, c0, channels, C, columns, clusters, per_group,
                                 values, room);
}
