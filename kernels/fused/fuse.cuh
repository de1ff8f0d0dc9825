/* What the kernels of fused launches share: prologues, epilogues, and the block that comes last. See fuse.h. */
#ifndef DG_FUSE_CUH
#define DG_FUSE_CUH

#include "kernels/dev/cuda.cuh"
extern "C" {
#include "core/plan/fuse_launch.h"
}

/* ---- Launchers ---- */

/* tune: of the convolution's op. */
/* fused_conv.cu */
void dg_fused_conv_launch(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream);
void dg_fused_mma_fwd(const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream);
void dg_fused_mma_dx(const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream);
void dg_fused_mma_fp16(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream);
void dg_fused_wgmma(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream);
/* Also of convolutions with nothing around them; overlapping: blocks may begin before the launch in front has ended. */
void dg_fused_thin(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, bool overlapping, cudaStream_t stream);
void dg_fused_thin_mma_fwd(const dg_fused_conv *f, const dg_tune *tune, bool overlapping, cudaStream_t stream);
void dg_fused_thin_mma_dx(const dg_fused_conv *f, const dg_tune *tune, bool overlapping, cudaStream_t stream);
void dg_fused_dense(const dg_fused_conv *f, cudaStream_t stream);
void dg_fused_head_launch(const dg_fused_head *h, cudaStream_t stream);
void dg_fused_update_launch(const dg_fused_update *u, cudaStream_t stream);

/* ---- The last of several blocks ---- */

/* Whole block. What this block wrote is seen by the one of `expected` blocks that comes last, which alone gets true and
 * leaves the counter at 0. Sums that it makes of the others' work have an order of their own, so that it does not
 * matter which one it is. */
static __device__ __forceinline__ bool dg_comes_last(unsigned *counter, unsigned expected)
{
    SHARED(int, last, );
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicAdd(counter, 1u) == expected - 1;
        if (last) atomicExch(counter, 0u);
    }
    __syncthreads();
    const bool mine = last != 0;
    if (mine) __threadfence();
    __syncthreads(); /* the next call may write last again */
    return mine;
}

/* ---- Prologues ---- */

/* A prologue's channel as at most two factors and a term: scale x + shift, below 0 times factor (plain and norm);
 * scale x + tilt pre + shift (norm_dx). */
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

/* The value itself; pre is read for norm_dx alone. factor: 1 for plain. */
static __device__ __forceinline__ float dg_one_value(const dg_channel &k, float x, float factor)
{
    const float z = k.scale * x + k.shift;
    return z > 0 ? z : factor * z;
}
static __device__ __forceinline__ float dg_two_value(const dg_channel &k, float x, float pre)
{
    return k.scale * x + k.tilt * pre + k.shift;
}

/* A thread's four channels of a prologue that it reads again and again: what they need is found when an image of
 * another group comes. */
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
    __device__ __forceinline__ bool two() const { return s.kind == DG_PROLOGUE_NORM_DX; }
};

/* ---- Epilogues ---- */

/* One result that needs no sums. y: of act_dx. */
static __device__ __forceinline__ float dg_epilogue_act(const dg_epilogue &s, float v)
{
    if (s.act == DG_ACT_TANH) return tanhf(v);
    return v > 0 || s.act == DG_ACT_NONE ? v : s.act == DG_ACT_RELU ? (v != v ? v : 0) : s.slope * v;
}
static __device__ __forceinline__ float dg_epilogue_act_dx(const dg_epilogue &s, float v, float y)
{
    if (s.act == DG_ACT_TANH) return v * (1 - y * y);
    return y > 0 || s.act == DG_ACT_NONE ? v : s.act == DG_ACT_RELU ? 0 : s.slope * v;
}

/* Two sums of a block for each channel. Blocks are numbered so that those of one group follow one another, `per_group`
 * of them; block b leaves for channel c
 *     stats     mean and sum of squared deviations of its values,   parts[2 (b C + c)] and + 1
 *     norm_dx   sum of g and of g (pre - mean)
 * and, of stats, how many values of a channel it had, at rows[b], which each column of tiles has its own of. Without
 * any they are all 0. */
static __host__ __device__ __forceinline__ float *dg_parts_of(float *parts, int block, int c, int C)
{
    return parts + 2 * ((int64_t)block * C + c);
}
static __host__ __device__ __forceinline__ float *dg_rows_of(float *parts, int blocks, int C, int column)
{
    return parts + 2 * (int64_t)blocks * C + (int64_t)column * blocks;
}

/* Sums over some parts. Of stats: values, deviations of the parts' means from `shift` (one of them, so that nothing
 * cancels), squares about it. */
struct dg_epilogue_sums {
    double n, a, b;
};

/* Whole block: the parts first .. first + count - 1, of which each slot takes every slots'th; slot 0 gets all. */
template <int NT>
static __device__ __forceinline__ dg_epilogue_sums dg_add_parts(dg_epilogue_kind kind, float *parts, const float *rows,
                                                                int first, int count, int c, int C, int lanes,
                                                                float shift, double *room)
{
    constexpr int BATCH = 8; /* loads in flight: these parts come from afar */
    const int slots = NT / lanes, slot = (int)threadIdx.x / lanes;
    dg_epilogue_sums sums = {0, 0, 0};
    for (int at = slot; at < count && c < C; at += BATCH * slots) {
        dg_pack<float, 2> part[BATCH];
        float n[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; i++) {
            const int k = at + i * slots;
            part[i] = k < count ? dg_load<2>(dg_parts_of(parts, first + k, c, C)) : dg_pack<float, 2>{};
            n[i] = k < count && kind == DG_EPILOGUE_STATS ? rows[first + k] : 0;
        }
#pragma unroll
        for (int i = 0; i < BATCH; i++) {
            if (kind != DG_EPILOGUE_STATS) {
                sums.a += (double)part[i].v[0];
                sums.b += (double)part[i].v[1];
            } else if (n[i] > 0) {
                const double m = (double)n[i], d = (double)part[i].v[0] - (double)shift;
                sums.n += m;
                sums.a += m * d;
                sums.b += (double)part[i].v[1] + m * d * d;
            }
        }
    }
    __syncthreads();
    double *const mine = room + 3 * (int)threadIdx.x;
    mine[0] = sums.n;
    mine[1] = sums.a;
    mine[2] = sums.b;
    __syncthreads();
    if (slot) return sums;
    for (int k = 1; k < slots; k++) {
        sums.n += mine[3 * k * lanes];
        sums.a += mine[3 * k * lanes + 1];
        sums.b += mine[3 * k * lanes + 2];
    }
    return sums;
}

/* What an epilogue's sums come to in one group, for channel c. */
static __device__ __forceinline__ void dg_epilogue_write(const dg_epilogue &s, int group, int c, int C,
                                                         const dg_epilogue_sums &sums, float shift, double values)
{
    const int at = group * C + c;
    if (s.kind == DG_EPILOGUE_STATS) {
        const double mean = (double)shift + sums.a / values, m2 = sums.b - sums.a * sums.a / values;
        const double unbiased = values > 1 ? m2 / (values - 1) : m2;
        s.mean[at] = (float)mean;
        s.rstd[at] = (float)(1 / sqrt(m2 / values + s.eps));
        s.running_mean[c] = (float)((1 - s.momentum) * (double)s.running_mean[c] + s.momentum * mean);
        s.running_var[c] = (float)((1 - s.momentum) * (double)s.running_var[c] + s.momentum * unbiased);
    } else {
        const double rstd = (double)s.rstd[at];
        s.totals[2 * group * C + c] = (float)(sums.a / values);
        s.totals[(2 * group + 1) * C + c] = (float)(sums.b * rstd * rstd / values);
    }
}

/* Whole block of NT threads (a power of two), behind its parts for channels c0 .. c0 + channels - 1 (a power of two, of
 * which those below C exist) of column c0 / channels: the last block of the column merges them all and finishes the
 * epilogue. Where there are many, the last of each cluster of neighbours first makes one part of theirs. True in the
 * last block of all. scratch: dg_epilogue_bytes (fuse_launch.h), begins with the parts; counters: dg_epilogue_counters
 * of the column's own; block: its number; values: of a channel, in a group; room: 3 * NT doubles of shared memory that
 * nobody uses any more. */
template <int NT>
static __device__ __forceinline__ bool dg_epilogue_finish(const dg_epilogue &s, float *scratch, unsigned *counters,
                                                          int block, int c0, int channels, int C, int columns,
                                                          int per_group, double values, double *room)
{
    const int lanes = channels < NT ? channels : NT, lane = (int)threadIdx.x % lanes, slot = (int)threadIdx.x / lanes,
              column = c0 / channels;
    float *parts = scratch;
    const float *rows = dg_rows_of(parts, per_group * s.groups, C, column);
    const int clusters = dg_epilogue_clusters(per_group, s.groups);
    if (clusters) { /* two steps */
        float *const next = scratch + dg_parts_bytes(per_group * s.groups, columns, C) / sizeof(float);
        const int group = block / per_group, which = block % per_group / DG_EPILOGUE_CLUSTER,
                  to = group * clusters + which;
        const int first = group * per_group + which * DG_EPILOGUE_CLUSTER,
                  left = per_group - which * DG_EPILOGUE_CLUSTER;
        const int count = left < DG_EPILOGUE_CLUSTER ? left : DG_EPILOGUE_CLUSTER;
        if (!dg_comes_last(counters + 1 + to, (unsigned)count)) return false;
        for (int c = c0 + lane; c < c0 + channels; c += lanes) {
            const float shift = s.kind == DG_EPILOGUE_STATS && c < C ? *dg_parts_of(parts, first, c, C) : 0;
            const dg_epilogue_sums sums = dg_add_parts<NT>(s.kind, parts, rows, first, count, c, C, lanes, shift, room);
            if (slot || c >= C) continue;
            const bool stats = s.kind == DG_EPILOGUE_STATS, some = stats && sums.n > 0;
            const dg_pack<float, 2> part = {{some    ? (float)((double)shift + sums.a / sums.n)
                                             : stats ? 0
                                                     : (float)sums.a,
                                             some ? (float)(sums.b - sums.a * sums.a / sums.n) : (float)sums.b}};
            dg_store<2>(dg_parts_of(next, to, c, C), part);
            if (stats && c == c0) dg_rows_of(next, clusters * s.groups, C, column)[to] = (float)sums.n;
        }
        parts = next;
        per_group = clusters;
        rows = dg_rows_of(parts, per_group * s.groups, C, column);
    }
    if (!dg_comes_last(counters, (unsigned)(per_group * s.groups))) return false;
    for (int c = c0 + lane; c < c0 + channels; c += lanes) {
        double dgamma = 0, dbeta = 0;
        for (int g = 0; g < s.groups; g++) {
            const float shift = s.kind == DG_EPILOGUE_STATS && c < C ? *dg_parts_of(parts, g * per_group, c, C) : 0;
            const dg_epilogue_sums sums = dg_add_parts<NT>(s.kind, parts, rows, g * per_group, per_group, c, C, lanes,
                                                           shift, room);
            if (slot || c >= C) continue;
            dg_epilogue_write(s, g, c, C, sums, shift, values);
            dbeta += sums.a;
            if (s.kind == DG_EPILOGUE_NORM_DX) dgamma += sums.b * (double)s.rstd[g * C + c];
        }
        if (slot || c >= C || s.kind != DG_EPILOGUE_NORM_DX) continue;
        if (s.dgamma) s.dgamma[c] = (float)dgamma;
        if (s.dbeta) s.dbeta[c] = (float)dbeta;
    }
    return true;
}

#endif
