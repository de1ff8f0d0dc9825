/* What the kernels of fused launches share: sources, sinks, and the block that comes last. See fuse.h. */
#ifndef DG_FUSE_CUH
#define DG_FUSE_CUH

#include "cuda.cuh"
extern "C" {
#include "fuse_parts.h"
}

/* ---- Launchers ---- */

/* tune: of the convolution's op. */
void dg_fused_conv_launch(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream); /* fused_conv.cu */
void dg_fused_mma_fwd(const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream);
void dg_fused_mma_dx(const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream);
void dg_fused_thin(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, cudaStream_t stream);
void dg_fused_dense(const dg_fused_conv *f, cudaStream_t stream);
void dg_fused_head_launch(const dg_fused_head *h, cudaStream_t stream);
void dg_fused_update_launch(const dg_fused_update *u, cudaStream_t stream);

/* ---- The last of several blocks ---- */

/* Whole block. What this block wrote is seen by the one of `expected` blocks that comes last, which alone gets true and
 * leaves the counter at 0. Sums that it makes of the others' work have an order of their own, so that it does not matter
 * which one it is. */
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

/* ---- Sources ---- */

/* A source's channel as at most two factors and a term: scale x + shift, below 0 times factor (plain and norm);
 * scale x + tilt pre + shift (norm_dx). */
struct dg_channel {
    float scale, tilt, shift;
};

static __device__ __forceinline__ dg_channel dg_channel_of(const dg_source &s, int group, int c, int C)
{
    if (s.kind == DG_SOURCE_PLAIN) return {1, 0, 0};
    const int at = group * C + c;
    const float scale = s.gamma[c] * s.rstd[at], mean = s.mean[at];
    if (s.kind == DG_SOURCE_NORM) return {scale, 0, s.beta[c] - mean * scale};
    const float *const total = s.totals + 2 * group * C + c;
    return {scale, -scale * total[C], scale * (mean * total[C] - total[0])};
}

/* The value itself; pre is read for norm_dx alone. factor: 1 for plain. */
static __device__ __forceinline__ float dg_one_value(const dg_channel &k, float x, float factor)
{
    const float z = k.scale * x + k.shift;
    return z > 0 ? z : factor * z;
}
static __device__ __forceinline__ float dg_two_value(const dg_channel &k, float x, float pre) { return k.scale * x + k.tilt * pre + k.shift; }

/* ---- Sinks ---- */

/* One result that needs no sums. y: of act_dx. */
static __device__ __forceinline__ float dg_sink_act(const dg_sink &s, float v)
{
    if (s.act == DG_ACT_TANH) return tanhf(v);
    return v > 0 || s.act == DG_ACT_NONE ? v : s.act == DG_ACT_RELU ? (v != v ? v : 0) : s.slope * v;
}
static __device__ __forceinline__ float dg_sink_act_dx(const dg_sink &s, float v, float y)
{
    if (s.act == DG_ACT_TANH) return v * (1 - y * y);
    return y > 0 || s.act == DG_ACT_NONE ? v : s.act == DG_ACT_RELU ? 0 : s.slope * v;
}

/* Two sums of a block for each channel. Blocks are numbered so that those of one group follow one another, `per_group`
 * of them; block b leaves for channel c
 *     stats     mean and sum of squared deviations of its values,   parts[2 (b C + c)] and + 1
 *     norm_dx   sum of g and of g (pre - mean)
 * and, of stats, how many values of a channel it had, at rows[b]. */
static __host__ __device__ __forceinline__ float *dg_parts_of(float *parts, int block, int c, int C) { return parts + 2 * ((int64_t)block * C + c); }
static __host__ __device__ __forceinline__ float *dg_rows_of(float *parts, int blocks, int C) { return parts + 2 * (int64_t)blocks * C; }

/* Whole block of NT threads (a power of two), the one that came last among those of channels c0 .. c0 + channels - 1
 * (a power of two, of which those below C exist): merges the parts of all blocks and finishes the sink. room: 3 * NT
 * doubles of shared memory that nobody uses any more. per_group * groups blocks; values: of a channel, in a group. */
template <int NT>
static __device__ __forceinline__ void dg_sink_merge(const dg_sink &s, float *parts, int c0, int channels, int C, int per_group, double values, double *room)
{
    const int lanes = channels < NT ? channels : NT, slots = NT / lanes, lane = (int)threadIdx.x % lanes, slot = (int)threadIdx.x / lanes;
    const float *const rows = dg_rows_of(parts, per_group * s.groups, C);
    for (int first = c0; first < c0 + channels; first += lanes) {
        const int c = first + lane;
        double dgamma = 0, dbeta = 0;
        for (int g = 0; g < s.groups; g++) {
            double n = 0, a = 0, b = 0; /* stats: values, mean, squared deviations; norm_dx: -, sum g, sum g (pre - mean) */
            for (int k = slot; k < per_group && c < C; k += slots) {
                const float *const part = dg_parts_of(parts, g * per_group + k, c, C);
                const double pa = (double)part[0], pb = (double)part[1];
                if (s.kind == DG_SINK_STATS) {
                    const double m = (double)rows[g * per_group + k], all = n + m;
                    if (m == 0) continue;
                    const double delta = pa - a;
                    b += pb + delta * delta * (n * m / all); /* Chan, Golub & LeVeque 1983, eq. 2.1 */
                    a += delta * (m / all);
                    n = all;
                } else {
                    a += pa;
                    b += pb;
                }
            }
            for (int half = slots / 2; half > 0; half /= 2) {
                __syncthreads();
                if (slot >= half && slot < 2 * half) {
                    double *const to = room + 3 * ((int)threadIdx.x - half * lanes);
                    to[0] = n;
                    to[1] = a;
                    to[2] = b;
                }
                __syncthreads();
                if (slot >= half) continue;
                const double *const from = room + 3 * (int)threadIdx.x;
                if (s.kind == DG_SINK_STATS) {
                    const double m = from[0], all = n + m;
                    if (m > 0) {
                        const double delta = from[1] - a;
                        b += from[2] + delta * delta * (n * m / all);
                        a += delta * (m / all);
                        n = all;
                    }
                } else {
                    a += from[1];
                    b += from[2];
                }
            }
            __syncthreads();
            if (slot || c >= C) continue;
            if (s.kind == DG_SINK_STATS) {
                const double unbiased = values > 1 ? b / (values - 1) : b;
                s.mean[g * C + c] = (float)a;
                s.rstd[g * C + c] = (float)(1 / sqrt(b / values + s.eps));
                s.running_mean[c] = (float)((1 - s.momentum) * (double)s.running_mean[c] + s.momentum * a);
                s.running_var[c] = (float)((1 - s.momentum) * (double)s.running_var[c] + s.momentum * unbiased);
            } else {
                const double rstd = (double)s.rstd[g * C + c];
                dbeta += a;
                dgamma += b * rstd;
                s.totals[2 * g * C + c] = (float)(a / values);
                s.totals[(2 * g + 1) * C + c] = (float)(b * rstd * rstd / values);
            }
        }
        if (slot || c >= C || s.kind == DG_SINK_STATS) continue;
        if (s.dgamma) s.dgamma[c] = (float)dgamma;
        if (s.dbeta) s.dbeta[c] = (float)dbeta;
    }
}

#endif
