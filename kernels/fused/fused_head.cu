/* The last layer of D from its input to the gradient of that: a block an image. It reads x once, as at most KEPT packs
 * of 4 channels a thread at a time, which stay in registers if they are all that there are; the product with w gives
 * the logit, the logit the gradient, and that times w goes back through the norm whose sums the block leaves as one
 * part.
 *
 * Threads form slots: thread = slot * lanes + lane, a lane has 4 channels (and those 4 * lanes further on where they
 * are too many), a slot every slots'th pixel.
 *
 * Tile: an image a block. Shared memory: 8 KB. Registers: 127. Bound by: latency; it moves 12 bytes a value, 8 of
 * rounded ones. */
#include "kernels/ops/bce/bce.cuh"
#include "kernels/fused/fuse.cuh"

static constexpr int THREADS = 256, WARPS = THREADS / 32, KEPT = 8;

/* A thread's packs of KEPT pixels from p0 on, every slots'th; c and p0 may be outside. */
struct packs {
    dg_pack<float, 4> x[KEPT], w[KEPT];
};

static __device__ __forceinline__ void load_packs(packs &v, const dg_fused_head &h, int64_t image, int p0, int slots,
                                                  int c)
{
#pragma unroll
    for (int i = 0; i < KEPT; i++) {
        const int p = p0 + i * slots;
        const bool ok = p < h.pixels && c < h.C;
        v.x[i] = ok ? dg_load_four(h.in.x, (image * h.pixels + p) * h.C + c, h.in.rounded) : dg_pack<float, 4>{};
        v.w[i] = ok ? dg_load<4>(h.w + (int64_t)p * h.C + c) : dg_pack<float, 4>{};
    }
}

/* What a lane knows of its 4 channels. */
struct four_channels {
    dg_channel k[4];
    float mean[4];
};

static __device__ __forceinline__ four_channels channels_of(const dg_fused_head &h, int group, int c)
{
    four_channels f = {};
#pragma unroll
    for (int e = 0; e < 4; e++) {
        if (c >= h.C) continue;
        f.k[e] = dg_channel_of(h.in, group, c + e, h.C);
        f.mean[e] = h.in.kind == DG_PROLOGUE_NORM ? h.in.mean[group * h.C + c + e] : 0;
    }
    return f;
}

/* The sum over the block, in all threads. */
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

/* Loss and probability of an image, from its own block. */
struct alignas(16) head_term {
    double loss, prob;
};
static_assert(sizeof(head_term) == DG_HEAD_TERM_BYTES, "as many bytes as its scratch has");

/* The last block: each thread its images' terms, then the threads as a tree. room: 4 * WARPS doubles. */
static __device__ __forceinline__ void sum_losses(const dg_fused_head &h, double *room)
{
    const int each = h.N / h.losses, mine = (int)threadIdx.x;
    const head_term *const terms = (const head_term *)h.scratch;
    double sum[4] = {}; /* loss and probability of either part */
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
    h.ring[h.state->step % DG_RING].value[mine % 2 ? h.prob[mine / 2] : h.loss[mine / 2]] = all / each;
}

/* lanes and channels: powers of two, of which channels is at least C. */
static __global__ void __launch_bounds__(THREADS, 2) head_kernel(const dg_fused_head h, int lanes, int channels)
{
    DEV_CHECK(blockDim.x == THREADS);
    SHARED(double, room, [4 * THREADS]);
    SHARED(float, slope, );
    grid_dependency_wait();
    grid_dependents_launch();
    const int lane = (int)threadIdx.x % lanes, slot = (int)threadIdx.x / lanes, slots = THREADS / lanes,
              image = (int)blockIdx.x;
    const int per_group = h.N / h.in.groups, group = image / per_group, each = h.N / h.losses;
    const bool normed = h.in.kind == DG_PROLOGUE_NORM, once = h.C <= 4 * lanes && h.pixels <= KEPT * slots;
    const float factor = normed ? h.in.factor : 1;
    packs v;
    float sum = 0;
    for (int c = 4 * lane; c - 4 * lane < h.C; c += 4 * lanes) {
        const four_channels f = channels_of(h, group, c);
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
        const dg_bce_term term = dg_bce_of((double)sum, h.target[image / each]);
        h.logit[image] = sum;
        h.dlogit[image] = slope = (float)(term.slope / each);
        ((head_term *)h.scratch)[image] = {term.loss, term.prob};
    }
    __syncthreads();

    float *const parts = h.scratch + (size_t)h.N * (DG_HEAD_TERM_BYTES / sizeof(float));
    const float back = slope;
    const bool norm_dx = h.out.kind == DG_EPILOGUE_NORM_DX;
    float *const shared = (float *)room; /* [8][THREADS] */
    for (int c = 4 * lane; c - 4 * lane < h.C; c += 4 * lanes) {
        const four_channels f = channels_of(h, group, c);
        float sum_g[4] = {}, sum_gx[4] = {};
        for (int p0 = slot; p0 - slot < h.pixels; p0 += KEPT * slots) {
            if (!once) load_packs(v, h, image, p0, slots, c);
#pragma unroll
            for (int i = 0; i < KEPT; i++) {
                const int p = p0 + i * slots;
                if (p >= h.pixels || c >= h.C) continue;
                const int64_t at = ((int64_t)image * h.pixels + p) * h.C + c;
                dg_pack<float, 4> g, y = {};
                if (h.out.kind == DG_EPILOGUE_ACT_DX) y = dg_load<4>(h.out.y + at);
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    g.v[e] = back * v.w[i].v[e];
                    if (norm_dx) {
                        const float z = f.k[e].scale * v.x[i].v[e] + f.k[e].shift;
                        g.v[e] = z > 0 ? g.v[e] : h.out.factor * g.v[e];
                        sum_g[e] += g.v[e];
                        sum_gx[e] += g.v[e] * (v.x[i].v[e] - f.mean[e]);
                    } else if (h.out.kind == DG_EPILOGUE_ACT_DX) {
                        g.v[e] = dg_epilogue_act_dx(h.out, g.v[e], y.v[e]);
                    }
                }
                dg_store_four(h.g, at, h.out.rounded, g);
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
    if (last) sum_losses(h, room);
}

void dg_fused_head_launch(const dg_fused_head *h, cudaStream_t stream)
{
    const int channels = dg_head_channels(h->C);
    const int lanes = channels / 4 < THREADS ? channels / 4 : THREADS;
    KLAUNCH_AFTER(head_kernel, dim3((unsigned)h->N), dim3(THREADS), 0, stream, *h, lanes, channels);
}
