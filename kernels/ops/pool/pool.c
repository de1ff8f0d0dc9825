/* Max and mean pooling and their gradients: a pixel of the result at a time, its channels side by side. */
#include <stdbool.h>
#include <string.h>

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

/* Eight channels: values, and numbers as wide, so that comparisons choose among both. */
enum { LANES = 8 };
#if DG_FP == 64
typedef int64_t number;
#else
typedef int32_t number;
#endif
typedef real values __attribute__((vector_size(LANES * sizeof(real))));
typedef number numbers __attribute__((vector_size(LANES * sizeof(real))));
typedef uint8_t places __attribute__((vector_size(LANES)));
#define INLINE static inline __attribute__((always_inline))

/* Channels c0 .. c0 + n - 1 of a spot. */
typedef void some_channels(const dg_pool_args *a, const spot *s, int c0, const int n);

/* All channels; where the last ones are fewer than a vector, some are done again. */
INLINE void by_lanes(const dg_pool_args *a, const spot *s, some_channels *some)
{
    if (a->C < LANES) some(a, s, 0, a->C);
    for (int c = 0; c < a->C && a->C >= LANES; c += LANES) some(a, s, a->C - c < LANES ? a->C - LANES : c, LANES);
}

/* The largest value and its place, without jumps, as nobody can guess which pixel it is: also the first NaN, which
 * stays. */
INLINE void largest_of(const dg_pool_args *a, const spot *s, int c0, const int n)
{
    values best = {0};
    numbers which = {0}, first = which - 1;
    for (int r = s->y[0]; r < s->y[1]; r++)
        for (int q = s->x[0]; q < s->x[1]; q++) {
            values v = {0};
            memcpy(&v, (const real *)a->x + s->from + ((int64_t)r * a->W + q) * a->C + c0, (size_t)n * sizeof(real));
            const numbers better = first | (v > best) | ((v != v) & (best == best));
            best = (values)((better & (numbers)v) | (~better & (numbers)best));
            which = (better & ((number)r * a->K + q)) | (~better & which);
            first = (numbers){0};
        }
    const places place = __builtin_convertvector(which, places);
    memcpy((real *)a->y + s->at + c0, &best, (size_t)n * sizeof(real));
    memcpy(a->place + s->at + c0, &place, (size_t)n);
}

static inline void largest(const dg_pool_args *a, const spot *s) { by_lanes(a, s, largest_of); }

/* What a window says of the pixels of one row, to channels 0 .. n - 1 of each: pixels q[0] .. q[1] - 1 of the window,
 * the first at dx, which are places from `here` on. The first `done` channels have been told already. */
INLINE void tell(real *dx, const dg_pool_args *a, int64_t at, const int q[2], number here, int done, const int n)
{
    const numbers lane = {0, 1, 2, 3, 4, 5, 6, 7};
    values dy = {0};
    places place = {0};
    memcpy(&dy, (const real *)a->dy + at, (size_t)n * sizeof(real));
    memcpy(&place, a->place + at, (size_t)n);
    const numbers which = __builtin_convertvector(place, numbers), to = lane >= done;
    for (int k = q[0]; k < q[1]; k++, dx += a->C) {
        values sum = {0};
        if (a->K > a->S) memcpy(&sum, dx, (size_t)n * sizeof(real)); /* else no other window reaches it */
        sum += (values)((which == here + k) & to & (numbers)dy);
        memcpy(dx, &sum, (size_t)n * sizeof(real));
    }
}

/* A row of pixels: every window that reaches it, so that each pixel adds them in the order of rows and columns. */
static void largest_dx(const dg_pool_args *a, int64_t row)
{
    const int C = a->C, y = (int)(row % a->H);
    real *dx = (real *)a->dx + row * a->W * C;
    int r[2], q[2];
    reaching(r, y, a, a->Ho);
    memset(dx, 0, (size_t)a->W * (size_t)C * sizeof(real));
    for (int oy = r[0]; oy < r[1]; oy++)
        for (int ox = 0; ox < a->Wo; ox++) {
            const int col = ox * a->S - a->P;
            const int64_t at = ((row / a->H * a->Ho + oy) * a->Wo + ox) * C;
            const number here = (number)(y + a->P - oy * a->S) * a->K;
            inside(q, col, a->K, a->W);
            real *first = dx + (int64_t)(col + q[0]) * C;
            if (C < LANES) tell(first, a, at, q, here, 0, C);
            for (int c = 0; c < C && C >= LANES; c += LANES) {
                const int back = C - c < LANES ? LANES - (C - c) : 0;
                tell(first + c - back, a, at + c - back, q, here, a->K > a->S ? back : 0, LANES);
            }
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

/* Values that are read or written, whichever are more, from which on threads are worth it: 20 us of one. */
enum { MANY = 1 << 16 };

static bool many(const dg_pool_args *a)
{
    const int64_t all = (int64_t)a->N * a->C, windows = (int64_t)a->Ho * a->Wo * a->K * a->K;
    const int64_t pixels = (int64_t)a->H * a->W;
    return all * (windows > pixels ? windows : pixels) >= MANY;
}

#define OP(name, rows, sweep)                                                                               \
    void DG_CPU(name)(const dg_pool_args *a, const dg_tune *tune)                                           \
    {                                                                                                       \
        (void)tune;                                                                                         \
        const int64_t n = (int64_t)a->N * (rows);                                                           \
        const bool team = many(a);                                                                          \
        (void)team; /* without OpenMP */                                                                    \
        _Pragma("omp parallel for schedule(static) if (team)") for (int64_t row = 0; row < n; row++) sweep; \
    }
OP(dg_cpu_maxpool, a->Ho, windows(a, row, largest))
OP(dg_cpu_maxpool_dx, a->H, largest_dx(a, row))
OP(dg_cpu_meanpool, a->Ho, windows(a, row, average))
OP(dg_cpu_meanpool_dx, a->H, pixels(a, row, average_dx))
