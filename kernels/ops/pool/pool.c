/* Max and mean pooling and their gradients. */
#include <stdbool.h>
#include <string.h>

#include "kernels/cpu/cpu.h"

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* A pixel of the result, with the window that it reads (forward) or the windows that contain it (gradient). */
typedef struct {
    int64_t at;
    int64_t from; /* index of the first value of the window (forward) or of the image (gradient) */
    int row, col;
    int y[2], x[2];
} spot;

/* Along one axis, the window pixels out[0] .. out[1] - 1 are inside the image. `first`: position of window pixel 0. */
INLINE void inside(int out[2], int first, int K, int n)
{
    out[0] = first < 0 ? -first : 0;
    out[1] = first + K > n ? n - first : K;
}

/* Windows out[0] .. out[1] - 1, of n, contain pixel i. K: pixels of a window along this axis. */
INLINE void reaching(int out[2], int i, const dg_pool_args *a, int K, int n)
{
    const int last = (i + a->P) / a->S, first = i + a->P - K + 1;
    out[0] = first <= 0 ? 0 : (first + a->S - 1) / a->S;
    out[1] = last < n ? last + 1 : n;
}

typedef void each_spot(const dg_pool_args *a, const spot *s);

/* Calls `border` for the windows that are partly outside of the image, `one` for the others. */
INLINE void windows(const dg_pool_args *a, int64_t row, each_spot *one, each_spot *border)
{
    const int columns = dg_pool_columns(a);
    spot s = {.row = (int)(row % a->Ho) * a->S - a->P};
    inside(s.y, s.row, a->K, a->H);
    for (int ox = 0; ox < a->Wo; ox++) {
        s.col = ox * a->S - a->P;
        s.at = (row * a->Wo + ox) * a->C;
        s.from = ((row / a->Ho * a->H + s.row) * a->W + s.col) * a->C;
        inside(s.x, s.col, columns, a->W);
        spot whole = s;
        whole.y[0] = whole.x[0] = 0;
        whole.y[1] = a->K;
        whole.x[1] = columns;
        if (s.y[1] - s.y[0] == a->K && s.x[1] - s.x[0] == columns) one(a, &whole);
        else border(a, &s);
    }
}

INLINE void pixels(const dg_pool_args *a, int64_t row, int x0, int x1, each_spot *one)
{
    spot s = {.row = (int)(row % a->H), .from = row / a->H * a->Ho * a->Wo * a->C};
    reaching(s.y, s.row, a, a->K, a->Ho);
    for (s.col = x0; s.col < x1; s.col++) {
        s.at = (row * a->W + s.col) * a->C;
        reaching(s.x, s.col, a, dg_pool_columns(a), a->Wo);
        one(a, &s);
    }
}

/* For common window sizes, calls `sweep` with constant K and S, so that loops unroll. */
#define SIZE(kernel, step, a, row, sweep)                          \
    if ((a)->K == (kernel) && (a)->S == (step) && !(a)->columns) { \
        dg_pool_args known = *(a);                                 \
        known.K = (kernel), known.S = (step), known.columns = 0;   \
        sweep(&known, row, true);                                  \
        return;                                                    \
    }
#define BY_SIZE(name, sweep)                             \
    static void name(const dg_pool_args *a, int64_t row) \
    {                                                    \
        SIZE(2, 2, a, row, sweep)                        \
        SIZE(3, 2, a, row, sweep)                        \
        SIZE(4, 2, a, row, sweep)                        \
        SIZE(4, 4, a, row, sweep)                        \
        sweep(a, row, false);                            \
    }

/* Vectors of eight channels. Integers are as wide as values, so that one mask selects from both types. */
enum { LANES = 8 };
#if DG_FP == 64
typedef int64_t number;
#else
typedef int32_t number;
#endif
typedef real values __attribute__((vector_size(LANES * sizeof(real))));
typedef number numbers __attribute__((vector_size(LANES * sizeof(real))));
/* gcc narrows integers to bytes faster in two steps */
typedef uint16_t halves __attribute__((vector_size(LANES * sizeof(uint16_t))));
typedef uint8_t places __attribute__((vector_size(LANES)));

/* `own` masks lane k's byte of a word of indices, because gcc widens the bytes of a vector one by one. */
#if DG_FP == 64
#define BYTE(k) ((number)(0xffull << 8 * (k)))
static const numbers own = {BYTE(0), BYTE(1), BYTE(2), BYTE(3), BYTE(4), BYTE(5), BYTE(6), BYTE(7)};
#else
#define BYTE(k) ((number)(0xffu << 8 * (k)))
static const numbers own = {BYTE(0), BYTE(1), BYTE(2), BYTE(3), BYTE(0), BYTE(1), BYTE(2), BYTE(3)};
#endif

INLINE void load_places(numbers *out, const uint8_t *at)
{
    const numbers upper = {0, 0, 0, 0, -1, -1, -1, -1};
    number first, last;
    memcpy(&first, at, sizeof first);
    memcpy(&last, at + LANES - sizeof last, sizeof last);
    *out = (((first - (numbers){0}) & ~upper) | ((last - (numbers){0}) & upper)) & own;
}

#define PLACE(k) (((number)(0x0101010101010101ull * (unsigned)(k)) - (numbers){0}) & own)

typedef void some_channels(const dg_pool_args *a, const spot *s, int c0, const int n);

/* For C >= LANES. If C is not a multiple of LANES, the last two vectors overlap. */
INLINE void by_lanes(const dg_pool_args *a, const spot *s, some_channels *some)
{
    for (int c = 0; c < a->C; c += LANES) some(a, s, a->C - c < LANES ? a->C - LANES : c, LANES);
}

/* Finds the largest value and its index without branches, which would be unpredictable. The first NaN counts as the
 * largest value. */
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
    const places place = __builtin_convertvector(__builtin_convertvector(which, halves), places);
    memcpy((real *)a->y + s->at + c0, &best, (size_t)n * sizeof(real));
    memcpy(a->place + s->at + c0, &place, (size_t)n);
}

/* Windows at the border and few channels: not inlined, because no loop has a constant length. */
static __attribute__((noinline)) void largest_at_border(const dg_pool_args *a, const spot *s)
{
    if (a->C < LANES) largest_of(a, s, 0, a->C);
    else by_lanes(a, s, largest_of);
}
INLINE void largest(const dg_pool_args *a, const spot *s)
{
    if (a->C < LANES) largest_at_border(a, s);
    else by_lanes(a, s, largest_of);
}
INLINE void largest_windows(const dg_pool_args *a, int64_t row, bool known)
{
    if (known) windows(a, row, largest, largest_at_border);
    else windows(a, row, largest_at_border, largest_at_border);
}
BY_SIZE(largest_row, largest_windows)

/* Computes n channels of a pixel's gradient. The windows that contain the pixel are added in the order of rows and
 * columns. */
INLINE void told_of(const dg_pool_args *a, const spot *s, int c0, const int n)
{
    values sum = {0};
    for (int oy = s->y[0]; oy < s->y[1]; oy++)
        for (int ox = s->x[0]; ox < s->x[1]; ox++) {
            const int here = (s->row + a->P - oy * a->S) * a->K + s->col + a->P - ox * a->S;
            const int64_t at = s->from + ((int64_t)oy * a->Wo + ox) * a->C + c0;
            const real *dy = (const real *)a->dy + at;
            if (n == 1) {
                sum[0] += a->place[at] == here ? *dy : 0;
                continue;
            }
            values v;
            numbers place;
            memcpy(&v, dy, sizeof v);
            load_places(&place, a->place + at);
            sum += (values)((place == PLACE(here)) & (numbers)v);
        }
    memcpy((real *)a->dx + s->at + c0, &sum, (size_t)n * sizeof(real));
}

INLINE void told(const dg_pool_args *a, const spot *s)
{
    if (a->C >= LANES) by_lanes(a, s, told_of);
    else
        for (int c = 0; c < a->C; c++) told_of(a, s, c, 1);
}

/* A row of cells. Cell (oy, ox) has S x S pixels. Window (oy, ox) is the last of at most R x R windows that contain
 * pixels of the cell. `dy` and `place` point to window (oy, 0), and `dx` points to the first pixel of cell (oy, 0).
 * `there[r]`: row r of the R rows of windows exists. */
typedef struct {
    const real *dy;
    const uint8_t *place;
    real *dx;
    bool there[2];
} cell_row;

/* Computes eight channels of a cell. All R columns of windows must exist. Rows of windows that do not exist contribute
 * nothing. */
INLINE void cell(const dg_pool_args *a, const cell_row *row, int64_t ox, int c, const int R)
{
    values dy[4];
    numbers place[4];
    UNROLL for (int w = 0; w < R * R; w++)
    {
        const int64_t at = ((int64_t)(w / R - R + 1) * a->Wo + ox + w % R - R + 1) * a->C + c;
        dy[w] = (values){0};
        place[w] = own;
        if (!row->there[w / R]) continue;
        memcpy(&dy[w], row->dy + at, sizeof dy[w]);
        load_places(&place[w], row->place + at);
    }
    real *to = row->dx + ox * a->S * a->C + c;
    UNROLL for (int p = 0; p < a->S * a->S; p++)
    {
        values sum = {0};
        UNROLL for (int w = 0; w < R * R; w++)
        {
            const int r = p / a->S + (R - 1 - w / R) * a->S, q = p % a->S + (R - 1 - w % R) * a->S;
            if (r < a->K && q < a->K) sum += (values)((place[w] == PLACE(r * a->K + q)) & (numbers)dy[w]);
        }
        memcpy(to + ((int64_t)(p / a->S) * a->W + p % a->S) * a->C, &sum, sizeof sum);
    }
}

static inline int cell_rows(const dg_pool_args *a) { return (a->H + a->P - 1) / a->S + 1; }

static __attribute__((noinline)) void single_pixels(const dg_pool_args *a, int64_t image, int y0, int y1, int x0,
                                                    int x1)
{
    for (int y = y0 < 0 ? 0 : y0; y < y1 && y < a->H; y++)
        pixels(a, image * a->H + y, x0 < 0 ? 0 : x0, x1 < a->W ? x1 : a->W, told);
}

/* Computes pixels singly near the border, or if K and S are not constants. With fewer than eight channels, excess lanes
 * of a vector are overwritten later. */
INLINE void cells(const dg_pool_args *a, int64_t row, bool known)
{
    const int64_t image = row / cell_rows(a);
    const int oy = (int)(row % cell_rows(a)), y0 = oy * a->S - a->P, y1 = y0 + a->S, R = (a->K + a->S - 1) / a->S;
    const int64_t at = (image * a->Ho + oy) * a->Wo * a->C;
    const cell_row whole = {.dy = (const real *)a->dy + at,
                            .place = a->place + at,
                            .dx = (real *)a->dx + ((image * a->H + y0) * a->W - a->P) * a->C,
                            .there = {R == 1 ? oy < a->Ho : oy > 0, oy < a->Ho}};
    const int pixel = a->C < LANES ? (LANES - 1) / a->C : 0;
    int first = (a->P + a->S - 1) / a->S, last = (a->W - pixel + a->P) / a->S;
    if (first < R - 1) first = R - 1;
    if (last > a->Wo - pixel) last = a->Wo - pixel;
    if (!known || y0 < 0 || y1 > a->H || last <= first) {
        single_pixels(a, image, y0, y1, 0, a->W);
        return;
    }
    single_pixels(a, image, y0, y1, 0, first * a->S - a->P);
    for (int ox = first; ox < last; ox++)
        for (int c = 0; c < a->C; c += LANES)
            cell(a, &whole, ox, a->C > LANES && a->C - c < LANES ? a->C - LANES : c, R);
    single_pixels(a, image, y0, y1, last * a->S - a->P, a->W);
}

BY_SIZE(largest_dx_row, cells)

/* Computes the mean of a window of `in`. Pixels outside of the image count as 0. `width`: columns of `in`. */
static inline void mean(real *restrict out, const real *in, int width, const dg_pool_args *a, const spot *s)
{
    const real all = (real)a->K * (real)dg_pool_columns(a);
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

/* Min number of values, read or written, for which several threads are faster. */
enum { MANY = 1 << 15 };

static bool many(const dg_pool_args *a)
{
    const int64_t all = (int64_t)a->N * a->C, windows = (int64_t)a->Ho * a->Wo * a->K * dg_pool_columns(a);
    const int64_t pixels = (int64_t)a->H * a->W;
    return all * (windows > pixels ? windows : pixels) >= MANY;
}

#define OP(name, rows, sweep)                                                                               \
    DG_CPU_OP(name, pool)                                                                                   \
    {                                                                                                       \
        const int64_t n = (int64_t)a->N * (rows);                                                           \
        const bool team = many(a);                                                                          \
        (void)team;                                                                                         \
        _Pragma("omp parallel for schedule(static) if (team)") for (int64_t row = 0; row < n; row++) sweep; \
    }
OP(maxpool, a->Ho, largest_row(a, row))
OP(maxpool_dx, cell_rows(a), largest_dx_row(a, row))
OP(meanpool, a->Ho, windows(a, row, average, average))
OP(meanpool_dx, a->H, pixels(a, row, 0, a->W, average_dx))
