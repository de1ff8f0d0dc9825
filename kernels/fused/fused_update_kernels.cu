/* The second kernel of the fused update adds the parts of the sums (from fused_update_job.cuh) and applies Adam, or
 * stores the sums as gradients of a shard.
 * Tile: 2,048 weights per block, fewer if the sum has many parts.
 * Shared memory: 4 KB.
 * Bound by: memory, 26 bytes per weight and 4 bytes per part of its sum. */
#include "kernels/fused/fused_update_job.cuh"
#include "kernels/fused/rounded.cuh"
#include "kernels/ops/adam/adam.cuh"

static_assert(sizeof(dg_update_layout) < 4096, "a kernel's parameters");
static_assert(DG_UPDATE_RANGES <= 32, "one per lane");

/* A block's part of a range. The threads are divided into slots. Slot s adds parts s, s + slots, ... of each sum in
 * order. A tree adds the sums of the slots. Each lane of a slot has two times four weights. */
struct block_part {
    int lanes, lane, slot, slots;
    int parts, count;
    int64_t skipped, first; /* weights before the block's, in the job and in the network */
    float *gradient;        /* nullptr: the gradients were computed by other launches */
    const float *from;      /* parts of the sums */
    unsigned each;

    __device__ __forceinline__ unsigned at(int h) const { return (unsigned)(h * lanes + lane) * 4; }
    __device__ __forceinline__ bool has(int h) const { return at(h) < (unsigned)count; }
};

static __device__ __forceinline__ block_part part_of_block(const dg_update_layout &u)
{
    const int tried = min((int)(threadIdx.x % 32), u.ranges - 1);
    const dg_update_range &r =
        u.range[__popc(__ballot_sync(0xffffffffu, (int)blockIdx.x >= u.range[tried].first + u.range[tried].blocks &&
                                                      tried == (int)(threadIdx.x % 32)))];
    block_part b;
    b.lanes = DG_UPDATE_THREADS >> r.halvings, b.lane = (int)threadIdx.x & (b.lanes - 1);
    b.slot = (int)threadIdx.x >> (DG_UPDATE_BITS - r.halvings), b.slots = 1 << r.halvings;
    const bool own = r.work >= 0;
    const dg_update_work &w = u.job[own ? r.work : 0];
    b.parts = own ? w.parts : 1;
    b.each = (unsigned)w.count;
    b.skipped = (int64_t)((int)blockIdx.x - r.first) * r.width, b.first = r.from + b.skipped;
    b.count = (int)min(r.count - b.skipped, (int64_t)r.width);
    b.gradient = own ? (float *)w.conv.w + b.skipped : nullptr;
    b.from = b.parts > 1 ? u.scratch + w.scratch + b.skipped : own ? b.gradient : (const float *)u.adam.g + b.first;
    return b;
}

/* Adds the parts of the thread's slot. */
static __device__ __forceinline__ void add_parts(const block_part &b, dg_pack<float, 4> (&g)[2])
{
    g[0] = g[1] = {};
#pragma unroll 2
    for (int k = b.slot; k < b.parts; k += b.slots)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            if (!b.has(h)) continue;
            const dg_pack<float, 4> one = dg_load<4>(b.from + (unsigned)k * (uint64_t)b.each + b.at(h));
#pragma unroll
            for (int e = 0; e < 4; e++) g[h].v[e] += one.v[e];
        }
}

/* Adds the sums of the slots. Slot 0 receives the result. `room` has four floats per thread. */
static __device__ __forceinline__ void add_slots(const block_part &b, float *room, dg_pack<float, 4> &g)
{
    for (int half = b.slots / 2; half > 0; half /= 2) {
        __syncthreads();
        if (b.slot >= half && b.slot < 2 * half) dg_store<4>(room + ((int)threadIdx.x - half * b.lanes) * 4, g);
        __syncthreads();
        if (b.slot >= half) continue;
        const dg_pack<float, 4> upper = dg_load<4>(room + (int)threadIdx.x * 4);
#pragma unroll
        for (int e = 0; e < 4; e++) g.v[e] += upper.v[e];
    }
}

static __global__ void __launch_bounds__(DG_UPDATE_THREADS, 4) adam_kernel(const GRID_CONSTANT dg_update_layout u)
{
    const dg_adam_args &a = u.adam;
    SHARED(dg_adam_factors<float>, factors, );
    SHARED(unsigned, bad_here, );
    dev_pool pool;
    float *const room = pool.take<float>(DG_UPDATE_THREADS * 4);
    const block_part b = part_of_block(u);
    float *const p = (float *)a.p + b.first, *const m = (float *)a.m + b.first, *const v = (float *)a.v + b.first;
    grid_dependency_wait();
    grid_dependents_launch();
    if (threadIdx.x == 0) bad_here = 0;
    dg_pack<float, 4> pp[2], mm[2], vv[2], g[2];
#pragma unroll
    for (int h = 0; h < 2; h++) {
        if (b.slot || !b.has(h)) continue;
        pp[h] = dg_load<4>(p + b.at(h));
        mm[h] = dg_load<4>(m + b.at(h));
        vv[h] = dg_load<4>(v + b.at(h));
    }
    if (threadIdx.x == 0) factors = dg_adam_factors_of<float>(a, a.state->step);
    add_parts(b, g);
    unsigned broken = 0;
    __syncthreads();
#pragma unroll
    for (int h = 0; h < 2; h++) {
        add_slots(b, room, g[h]);
        if (b.slot || !b.has(h)) continue;
        if (b.parts > 1) dg_store<4>(b.gradient + b.at(h), g[h]);
        broken += dg_adam_step<float, 4>(factors, pp[h], mm[h], vv[h], g[h]);
        dg_store<4>(p + b.at(h), pp[h]);
        if (u.rounded.to) dg_round_four(u.rounded, b.first + b.at(h), pp[h]);
        dg_store<4>(m + b.at(h), mm[h]);
        dg_store<4>(v + b.at(h), vv[h]);
    }
    if (broken) atomicAdd(&bad_here, broken);
    __syncthreads();
    if (threadIdx.x) return;
    unsigned *const counter = u.counters;
    if (bad_here) atomicAdd(counter + DG_UPDATE_BAD, bad_here);
    __threadfence();
    if (atomicAdd(counter + DG_UPDATE_DONE, 1u) != (unsigned)u.consumers - 1) return;
    __threadfence();
    const uint64_t step_now = a.state->step;
    a.ring[step_now % DG_RING].value[a.bad] = (double)atomicExch(counter + DG_UPDATE_BAD, 0u);
    if (u.advance.state) {
        u.advance.state->step = step_now + 1;
        u.advance.state->cursor += u.advance.batch;
    }
    atomicExch(counter + DG_UPDATE_DONE, 0u);
}

/* Without Adam: stores the sums of the parts. */
static __global__ void __launch_bounds__(DG_UPDATE_THREADS, 4) sum_kernel(const GRID_CONSTANT dg_update_layout u)
{
    dev_pool pool;
    float *const room = pool.take<float>(DG_UPDATE_THREADS * 4);
    const block_part b = part_of_block(u);
    grid_dependency_wait();
    grid_dependents_launch();
    dg_pack<float, 4> g[2];
    add_parts(b, g);
#pragma unroll
    for (int h = 0; h < 2; h++) {
        add_slots(b, room, g[h]);
        if (!b.slot && b.has(h)) dg_store<4>(b.gradient + b.at(h), g[h]);
    }
}

void dg_fused_update_bf16(const dg_update_layout *l, size_t shared, cudaStream_t stream)
{
    dg_update_start<dg_mma_bf16>(l, shared, stream);
}

void dg_fused_update_launch(const dg_fused_update *u, cudaStream_t stream)
{
    dg_update_layout l;
    dg_update_layout_of(u, &l);
    const auto start = dg_update_by_warpgroups(u)          ? dg_fused_update_wgmma
                       : dg_update_math(u) == DG_MATH_FP16 ? dg_fused_update_fp16
                                                           : dg_fused_update_bf16;
    for (int i = 0; i < u->jobs; i++)
        for (int side = 0; side < 2; side++)
            if (dg_update_has_factors(u->job[i].kind) && !u->job[i].there[side])
                dg_round_factors(&u->job[i], side, stream);
    start(&l, dg_update_shared(u), stream);
    if (!l.consumers) return;
    const dim3 grid((unsigned)l.consumers), block(DG_UPDATE_THREADS);
    const size_t room = sizeof(float) * DG_UPDATE_THREADS * 4;
    if (u->adam.n) KLAUNCH_AFTER(adam_kernel, grid, block, room, stream, l);
    else KLAUNCH_AFTER(sum_kernel, grid, block, room, stream, l);
}
