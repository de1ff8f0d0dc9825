/* Computes the sliced Wasserstein distance x 1,000 at each level of a Laplacian pyramid (Rabin et al. 2011, Karras
 * et al. 2018). Each image has 64 patches of 7 x 7 pixels with normalised channels. The patches are projected on 128
 * random directions. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/rng.h"
#include "host/judge/judge_internal.h"
#include "host/whiten/products.h"

enum { SIDE = 7, PATCHES = 64, DIRECTIONS = 128, AT_ONCE = 4096, BITS = 11 };

typedef struct {
    const dg_jury *j;
    const uint8_t *pixels;
    int level, values;
    dg_size size; /* of the level */
    size_t rows;
    float *patch; /* (rows, values) */
    float *along; /* (DIRECTIONS, rows) */
} slices;

bool dg_sliced_level(dg_size size, int level)
{
    const int parts = 1 << level, shorter = dg_shorter_side(size);
    return shorter >= SIDE && (!level || (size.W % parts == 0 && size.H % parts == 0 && shorter >> level >= 16));
}

static ptrdiff_t mirrored(ptrdiff_t i, ptrdiff_t n) { return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i; }

/* Returns output i of the filter (1 4 6 4 1) / 16 for n values, which are `stride` apart in x. If `up` is set, zeros
 * are first inserted between the values, and the result is doubled. */
static float filter(const float *x, ptrdiff_t i, ptrdiff_t n, ptrdiff_t stride, bool up)
{
    static const float weight[5] = {1 / 16.f, 4 / 16.f, 6 / 16.f, 4 / 16.f, 1 / 16.f};
    if (i >= 2 && i + 2 < n) {
        const float *p = x + (up ? i / 2 : i) * stride;
        if (!up)
            return weight[0] * (p[-2 * stride] + p[2 * stride]) + weight[1] * (p[-stride] + p[stride]) + weight[2] * *p;
        return i % 2 ? 0.5f * (p[0] + p[stride]) : 0.125f * (p[-stride] + p[stride]) + 0.75f * p[0];
    }
    float sum = 0;
    for (ptrdiff_t k = -2; k <= 2; k++) {
        const ptrdiff_t at = mirrored(i + k, n);
        if (!up) sum += weight[k + 2] * x[at * stride];
        else if (at % 2 == 0) sum += 2 * weight[k + 2] * x[at / 2 * stride];
    }
    return sum;
}

/* Downsample x (s.H, s.W, C) to y (s.H / 2, s.W / 2, C). */
static void shrink(float *y, const float *x, float *room, dg_size s, ptrdiff_t C)
{
    const ptrdiff_t W = s.W, H = s.H;
    for (ptrdiff_t r = 0; r < H; r++)
        for (ptrdiff_t c = 0; c < W / 2; c++)
            for (ptrdiff_t k = 0; k < C; k++)
                room[(r * (W / 2) + c) * C + k] = filter(x + r * W * C + k, 2 * c, W, C, false);
    for (ptrdiff_t r = 0; r < H / 2; r++)
        for (ptrdiff_t c = 0; c < W / 2 * C; c++) y[r * (W / 2) * C + c] = filter(room + c, 2 * r, H, W / 2 * C, false);
}

/* Subtract the upsampled y (s.H / 2, s.W / 2, C) from x (s.H, s.W, C). */
static void subtract_grown(float *x, const float *y, float *room, dg_size s, ptrdiff_t C)
{
    const ptrdiff_t W = s.W, H = s.H;
    for (ptrdiff_t r = 0; r < H / 2; r++)
        for (ptrdiff_t c = 0; c < W; c++)
            for (ptrdiff_t k = 0; k < C; k++)
                room[(r * W + c) * C + k] = filter(y + r * (W / 2) * C + k, c, W, C, true);
    for (ptrdiff_t r = 0; r < H; r++)
        for (ptrdiff_t c = 0; c < W * C; c++) x[r * W * C + c] -= filter(room + c, r, H, W * C, true);
}

/* Store pyramid level s->level of an image in x. `y` and `room` are scratch memory, each as large as the image. */
static void take_level(const slices *s, const uint8_t *pixels, float *x, float *y, float *room)
{
    const int C = s->j->channels;
    dg_size n = s->j->size;
    for (int i = 0; i < n.W * n.H * C; i++) x[i] = pixels[i];
    for (int level = 0; level < s->level; level++) {
        shrink(y, x, room, n, C);
        n.W /= 2, n.H /= 2;
        memcpy(x, y, dg_size_values(n, C) * sizeof *x);
    }
    if (!dg_sliced_level(s->j->size, s->level + 1)) return; /* the last level of the pyramid is the downsampled image */
    shrink(y, x, room, n, C);
    subtract_grown(x, y, room, n, C);
}

/* Cut patches at random positions, which are equal for image i of each set. */
static void cut(const slices *s, const float *x, int i, float *out)
{
    const int C = s->j->channels;
    const int across = s->size.W - SIDE + 1, down = s->size.H - SIDE + 1;
    uint32_t word[4] = {0};
    for (int p = 0; p < PATCHES; p++) {
        if (p % 2 == 0)
            dg_philox(word, 0, dg_subsequence(DG_STREAM_JUDGE, DG_DRAW_PLACES + (uint64_t)s->level),
                      (uint64_t)i * (PATCHES / 2) + (uint64_t)p / 2);
        const uint32_t *at = p % 2 ? word + 2 : word;
        const ptrdiff_t top = (ptrdiff_t)(at[0] * (uint64_t)down >> 32),
                        left = (ptrdiff_t)(at[1] * (uint64_t)across >> 32);
        const size_t row = (size_t)SIDE * (size_t)C;
        for (int r = 0; r < SIDE; r++, out += row)
            memcpy(out, x + ((top + r) * s->size.W + left) * C, row * sizeof *out);
    }
}

static dg_err cut_all(slices *s)
{
    const size_t image = dg_size_values(s->j->size, s->j->channels), each = (size_t)PATCHES * (size_t)s->values;
    bool whole = true;
#pragma omp parallel for reduction(&& : whole)
    for (int i = 0; i < s->j->count; i++) {
        float *x = malloc(3 * image * sizeof *x);
        whole = whole && x;
        if (!x) continue;
        take_level(s, s->pixels + (size_t)i * image, x, x + image, x + 2 * image);
        cut(s, x, i, s->patch + (size_t)i * each);
        free(x);
    }
    return whole ? DG_OK : dg_fail(DG_DEVICE, "out of memory for image patches");
}

/* A constant channel becomes 0. */
static void normalise(slices *s)
{
    const int C = s->j->channels;
#pragma omp parallel for
    for (int c = 0; c < C; c++) {
        const size_t all = s->rows * (size_t)s->values;
        double sum = 0, squares = 0;
        for (size_t i = (size_t)c; i < all; i += (size_t)C) sum += (double)s->patch[i];
        const size_t each = all / (size_t)C;
        const double n = (double)each, mean = sum / n;
        for (size_t i = (size_t)c; i < all; i += (size_t)C)
            squares += ((double)s->patch[i] - mean) * ((double)s->patch[i] - mean);
        const double scale = squares > 0 ? 1 / sqrt(squares / n) : 0;
        for (size_t i = (size_t)c; i < all; i += (size_t)C) s->patch[i] = (float)(((double)s->patch[i] - mean) * scale);
    }
}

/* Draw random directions (DIRECTIONS, values) of Euclidean length 1. */
static float *directions(int values)
{
    const size_t n = (size_t)DIRECTIONS * (size_t)values;
    float *w = malloc((n + 3) * sizeof *w);
    for (size_t i = 0; i < n && w; i += 4)
        dg_normal4(w + i, 0, dg_subsequence(DG_STREAM_JUDGE, DG_DRAW_DIRECTIONS), i / 4);
    for (int d = 0; d < DIRECTIONS && w; d++) {
        double square = 0;
        float *at = w + (ptrdiff_t)d * values;
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): dg_normal4 wrote these values */
        for (int k = 0; k < values; k++) square += (double)at[k] * (double)at[k];
        for (int k = 0; k < values; k++) at[k] = (float)((double)at[k] / sqrt(square));
    }
    return w;
}

static dg_err project(slices *s, const float *w)
{
    dg_products p = {.rows = AT_ONCE, .k = s->values, .columns = DIRECTIONS, .type = DG_F32};
    float *y = malloc((size_t)AT_ONCE * DIRECTIONS * sizeof *y);
    dg_err e = y ? dg_products_open(&p, s->j->threads, w, NULL) : dg_fail(DG_DEVICE, "out of memory");
    for (size_t first = 0; first < s->rows && !e; first += AT_ONCE) {
        const size_t n = s->rows - first < AT_ONCE ? s->rows - first : AT_ONCE;
        e = dg_products_take(&p, s->patch + first * (size_t)s->values, (int)n, y);
#pragma omp parallel for
        for (size_t d = 0; d < DIRECTIONS; d++)
            for (size_t i = 0; i < n; i++) s->along[d * s->rows + first + i] = y[i * DIRECTIONS + d];
    }
    dg_products_close(&p);
    free(y);
    return e;
}

/* rising() maps the bits of a float to an unsigned key with the order of floats. The function falling_back() is the
 * inverse of rising(). */
static uint32_t rising(uint32_t bits) { return bits >> 31 ? ~bits : bits | 1u << 31; }
static uint32_t falling_back(uint32_t key) { return key >> 31 ? key & ~(1u << 31) : ~key; }

/* Radix sort of n floats in three passes of 11 bits. `key` and `room` are scratch memory (n). */
static void sort(float *x, size_t n, uint32_t *key, uint32_t *room)
{
    memcpy(key, x, n * sizeof *key);
    for (size_t i = 0; i < n; i++) key[i] = rising(key[i]);
    for (int shift = 0; shift < 32; shift += BITS) {
        size_t at[1 << BITS] = {0}, sum = 0;
        for (size_t i = 0; i < n; i++) at[key[i] >> shift & ((1 << BITS) - 1)]++;
        for (size_t k = 0; k < 1 << BITS; k++) {
            const size_t count = at[k];
            at[k] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++) room[at[key[i] >> shift & ((1 << BITS) - 1)]++] = key[i];
        uint32_t *was = key;
        key = room;
        room = was;
    }
    for (size_t i = 0; i < n; i++) key[i] = falling_back(key[i]);
    memcpy(x, key, n * sizeof *key);
}

static dg_err sort_all(slices *s)
{
    bool whole = true;
#pragma omp parallel for reduction(&& : whole)
    for (size_t d = 0; d < DIRECTIONS; d++) {
        uint32_t *room = malloc(2 * s->rows * sizeof *room);
        whole = whole && room;
        if (room) sort(s->along + d * s->rows, s->rows, room, room + s->rows);
        free(room);
    }
    return whole ? DG_OK : dg_fail(DG_DEVICE, "out of memory for image patches");
}

static dg_err slice(slices *s, const float *w)
{
    s->patch = malloc(s->rows * (size_t)s->values * sizeof *s->patch);
    s->along = malloc(s->rows * DIRECTIONS * sizeof *s->along);
    dg_err e = s->patch && s->along ? cut_all(s)
                                    : dg_fail(DG_DEVICE, "out of memory for patches of %d images", s->j->count);
    if (!e) normalise(s);
    if (!e) e = project(s, w);
    free(s->patch);
    s->patch = NULL;
    return e ? e : sort_all(s);
}

static double distance(const slices *a, const slices *b)
{
    double each[DIRECTIONS], sum = 0;
#pragma omp parallel for
    for (size_t d = 0; d < DIRECTIONS; d++) {
        each[d] = 0;
        for (size_t i = d * a->rows; i < (d + 1) * a->rows; i++)
            each[d] += fabs((double)a->along[i] - (double)b->along[i]);
    }
    for (int d = 0; d < DIRECTIONS; d++) sum += each[d];
    return 1000 * sum / DIRECTIONS / (double)a->rows;
}

static dg_err compare(const dg_jury *j, int level, const dg_judged *reals, const dg_judged *other, double *out)
{
    slices a = {.j = j,
                .pixels = reals->pixels,
                .level = level,
                .values = SIDE * SIDE * j->channels,
                .size = {j->size.W >> level, j->size.H >> level},
                .rows = (size_t)j->count * PATCHES},
           b = a;
    b.pixels = other->pixels;
    float *w = directions(a.values);
    dg_err e = w ? slice(&a, w) : dg_fail(DG_DEVICE, "out of memory");
    if (!e) e = slice(&b, w);
    if (!e) *out = distance(&a, &b);
    free(w);
    free(a.along);
    free(b.along);
    return e;
}

dg_err dg_beside_sliced(const dg_jury *j, const dg_judged *reals, dg_judged *other)
{
    dg_err e = DG_OK;
    int levels = 0;
    other->beside[DG_BESIDE_SWD] = 0;
    for (; levels < DG_SLICED_LEVELS && dg_sliced_level(j->size, levels) && !e; levels++) {
        double *out = &other->beside[DG_BESIDE_LEVEL + levels];
        e = compare(j, levels, reals, other, out);
        other->beside[DG_BESIDE_SWD] += *out;
    }
    other->beside[DG_BESIDE_SWD] /= levels ? levels : 1;
    return e;
}
