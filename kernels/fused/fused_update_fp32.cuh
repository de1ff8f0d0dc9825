/* Weight gradients of a fused update without tensor cores. The kernel family thin is for images. The families gemv and
 * dense are for flat convolutions with few or many channels of y. */
#pragma once

#include "kernels/ops/conv/cuda/conv_thin_dw.cuh"
#include "kernels/fused/fuse.cuh"
extern "C" {
#include "kernels/fused/fused_update.h"
}

/* Returns units * part / parts, the first work unit of part `part`, without a 64-bit product. */
static __device__ __forceinline__ int dg_update_unit(const dg_update_work &w, int part)
{
    const unsigned units = (unsigned)w.units, parts = (unsigned)w.parts, each = units / parts;
    return (int)(each * (unsigned)part + (units - each * parts) * (unsigned)part / parts);
}

template <int CI>
static __device__ __forceinline__ void dg_update_thin(const dg_update_work &w, int tile, int part, float *out)
{
    typedef dg_thin_dw<CI> dw;
    static_assert(DG_THIN_DW_THREADS == DG_UPDATE_THREADS && DG_UPDATE_THREADS / (DG_THIN_CHANNELS / 4) == DG_THIN_COLS,
                  "each thread must have four channels of one column");
    constexpr int words = dg_div_up(dw::patch_words, (int)DG_UPDATE_THREADS);
    const dg_conv_args &a = w.conv;
    const dg_thin_tiling t = dg_thin_tiling_of(a);
    const int co0 = tile * DG_THIN_CHANNELS, c = (int)(threadIdx.x % (DG_THIN_CHANNELS / 4)) * 4,
              column = (int)(threadIdx.x / (DG_THIN_CHANNELS / 4));
    const int first = dg_update_unit(w, part), last = dg_update_unit(w, part + 1);
    dev_pool pool;
    float *const patch = pool.take<float>(dw::words), *const grad = patch + dw::patch_words;
    dg_four of_y(w.y, min(co0 + c, a.Co - 4), a.Co);
    float next_x[words];
    dg_pack<float, 4> next_y[DG_THIN_ROWS], next_pre[DG_THIN_ROWS];
    unsigned inside = 0;
    int group = 0;

    auto fetch = [&](int number) {
        const int b0 = number % t.across * DG_THIN_COLS, a0 = number / t.across % t.down * DG_THIN_ROWS,
                  image = number / t.across / t.down;
        const float *const x = w.x.x + (int64_t)image * a.H * a.W * CI;
        const int start = (2 * b0 - 1) * CI;
#pragma unroll
        for (int j = 0; j < words; j++) {
            const int i = (int)threadIdx.x + j * DG_UPDATE_THREADS, row = 2 * a0 - 1 + i / dw::line,
                      at = start + i % dw::line;
            const bool ok = i < dw::patch_words && (unsigned)row < (unsigned)a.H && (unsigned)at < (unsigned)(a.W * CI);
            next_x[j] = ok ? x[row * a.W * CI + at] : 0.0f;
        }
        group = image / w.per_group;
        inside = 0;
#pragma unroll
        for (int j = 0; j < DG_THIN_ROWS; j++) {
            const bool ok = a0 + j < a.Ho && b0 + column < a.Wo && co0 + c < a.Co;
            const int64_t at = (((int64_t)image * a.Ho + a0 + j) * a.Wo + b0 + column) * a.Co + co0 + c;
            next_y[j] = next_pre[j] = {};
            if (ok) next_y[j] = dg_load<4>(w.y.x + at);
            if (ok && of_y.two()) next_pre[j] = dg_load<4>(w.y.pre + at);
            inside |= (unsigned)ok << j;
        }
    };

    dw sums;
    fetch(first);
    for (int number = first; number < last; number++) {
        __syncthreads();
        of_y.of_group(group);
#pragma unroll
        for (int j = 0; j < words; j++) {
            const int i = (int)threadIdx.x + j * DG_UPDATE_THREADS;
            if (i < dw::patch_words) patch[i] = next_x[j];
        }
#pragma unroll
        for (int j = 0; j < DG_THIN_ROWS; j++) {
            dg_pack<float, 4> v = {};
            if (inside >> j & 1) v = of_y.value(next_y[j], next_pre[j]);
            dg_store<4>(grad + (j * DG_THIN_COLS + column) * DG_THIN_CHANNELS + c, v);
        }
        __syncthreads();
        if (number + 1 < last) fetch(number + 1);
        sums.add(patch, grad);
    }
    sums.finish(patch, out, co0, a.Co);
}

/* A warp computes the gradients of 128 weights of one channel of y. Sum i of a gradient adds images i, i + 8, ... */

static __device__ __forceinline__ void dg_update_gemv(const dg_update_work &w, int tile, float *out)
{
    static constexpr int SUMS = 8;
    static_assert(DG_UPDATE_GEMV_COLS == DG_UPDATE_THREADS * 4,
                  "each thread must compute the gradients of four weights");
    const dg_conv_args &a = w.conv;
    const int co = tile % w.rows, k = tile / w.rows * DG_UPDATE_GEMV_COLS + (int)threadIdx.x * 4;
    if (k >= a.Ci) return;
    dg_four of_x(w.x, k % w.channels, w.channels);
    dg_pack<float, 4> acc[SUMS] = {};
    int group = 0, end = w.per_group;
    auto add = [&](int i, const dg_pack<float, 4> &v, float g) {
#pragma unroll
        for (int e = 0; e < 4; e++) acc[i].v[e] += g * v.v[e];
    };
#pragma unroll 1
    for (int n0 = 0; n0 < a.N; n0 += SUMS) {
        dg_pack<float, 4> x[SUMS], pre[SUMS];
        float g[SUMS];
#pragma unroll
        for (int i = 0; i < SUMS; i++) {
            const int n = min(n0 + i, a.N - 1);
            const int64_t at = (int64_t)n * a.Ci + k;
            x[i] = dg_load_four(w.x.x, at, w.x.rounded);
            pre[i] = of_x.two() ? dg_load_four(w.x.pre, at, w.x.rounded) : x[i];
            g[i] = w.y.x[n * a.Co + co];
        }
        if (n0 + SUMS <= min(a.N, end) && !of_x.two()) {
            of_x.of_group(group);
#pragma unroll
            for (int i = 0; i < SUMS; i++) add(i, of_x.one(x[i]), g[i]);
            continue;
        }
#pragma unroll
        for (int i = 0; i < SUMS; i++) {
            if (n0 + i >= a.N) continue;
            if (n0 + i >= end) group++, end += w.per_group;
            of_x.of_group(group);
            add(i, of_x.value(x[i], pre[i]), g[i]);
        }
    }
#pragma unroll
    for (int i = 1; i < SUMS; i++)
#pragma unroll
        for (int e = 0; e < 4; e++) acc[0].v[e] += acc[i].v[e];
    dg_store<4>(out + (int64_t)co * a.Ci + k, acc[0]);
}

/* A block computes the gradients of 32 weights for each of 128 channels of y. A thread computes 4 x 4 gradients. */

static __device__ __forceinline__ void dg_update_dense(const dg_update_work &w, int tile, float *out)
{
    static constexpr int rows = DG_UPDATE_DENSE_ROWS, cols = DG_UPDATE_DENSE_COLS, images = DG_UPDATE_DENSE_IMAGES;
    static constexpr int y_items = images * rows / DG_UPDATE_THREADS / 4;
    static_assert(images * cols == 4 * DG_UPDATE_THREADS && rows * cols == 16 * DG_UPDATE_THREADS,
                  "each thread must load 4 values of x and compute 16 sums");
    static_assert(DG_UPDATE_THREADS == 2 * rows, "each thread must load four channels of every eighth image");
    const dg_conv_args &a = w.conv;
    const int co0 = tile % w.rows * rows, k0 = tile / w.rows * cols;
    const int mine = (int)(threadIdx.x / (cols / 4)), c = (int)(threadIdx.x % (cols / 4)) * 4, k = k0 + c;
    dev_pool pool;
    float *const ys = pool.take<float>(images * rows), *const xs = pool.take<float>(images * cols);
    dg_four of_x(w.x, k % w.channels, w.channels);
    const int y_image = (int)(threadIdx.x / (rows / 4)), y_channel = (int)(threadIdx.x % (rows / 4)) * 4,
              y_co = co0 + y_channel;
    const bool wide = a.Co % 4 == 0;
    dg_pack<float, 4> next_y[y_items], next_x = {}, next_pre = {};
    bool inside = false;
    int group = 0;

    auto fetch = [&](int n0) {
        const int n = n0 + mine;
        inside = n < a.N && k < a.Ci;
        next_x = next_pre = {};
        if (inside) {
            next_x = dg_load_four(w.x.x, (int64_t)n * a.Ci + k, w.x.rounded);
            if (of_x.two()) next_pre = dg_load_four(w.x.pre, (int64_t)n * a.Ci + k, w.x.rounded);
            group = w.groups == 1 ? 0 : n / w.per_group;
        }
        const int first = n0 + y_image, left = y_co < a.Co ? a.N - first : 0;
        const float *from = w.y.x + (int64_t)first * a.Co + y_co;
#pragma unroll
        for (int j = 0; j < y_items; j++, from += 8 * a.Co) {
            next_y[j] = {};
            if (8 * j >= left) continue;
            if (wide) next_y[j] = dg_load<4>(from);
            else
#pragma unroll
                for (int e = 0; e < 4; e++)
                    if (y_co + e < a.Co) next_y[j].v[e] = from[e];
        }
    };

    float acc[4][4] = {};
    fetch(0);
    for (int n0 = 0; n0 < a.N; n0 += images) {
        __syncthreads();
        dg_pack<float, 4> v = {};
        if (inside) {
            of_x.of_group(group);
            v = of_x.value(next_x, next_pre);
        }
        dg_store<4>(xs + mine * cols + c, v);
#pragma unroll
        for (int j = 0; j < y_items; j++) dg_store<4>(ys + (8 * j + y_image) * rows + y_channel, next_y[j]);
        __syncthreads();
        if (n0 + images < a.N) fetch(n0 + images);
        if (co0 + mine * 4 >= a.Co) continue;
#pragma unroll 8
        for (int n = 0; n < images; n++) {
            const dg_pack<float, 4> y = dg_load<4>(ys + n * rows + mine * 4), x = dg_load<4>(xs + n * cols + c);
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int e = 0; e < 4; e++) acc[i][e] += y.v[i] * x.v[e];
        }
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int co = co0 + mine * 4 + i;
        if (co < a.Co && k < a.Ci)
            dg_store<4>(out + (int64_t)co * a.Ci + k, dg_pack<float, 4>{{acc[i][0], acc[i][1], acc[i][2], acc[i][3]}});
    }
}
