/* The second kernel of the fused update adds the parts of the sums (from fused_update_job.cuh) and applies Adam.
 * Tile: 2,048 weights per block, fewer if the sum has many parts.
 * Shared memory: 4 KB.
 * Bound by: memory, 26 bytes per weight and 4 bytes per part of its sum. */
#include "kernels/fused/fused_update_job.cuh"
#include "kernels/fused/rounded.cuh"
#include "kernels/ops/adam/adam.cuh"

static_assert(sizeof(dg_update_layout) < 4096, "a kernel's parameters");
static_assert(DG_UPDATE_RANGES <= 32, "one per lane");

/* The threads are divided into slots. Slot s adds parts s, s + slots, ... of each sum in order. A tree adds the sums
 * of the slots. */
static __global__ void __launch_bounds__(DG_UPDATE_THREADS, 4) adam_kernel(const GRID_CONSTANT dg_update_layout u)
{
    const dg_adam_args &a = u.adam;
    SHARED(dg_adam_factors<float>, factors, );
    SHARED(unsigned, bad_here, );
    dev_pool pool;
    float *const room = pool.take<float>(DG_UPDATE_THREADS * 4);
    const int tried = min((int)(threadIdx.x % 32), u.ranges - 1);
    const dg_update_range &r =
        u.range[__popc(__ballot_sync(0xffffffffu, (int)blockIdx.x >= u.range[tried].first + u.range[tried].blocks &&
                                                      tried == (int)(threadIdx.x % 32)))];
    const int lanes = DG_UPDATE_THREADS >> r.halvings, lane = (int)threadIdx.x & (lanes - 1),
              slot = (int)threadIdx.x >> (DG_UPDATE_BITS - r.halvings), slots = 1 << r.halvings;
    const bool own = r.work >= 0;
    const dg_update_work &w = u.job[own ? r.work : 0];
    const int parts = own ? w.parts : 1;
    const unsigned each = (unsigned)w.count;
    const int64_t skipped = (int64_t)((int)blockIdx.x - r.first) * r.width, first = r.from + skipped;
    const int count = (int)min(r.count - skipped, (int64_t)r.width);
    float *const p = (float *)a.p + first, *const m = (float *)a.m + first, *const v = (float *)a.v + first;
    float *const gradient = own ? (float *)w.conv.w + skipped : (float *)a.g + first;
    const float *const from = parts > 1 ? u.scratch + w.scratch + skipped : gradient;
    grid_dependency_wait();
    grid_dependents_launch();
    if (threadIdx.x == 0) bad_here = 0;
    dg_pack<float, 4> pp[2], mm[2], vv[2], g[2];
    unsigned at[2];
    bool mine[2];
#pragma unroll
    for (int h = 0; h < 2; h++) {
        at[h] = (unsigned)(h * lanes + lane) * 4;
        mine[h] = at[h] < (unsigned)count;
        if (slot || !mine[h]) continue;
        pp[h] = dg_load<4>(p + at[h]);
        mm[h] = dg_load<4>(m + at[h]);
        vv[h] = dg_load<4>(v + at[h]);
    }
    if (threadIdx.x == 0) factors = dg_adam_factors_of<float>(a, a.state->step);
    g[0] = g[1] = {};
#pragma unroll 2
    for (int k = slot; k < parts; k += slots)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            if (!mine[h]) continue;
            const dg_pack<float, 4> one = dg_load<4>(from + (unsigned)k * (uint64_t)each + at[h]);
#pragma unroll
            for (int e = 0; e < 4; e++) g[h].v[e] += one.v[e];
        }
    unsigned broken = 0;
    __syncthreads();
#pragma unroll
    for (int h = 0; h < 2; h++) {
        for (int half = slots / 2; half > 0; half /= 2) {
            __syncthreads();
            if (slot >= half && slot < 2 * half) dg_store<4>(room + ((int)threadIdx.x - half * lanes) * 4, g[h]);
            __syncthreads();
            if (slot >= half) continue;
            const dg_pack<float, 4> upper = dg_load<4>(room + (int)threadIdx.x * 4);
#pragma unroll
            for (int e = 0; e < 4; e++) g[h].v[e] += upper.v[e];
        }
        if (slot || !mine[h]) continue;
        if (parts > 1) dg_store<4>(gradient + at[h], g[h]);
        broken += dg_adam_step<float, 4>(factors, pp[h], mm[h], vv[h], g[h]);
        dg_store<4>(p + at[h], pp[h]);
        if (u.rounded.to) dg_round_four(u.rounded, first + at[h], pp[h]);
        dg_store<4>(m + at[h], mm[h]);
        dg_store<4>(v + at[h], vv[h]);
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
    KLAUNCH_AFTER(adam_kernel, dim3((unsigned)l.consumers), dim3(DG_UPDATE_THREADS),
                  sizeof(float) * DG_UPDATE_THREADS * 4, stream, l);
}
