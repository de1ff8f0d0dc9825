/* The kernel of the fused update (fuse.h, fused_update.h). An instance for each arithmetic of tensor cores and each
 * side that the gradient may be on; they are in files of their own.
 *
 * Tile: of each job its own (fused_update.h). Shared memory: of the largest job, 4 to 100 KB, and 240 bytes. Registers:
 * bf16 218 or 234, tf32 228 or 244. Bound by: producers by shared memory, consumers by memory, 36 bytes a weight.
 * Template parameters: E, arithmetic of jobs on tensor cores (mma.cuh); OF_X, the gradient is on the side of x. */
#ifndef DG_FUSED_UPDATE_CUH
#define DG_FUSED_UPDATE_CUH

#include "kernels/ops/adam/adam.cuh"
#include "kernels/fused/fused_update_fp32.cuh"
#include "kernels/fused/fused_update_mma.cuh"

void dg_fused_update_bf16(const dg_update_layout *l, size_t shared, cudaStream_t stream);
void dg_fused_update_tf32(const dg_update_layout *l, size_t shared, cudaStream_t stream);
void dg_fused_update_fp16(const dg_update_layout *l, size_t shared, cudaStream_t stream);

/* Whole block: what it wrote is seen by those who wait for `producers` of them. */
static __device__ __forceinline__ void dg_update_made(unsigned *counter)
{
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(counter, 1u);
}

/* One thread, whose block has a number above those of all the producers: they are running, or done. */
static __device__ __forceinline__ void dg_update_await(unsigned *counter, unsigned producers)
{
    while (atomicAdd(counter, 0u) < producers) __nanosleep(100);
}

/* ---- Consumers: parts are added in order, a slot of threads every so many; then the slots are halved again and again
 * ---- */

static __device__ __forceinline__ void dg_update_finish(const dg_update_layout &u, const dg_update_range &r, int block)
{
    const dg_adam_args &a = u.adam;
    SHARED(dg_adam_factors<float>, factors, );
    SHARED(uint64_t, step_now, );
    SHARED(unsigned, bad_here, );
    dev_pool pool;
    float *const room = pool.take<float>(DG_UPDATE_THREADS * 4);
    const int lanes = DG_UPDATE_THREADS / r.slots, lane = (int)threadIdx.x % lanes, slot = (int)threadIdx.x / lanes;
    float *const p = (float *)a.p + r.from, *const m = (float *)a.m + r.from, *const v = (float *)a.v + r.from;
    const bool own = r.work >= 0; /* else the gradient is there */
    const dg_update_work &w = u.job[own ? r.work : 0];
    const int parts = own ? w.parts : 1;
    float *const gradient = own ? (float *)w.conv.w : (float *)a.g + r.from;
    const float *const from = parts > 1 ? u.scratch + w.scratch : gradient;
    unsigned broken = 0;
    bool ready = false;
    for (int64_t i0 = (int64_t)block * r.width; i0 < r.count; i0 += (int64_t)r.blocks * r.width) {
        dg_pack<float, 4> pp[2], mm[2], vv[2], g[2];
        int64_t at[2];
        bool mine[2];
#pragma unroll
        for (int h = 0; h < 2; h++) { /* these do not have to wait */
            at[h] = i0 + (h * lanes + lane) * 4;
            mine[h] = at[h] < r.count;
            pp[h] = mm[h] = vv[h] = g[h] = {};
            if (slot || !mine[h]) continue;
            pp[h] = dg_load<4>(p + at[h]);
            mm[h] = dg_load<4>(m + at[h]);
            vv[h] = dg_load<4>(v + at[h]);
        }
        if (!ready) {
            if (threadIdx.x == 0) {
                step_now = a.state->step;
                factors = dg_adam_factors_of<float>(a, step_now);
                bad_here = 0;
                /* Nobody's weights are the norms', which the producers of all jobs read. */
                for (int k = own ? r.work : 0; k < (own ? r.work + 1 : u.jobs); k++)
                    dg_update_await(u.counters + DG_UPDATE_MADE + k, (unsigned)u.job[k].producers);
                __threadfence();
            }
            ready = true;
            __syncthreads();
        }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            if (!mine[h]) continue;
            const float *const part = from + at[h];
#pragma unroll 4
            for (int k = slot; k < parts; k += r.slots) {
                const dg_pack<float, 4> one = dg_load<4>(part + k * w.count);
#pragma unroll
                for (int e = 0; e < 4; e++) g[h].v[e] += one.v[e];
            }
        }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            for (int half = r.slots / 2; half > 0; half /= 2) {
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
            dg_store<4>(m + at[h], mm[h]);
            dg_store<4>(v + at[h], vv[h]);
        }
    }
    if (broken) atomicAdd(&bad_here, broken);
    __syncthreads();
    if (threadIdx.x) return;
    unsigned *const counter = u.counters;
    if (bad_here) atomicAdd(counter + DG_UPDATE_BAD, bad_here);
    __threadfence();
    if (atomicAdd(counter + DG_UPDATE_DONE, 1u) != (unsigned)u.consumers - 1) return;
    __threadfence();
    /* The last of all: nobody reads the step or a counter any more. */
    a.ring[step_now % DG_RING].value[a.bad] = (double)atomicExch(counter + DG_UPDATE_BAD, 0u);
    if (u.advance.state) {
        u.advance.state->step = step_now + 1;
        u.advance.state->cursor += u.advance.batch;
    }
    atomicExch(counter + DG_UPDATE_NUMBER, 0u);
    atomicExch(counter + DG_UPDATE_DONE, 0u);
    for (int k = 0; k < u.jobs; k++) atomicExch(counter + DG_UPDATE_MADE + k, 0u);
}

/* ---- The kernel ---- */

template <class E, bool OF_X> static __device__ __forceinline__ void dg_update_block(const dg_update_layout &u)
{
    DEV_CHECK(blockDim.x == DG_UPDATE_THREADS);
    grid_dependency_wait();
    grid_dependents_launch();
    SHARED(unsigned, work_index, );
    if (threadIdx.x == 0) work_index = atomicAdd(u.counters + DG_UPDATE_NUMBER, 1u);
    __syncthreads();
    const int number = (int)work_index;
    if (number >= u.producers) {
        int k = 0;
        while (number - u.producers >= u.range[k].first + u.range[k].blocks) k++;
        return dg_update_finish(u, u.range[k], number - u.producers - u.range[k].first);
    }
    int k = 0;
    while (number >= u.job[k].first + u.job[k].producers) k++;
    const dg_update_work &w = u.job[k];
    const int tiles = w.rows * w.cols, tile = (number - w.first) % tiles, part = (number - w.first) / tiles;
    float *const out = w.parts > 1 ? u.scratch + w.scratch + part * w.count : (float *)w.conv.w;
    if (w.kind == DG_FUSED_MMA) {
        if constexpr (!E::there) __trap(); /* dg_fused_update_refuses() such a job */
        else if (w.conv.Wo <= DG_MMA_SMALL) dg_update_mma<E, true, OF_X>(w, tile, part, out);
        else dg_update_mma<E, false, OF_X>(w, tile, part, out);
    } else if (w.kind == DG_FUSED_THIN && w.conv.Ci == 1) dg_update_thin<1>(w, tile, part, out);
    else if (w.kind == DG_FUSED_THIN) dg_update_thin<3>(w, tile, part, out);
    else if (w.kind == DG_FUSED_THIN_MMA) dg_update_thin_mma<E>(w, tile, part, out);
    else if (w.kind == DG_FUSED_GEMV) dg_update_gemv(w, tile, out);
    else dg_update_dense(w, tile, out);
    dg_update_made(u.counters + DG_UPDATE_MADE + k);
}

/* bf16 is where nothing is rounded, too: that is there on every architecture. */
template <class E, bool OF_X>
static __global__ void __launch_bounds__(DG_UPDATE_THREADS) dg_update_kernel(const GRID_CONSTANT dg_update_layout u)
{
    if constexpr (E::fused || !E::scaled) dg_update_block<E, OF_X>(u);
    else __trap();
}

template <class E> static void dg_update_start(const dg_update_layout *l, size_t shared, cudaStream_t stream)
{
    const dim3 grid((unsigned)(l->producers + l->consumers)), block(DG_UPDATE_THREADS);
    if (l->gradient_of_x) KLAUNCH_AFTER((dg_update_kernel<E, true>), grid, block, shared, stream, *l);
    else KLAUNCH_AFTER((dg_update_kernel<E, false>), grid, block, shared, stream, *l);
}

#endif
