/* The last layer of D, forward and backward: the logit, the loss, and the gradient through the preceding activation. A
 * thread loads up to KEPT packs of 4 channels at a time. If a thread has at most KEPT packs, the packs stay in
 * registers and x is read only once. Each block stores partial sums of the norm's gradient.
 * Grid: one block per image.
 * Block: slots of `lanes` threads each. A lane has the channels c with c / 4 % lanes == lane. A slot has the pixels p
 * with p % slots == slot.
 * Shared memory: 8 KB.
 * Bound by: latency. Memory traffic is 12 bytes per value of x, or 8 bytes if x is bf16. */
#include "kernels/ops/gan_loss/cross_entropy.cuh"
#include "kernels/fused/fuse.cuh"

static constexpr int THREADS = 256, WARPS = THREADS / 32, KEPT = 8;

/* A thread's values: channels c to c + 3 of KEPT pixels p0, p0 + slots, ... Values of pixels outside of the image are
 * 0. */
struct packs {
    dg_pack<float, 4> x[KEPT], w[KEPT];
};

static __device__ __forceinline__ void load_packs(packs &v, const dg_fused_head &h, int64_t image, int p0, int slots,
                                                  int c)
{
    const int step = slots * h.C, left = c < h.C ? h.pixels - p0 : 0;
    const int64_t first = (image * h.pixels + p0) * h.C + c;
    const float *const w = h.w + (int64_t)p0 * h.C + c;
    v = {};
    if (h.in.rounded) {
#pragma unroll
        for (int i = 0; i < KEPT; i++)
            if (i * slots < left) v.x[i] = dg_load_four(h.in.x, first + i * step, true);
    } else {
#pragma unroll
        for (int i = 0; i < KEPT; i++)
            if (i * slots < left) v.x[i] = dg_load_four(h.in.x, first + i * step, false);
    }
#pragma unroll
    for (int i = 0; i < KEPT; i++)
        if (i * slots < left) v.w[i] = dg_load<4>(w + i * step);
}

struct four_channels {
    dg_channel k[4];
    float mean[4];
};

static __device__ __forceinline__ four_channels channels_of(const dg_fused_head &h, int group, int c)
{
    four_channels f = {};
    if (c >= h.C) return f;
    if (h.in.kind == DG_PROLOGUE_PLAIN) {
#pragma unroll
        for (int e = 0; e < 4; e++) f.k[e].scale = 1;
        return f;
    }
    const int at = group * h.C + c;
    const dg_pack<float, 4> gamma = dg_load<4>(h.in.gamma + c), beta = dg_load<4>(h.in.beta + c),
                            rstd = dg_load<4>(h.in.rstd + at), mean = dg_load<4>(h.in.mean + at);
#pragma unroll
    for (int e = 0; e < 4; e++) {
        const float scale = gamma.v[e] * rstd.v[e];
        f.k[e] = {scale, 0, beta.v[e] - mean.v[e] * scale};
        f.mean[e] = mean.v[e];
    }
    return f;
}

static __device__ __forceinline__ float sum_of_block(float v)
{
    SHARED(float, of_warp, [WARPS]);
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = v;
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < WARPS; i++) sum += of_warp[i];
    return sum;
}

struct alignas(16) head_term {
    double loss, prob;
};
static_assert(sizeof(head_term) == DG_HEAD_TERM_BYTES, "DG_HEAD_TERM_BYTES must be the size of head_term");

/* Called only by the last block. `room` is shared memory for 4 * WARPS doubles. */
static __device__ __forceinline__ void sum_losses(const dg_fused_head &h, double *room, int each)
{
    const int mine = (int)threadIdx.x;
    const head_term *const terms = (const head_term *)h.scratch;
    double sum[4] = {};
    for (int i = mine; i < h.N; i += THREADS) {
        const head_term term = terms[i];
        const bool second = i >= each;
        sum[0] += second ? 0 : term.loss, sum[2] += second ? term.loss : 0;
        sum[1] += second ? 0 : term.prob, sum[3] += second ? term.prob : 0;
    }
    __syncthreads();
#pragma unroll
    for (int q = 0; q < 4; q++) {
        for (int d = 16; d > 0; d /= 2) sum[q] += __shfl_xor_sync(0xffffffffu, sum[q], d);
        if (mine % 32 == 0) room[mine / 32 * 4 + q] = sum[q];
    }
    __syncthreads();
    if (mine >= 2 * h.losses) return;
    double all = 0;
    for (int k = 0; k < WARPS; k++) all += room[k * 4 + mine];
    h.ring[h.state->step % DG_RING].value[mine % 2 ? h.prob[mine / 2] : h.loss[mine / 2]] = dg_quotient(all,
                                                                                                        (double)each);
}

/* `per_group` is the number of images per statistics group. `channels` is a power of two >= C. */
static __global__ void __launch_bounds__(THREADS, 2)
    head_kernel(const dg_fused_head h, int per_group, int log_lanes, int channels)
{
    DEV_CHECK(blockDim.x == THREADS);
    SHARED(double, room, [4 * THREADS]);
    SHARED(float, slope, );
    grid_dependency_wait();
    grid_dependents_launch();
    const int lanes = 1 << log_lanes, lane = (int)threadIdx.x & (lanes - 1), slot = (int)threadIdx.x >> log_lanes,
              slots = THREADS >> log_lanes, image = (int)blockIdx.x;
    const int each = h.losses == 2 ? h.N / 2 : h.N;
    int group = 0;
    for (int first = per_group; image >= first; first += per_group) group++;
    const bool normed = h.in.kind == DG_PROLOGUE_NORM, once = h.C <= 4 * lanes && h.pixels <= KEPT * slots;
    const float factor = normed ? h.in.factor : 1;
    packs v;
    four_channels f;
    float sum = 0;
    for (int c = 4 * lane; c - 4 * lane < h.C; c += 4 * lanes) {
        f = channels_of(h, group, c);
        for (int p = slot; p - slot < h.pixels; p += KEPT * slots) {
            load_packs(v, h, image, p, slots, c);
#pragma unroll
            for (int i = 0; i < KEPT; i++)
#pragma unroll
                for (int e = 0; e < 4; e++) sum += dg_one_value(f.k[e], v.x[i].v[e], factor) * v.w[i].v[e];
        }
    }
    sum = sum_of_block(sum);
    if (threadIdx.x == 0) {
        const dg_loss_term term = dg_cross_entropy_of((double)sum, h.target[image >= each]);
        h.logit[image] = sum;
        h.dlogit[image] = slope = (float)dg_quotient(term.slope, (double)each);
        ((head_term *)h.scratch)[image] = {term.loss, term.prob};
    }
    __syncthreads();

    float *const parts = h.scratch + (size_t)h.N * (DG_HEAD_TERM_BYTES / sizeof(float));
    const float back = slope;
    const bool norm_dx = h.out.kind == DG_EPILOGUE_NORM_DX, act_dx = h.out.kind == DG_EPILOGUE_ACT_DX;
    const float below = h.out.factor;
    float *const shared = (float *)room;
    for (int c = 4 * lane; c - 4 * lane < h.C; c += 4 * lanes) {
        if (!once) f = channels_of(h, group, c);
        float sum_g[4] = {}, sum_gx[4] = {};
        for (int p0 = slot; p0 - slot < h.pixels; p0 += KEPT * slots) {
            if (!once) load_packs(v, h, image, p0, slots, c);
            const int step = slots * h.C, left = c < h.C ? h.pixels - p0 : 0;
            const int64_t first = ((int64_t)image * h.pixels + p0) * h.C + c;
#pragma unroll
            for (int i = 0; i < KEPT; i++) {
                if (i * slots >= left) continue;
                dg_pack<float, 4> g, y = {};
#pragma unroll
                for (int e = 0; e < 4; e++) g.v[e] = back * v.w[i].v[e];
                if (norm_dx) {
#pragma unroll
                    for (int e = 0; e < 4; e++) {
                        const float z = f.k[e].scale * v.x[i].v[e] + f.k[e].shift, less = below * g.v[e];
                        g.v[e] = z > 0 ? g.v[e] : less;
                        sum_g[e] += g.v[e];
                        sum_gx[e] += g.v[e] * (v.x[i].v[e] - f.mean[e]);
                    }
                } else if (act_dx) {
                    y = dg_load<4>(h.out.y + first + i * step);
#pragma unroll
                    for (int e = 0; e < 4; e++) g.v[e] = dg_epilogue_act_dx(h.out, g.v[e], y.v[e]);
                }
                dg_store_four(h.g, first + i * step, h.out.rounded, g);
            }
        }
        if (!norm_dx) continue;
        __syncthreads();
#pragma unroll
        for (int e = 0; e < 4; e++) {
            shared[2 * e * THREADS + threadIdx.x] = sum_g[e];
            shared[(2 * e + 1) * THREADS + threadIdx.x] = sum_gx[e];
        }
        __syncthreads();
        if (slot || c >= h.C) continue;
#pragma unroll
        for (int e = 0; e < 4; e++) {
            dg_pack<float, 2> part = {{sum_g[e], sum_gx[e]}};
            for (int k = 1; k < slots; k++) {
                part.v[0] += shared[2 * e * THREADS + k * lanes + lane];
                part.v[1] += shared[(2 * e + 1) * THREADS + k * lanes + lane];
            }
            dg_store<2>(dg_parts_of(parts, image, c + e, h.C), part);
        }
    }
    const bool last = norm_dx ? dg_epilogue_finish<THREADS>(h.out, parts, h.counters, image, 0, channels, h.C, 1,
                                                            per_group, (float)(per_group * h.pixels), shared)
                              : dg_comes_last(h.counters, (unsigned)h.N);
    if (last) sum_losses(h, room, each);
}

void dg_fused_head_launch(const dg_fused_head *h, cudaStream_t stream)
{
    const int channels = dg_head_channels(h->C);
    int log_lanes = 0;
    while (2 << log_lanes <= THREADS && 4 * (2 << log_lanes) <= channels) log_lanes++;
    KLAUNCH_AFTER(head_kernel, dim3((unsigned)h->N), dim3(THREADS), 0, stream, *h, h->N / h->in.groups, log_lanes,
                  channels);
}
