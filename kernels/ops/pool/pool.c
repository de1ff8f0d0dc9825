/* Max and mean pooling and their gradients: a pixel of the result at a time, its channels side by side. */
#include <stdbool.h>

#include "kernels/cpu/cpu.h"

/* A pixel of the result and what it is made of: a window, or of a gradient the windows that reach it. */
typedef struct {
    int64_t at;     /* its first channel */
    int64_t from;   /* value (0, 0) of what is read, which may lie outside */
    int row, col;   /* a window's first pixel, or the pixel */
    int y[2], x[2]; /* rows y[0] .. y[1] - 1 and columns x[0] .. x[1] - 1 are read */
} spot;

/* The part of a window from pixel `first` on that lies inside of 0 .. n - 1. */
static inline void inside(int out[2], int first, int K, int n)
{
    out[0] = first < 0 ? -first : 0;
    out[1] = first + K > n ? n - first : K;
}

/* The windows that reach pixel i: out[0] .. out[1] - 1 of n. */
static inline void reaching(int out[2], int i, const dg_pool_args *a, int n)
{
    const int last = (i + a->P) / a->S, first = i + a->P - a->K + 1;
    out[0] = first <= 0 ? 0 : (first + a->S - 1) / a->S;
    out[1] = last < n ? last + 1 : n;
}

typedef void each_spot(const dg_pool_args *a, const spot *s);

/* Every window of a row of results. */
static inline void windows(const dg_pool_args *a, int64_t row, each_spot *one)
{
    spot s = {.row = (int)(row % a->Ho) * a->S - a->P};
    inside(s.y, s.row, a->K, a->H);
    for (int ox = 0; ox < a->Wo; ox++) {
        s.col = ox * a->S - a->P;
        s.at = (row * a->Wo + ox) * a->C;
        s.from = ((row / a->Ho * a->H + s.row) * a->W + s.col) * a->C;
        inside(s.x, s.col, a->K, a->W);
        one(a, &s);
    }
}

/* Every pixel of a row, with the windows that reach it. */
static inline void pixels(const dg_pool_args *a, int64_t row, each_spot *one)
{
    spot s = {.row = (int)(row % a->H), .from = row / a->H * a->Ho * a->Wo * a->C};
    reaching(s.y, s.row, a, a->Ho);
    for (s.col = 0; s.col < a->W; s.col++) {
        s.at = (row * a->W + s.col) * a->C;
        reaching(s.x, s.col, a, a->Wo);
        one(a, &s);
    }
}

/* A new largest value: also the first NaN, which stays. */
static inline bool wins(real v, real best) { return v > best || (v != v && best == best); }

static inline void largest(const dg_pool_args *a, const spot *s)
{
    real *restrict y = (real *)a->y + s->at;
    uint8_t *restrict place = a->place + s->at;
    bool first = true;
    for (int r = s->y[0]; r < s->y[1]; r++)
        for (int q = s->x[0]; q < s->x[1]; q++) {
            const real *x = (const real *)a->x + s->from + ((int64_t)r * a->W + q) * a->C;
            const uint8_t here = (uint8_t)(r * a->K + q);
            for (int c = 0; c < a->C; c++) {
                const bool better = first || wins(x[c], y[c]);
                y[c] = better ? x[c] : y[c];
                place[c] = better ? here : place[c];
            }
            first = false;
        }
}

static inline void largest_dx(const dg_pool_args *a, const spot *s)
{
    real *restrict dx = (real *)a->dx + s->at;
    for (int c = 0; c < a->C; c++) dx[c] = 0;
    for (int r = s->y[0]; r < s->y[1]; r++)
        for (int q = s->x[0]; q < s->x[1]; q++) {
            const int64_t at = s->from + ((int64_t)r * a->Wo + q) * a->C;
            const real *dy = (const real *)a->dy + at;
            const uint8_t *place = a->place + at;
            const int here = (s->row + a->P - r * a->S) * a->K + s->col + a->P - q * a->S;
            for (int c = 0; c < a->C; c++) dx[c] += place[c] == here ? dy[c] : 0;
        }
}

/* The mean over rows and columns of `in`, which is `width` wide; of a window those outside are 0. */
static inline void mean(real *restrict out, const real *in, int width, const dg_pool_args *a, const spot *s)
{
    const real all = (real)a->K * (real)a->K;
    for (int c = 0; c < a->C; c++) out[c] = 0;
    for (int r = s->y[0]; r < s->y[1]; r++)
        for (int q = s->x[0]; q < s->x[1]; q++) {
            const real *v = in + s->from + ((int64_t)r * width + q) * a->C;
            for (int c = 0; c < a->C; c++) out[c] += v[c];
        }
    for (int c = 0; c < a->C; c++) out[c] /= all;
}

static inline void average(const dg_pool_args *a, const spot *s) { mean((real *)a->y + s->at, a->x, a->W, a, s); }
static inline void average_dx(const dg_pool_args *a, const spot *s) { mean((real *)a->dx + s->at, a->dy, a->Wo, a, s); }

#define OP(name, rows, sweep, one)                                                                            \
    void DG_CPU(name)(const dg_pool_args *a, const dg_tune *tune)                                             \
    {                                                                                                         \
        (void)tune;                                                                                           \
        _Pragma("omp parallel for schedule(static)") for (int64_t row = 0; row < a->N * (int64_t)rows; row++) \
            sweep(a, row, one);                                                                               \
    }
OP(dg_cpu_maxpool, a->Ho, windows, largest)
OP(dg_cpu_maxpool_dx, a->H, pixels, largest_dx)
OP(dg_cpu_meanpool, a->Ho, windows, average)
OP(dg_cpu_meanpool_dx, a->H, pixels, average_dx)
