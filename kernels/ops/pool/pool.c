/* Max pooling and its gradient: a pixel of the result at a time, its channels side by side. */
#include <stdbool.h>

#include "kernels/cpu/cpu.h"

/* A new largest value: also the first NaN, which stays. */
static inline bool wins(real v, real best) { return v > best || (v != v && best == best); }

/* One window: rows ky0 .. ky1 - 1 and columns kx0 .. kx1 - 1 of it are inside of the picture, and x is its pixel (0,
 * 0), which may lie outside. */
static void window(real *restrict y, uint8_t *restrict place, const real *x, const dg_pool_args *a, const int ky[2],
                   const int kx[2])
{
    bool first = true;
    for (int r = ky[0]; r < ky[1]; r++)
        for (int q = kx[0]; q < kx[1]; q++) {
            const real *v = x + ((int64_t)r * a->W + q) * a->C;
            const uint8_t here = (uint8_t)(r * a->K + q);
            for (int c = 0; c < a->C; c++) {
                const bool better = first || wins(v[c], y[c]);
                y[c] = better ? v[c] : y[c];
                place[c] = better ? here : place[c];
            }
            first = false;
        }
}

/* The part of a window from pixel `from` on that lies inside of 0 .. n - 1. */
static inline void inside(int out[2], int from, int K, int n)
{
    out[0] = from < 0 ? -from : 0;
    out[1] = from + K > n ? n - from : K;
}

void DG_CPU(dg_cpu_maxpool)(const dg_pool_args *a, const dg_tune *tune)
{
    (void)tune;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < (int64_t)a->N * a->Ho; row++) {
        const int iy = (int)(row % a->Ho) * a->S - a->P;
        const real *picture = (const real *)a->x + row / a->Ho * a->H * a->W * a->C;
        int ky[2], kx[2];
        inside(ky, iy, a->K, a->H);
        for (int ox = 0; ox < a->Wo; ox++) {
            const int ix = ox * a->S - a->P;
            const int64_t at = (row * a->Wo + ox) * a->C;
            inside(kx, ix, a->K, a->W);
            window((real *)a->y + at, a->place + at, picture + ((int64_t)iy * a->W + ix) * a->C, a, ky, kx);
        }
    }
}

/* The windows that reach pixel i: out[0] .. out[1] - 1 of n. */
static inline void reaching(int out[2], int i, const dg_pool_args *a, int n)
{
    const int last = (i + a->P) / a->S, first = i + a->P - a->K + 1;
    out[0] = first <= 0 ? 0 : (first + a->S - 1) / a->S;
    out[1] = last < n ? last + 1 : n;
}

void DG_CPU(dg_cpu_maxpool_dx)(const dg_pool_args *a, const dg_tune *tune)
{
    (void)tune;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < (int64_t)a->N * a->H; row++) {
        const int iy = (int)(row % a->H);
        int oy[2], ox[2];
        reaching(oy, iy, a, a->Ho);
        for (int ix = 0; ix < a->W; ix++) {
            real *restrict dx = (real *)a->dx + (row * a->W + ix) * a->C;
            reaching(ox, ix, a, a->Wo);
            for (int c = 0; c < a->C; c++) dx[c] = 0;
            for (int r = oy[0]; r < oy[1]; r++)
                for (int q = ox[0]; q < ox[1]; q++) {
                    const int64_t at = ((row / a->H * a->Ho + r) * a->Wo + q) * a->C;
                    const real *dy = (const real *)a->dy + at;
                    const uint8_t *place = a->place + at;
                    const int here = (iy + a->P - r * a->S) * a->K + ix + a->P - q * a->S;
                    for (int c = 0; c < a->C; c++) dx[c] += place[c] == here ? dy[c] : 0;
                }
        }
    }
}
