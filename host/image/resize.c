/* Antialiased bilinear resize, bit for bit as Pillow's Image.resize(size, BILINEAR) does it (src/libImaging/
 * Resample.c): triangle filter stretched by the scale, coefficients rounded to 22-bit fixed point, along rows
 * first, 8 bits between the two passes. Pillow 13 sometimes takes the columns first, which is a difference of 1. */
#include "host/image/image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PRECISION = 32 - 8 - 2 };

/* For each of n output positions: the inputs from `from` on, `count` of them, with weights. */
typedef struct {
    int n, most;
    int *from, *count;
    int32_t *weight; /* (n, most) */
} filter;

static void filter_free(filter *f)
{
    free(f->from);
    free(f->count);
    free(f->weight);
}

/* The filter of in -> out, for the output positions first ... first + n - 1 only. */
static dg_err filter_make(filter *f, dg_resize how, int in, int out, int first, int n)
{
    const bool nearest = how == DG_RESIZE_NEAREST;
    double scale = (double)in / out, wide = scale < 1 ? 1 : scale, support = wide;
    f->n = n;
    f->most = (int)ceil(support) * 2 + 1;
    f->from = malloc((size_t)n * sizeof *f->from);
    f->count = malloc((size_t)n * sizeof *f->count);
    f->weight = calloc((size_t)n * (size_t)f->most, sizeof *f->weight);
    double *w = malloc((size_t)f->most * sizeof *w);
    if (!f->from || !f->count || !f->weight || !w) {
        free(w);
        filter_free(f);
        return dg_fail(DG_DEVICE, "no memory to resize a picture from %d to %d", in, out);
    }
    for (int i = 0; i < n; i++) {
        double center = (first + i + 0.5) * scale, inverse = 1.0 / wide, sum = 0;
        int from = (int)(center - support + 0.5), to = (int)(center + support + 0.5);
        if (nearest) from = (int)center, to = from + 1;
        if (from < 0) from = 0;
        if (to > in) to = in;
        for (int k = 0; k < to - from; k++) {
            double x = fabs((k + from - center + 0.5) * inverse);
            w[k] = nearest ? 1 : x < 1 ? 1 - x : 0;
            sum += w[k];
        }
        for (int k = 0; k < to - from; k++) {
            if (sum != 0) w[k] /= sum;
            f->weight[(size_t)i * (size_t)f->most + (size_t)k] = (int32_t)(0.5 + w[k] * (1 << PRECISION));
        }
        f->from[i] = from;
        f->count[i] = to - from;
    }
    free(w);
    return DG_OK;
}

static uint8_t clip(int32_t v)
{
    v >>= PRECISION;
    return v < 0 ? 0 : v > 255 ? 255 : (uint8_t)v;
}

/* One row: out (f->n, C) from in (., C). */
static void across(uint8_t *out, const uint8_t *in, const filter *f, int C)
{
    for (int i = 0; i < f->n; i++) {
        const int32_t *w = f->weight + (size_t)i * (size_t)f->most;
        const uint8_t *p = in + (size_t)f->from[i] * (size_t)C;
        int32_t sum[4] = {1 << (PRECISION - 1), 1 << (PRECISION - 1), 1 << (PRECISION - 1), 1 << (PRECISION - 1)};
        if (C == 3) {
            for (ptrdiff_t k = 0; k < f->count[i]; k++) {
                sum[0] += w[k] * p[3 * k];
                sum[1] += w[k] * p[3 * k + 1];
                sum[2] += w[k] * p[3 * k + 2];
            }
        } else {
            for (ptrdiff_t k = 0; k < f->count[i]; k++)
                for (int c = 0; c < C; c++) sum[c] += w[k] * p[C * k + c];
        }
        for (int c = 0; c < C; c++) out[i * C + c] = clip(sum[c]);
    }
}

/* One row of n values: out[.] = sum over rows of weight * in[row][.]; sum is n values of scratch. */
static void down(uint8_t *out, const uint8_t *in, const int32_t *weight, int rows, int n, int32_t *sum)
{
    for (int i = 0; i < n; i++) sum[i] = 1 << (PRECISION - 1);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n; i++) sum[i] += weight[r] * in[(size_t)r * (size_t)n + (size_t)i];
    for (int i = 0; i < n; i++) out[i] = clip(sum[i]);
}

typedef struct {
    int x, y, W, H;
} window;

/* The part `win` of what resizing the whole picture to W x H gives; nothing outside of it is computed, so a
 * 1 x 16384 picture costs no more than another. `to` has room for rows of `stride` bytes. */
static dg_err resample(const dg_image *in, dg_resize how, int W, int H, window win, uint8_t *to, size_t stride)
{
    filter fx = {0}, fy = {0};
    dg_err e = filter_make(&fx, how, in->W, W, win.x, win.W);
    if (e) return e;
    e = filter_make(&fy, how, in->H, H, win.y, win.H);
    if (e) {
        filter_free(&fx);
        return e;
    }
    int first = fy.from[0], last = fy.from[win.H - 1] + fy.count[win.H - 1];
    size_t row = (size_t)win.W * (size_t)in->C;
    uint8_t *narrow = malloc((size_t)(last - first) * row);
    int32_t *sum = malloc(row * sizeof *sum);
    if (narrow && sum) {
        for (int y = first; y < last; y++) {
            const uint8_t *from = in->pixels + (size_t)y * (size_t)in->W * (size_t)in->C;
            uint8_t *out = narrow + (size_t)(y - first) * row;
            if (W == in->W) memcpy(out, from + (size_t)win.x * (size_t)in->C, row);
            else across(out, from, &fx, in->C);
        }
        for (int y = 0; y < win.H; y++)
            if (H == in->H) memcpy(to + (size_t)y * stride, narrow + (size_t)y * row, row);
            else
                down(to + (size_t)y * stride, narrow + (size_t)(fy.from[y] - first) * row,
                     fy.weight + (size_t)y * (size_t)fy.most, fy.count[y], (int)row, sum);
    } else {
        e = dg_fail(DG_DEVICE, "no memory to resize a picture of %d x %d", in->W, in->H);
    }
    free(narrow);
    free(sum);
    filter_free(&fx);
    filter_free(&fy);
    return e;
}

static dg_err make(dg_image *out, int W, int H, int C)
{
    *out = (dg_image){.W = W, .H = H, .C = C};
    out->pixels = calloc((size_t)W * (size_t)H, (size_t)C); /* black where nothing is drawn */
    return out->pixels ? DG_OK : dg_fail(DG_DEVICE, "no memory for a picture of %d x %d", W, H);
}

dg_err dg_image_resize(const dg_image *in, int W, int H, dg_image *out)
{
    *out = (dg_image){0};
    if (W < 1 || H < 1 || W > 65536 || H > 65536)
        return dg_fail(DG_USAGE, "resize to %d x %d: sides of 1 to 65536 are possible", W, H);
    dg_err e = make(out, W, H, in->C);
    if (!e) e = resample(in, DG_RESIZE_BILINEAR, W, H, (window){0, 0, W, H}, out->pixels, (size_t)W * (size_t)in->C);
    if (e) dg_image_free(out);
    return e;
}

/* round(n / 2) as Python rounds, to the even one */
static int half(int n) { return n / 2 + (n % 4 == 3); }

static dg_err fit_to(const dg_image *in, int size, dg_fit fit, dg_resize resize, dg_image *out)
{
    dg_err e = make(out, size, size, in->C);
    if (e) return e;
    int64_t W = in->W, H = in->H;
    size_t stride = (size_t)size * (size_t)in->C;
    if (fit == DG_FIT_CROP) { /* torchvision: the longer side is rounded down */
        int w = W <= H ? size : (int)(size * W / H), h = W <= H ? (int)(size * H / W) : size;
        e = resample(in, resize, w, h, (window){half(w - size), half(h - size), size, size}, out->pixels, stride);
    } else if (fit == DG_FIT_PAD) { /* PIL's ImageOps.pad: the shorter side is rounded to nearest */
        int w = W >= H ? size : (int)lrint((double)W / (double)H * size);
        int h = W >= H ? (int)lrint((double)H / (double)W * size) : size;
        if (w < 1) w = 1;
        if (h < 1) h = 1;
        size_t at = (size_t)half(size - h) * stride + (size_t)half(size - w) * (size_t)in->C;
        e = resample(in, resize, w, h, (window){0, 0, w, h}, out->pixels + at, stride);
    } else {
        e = resample(in, resize, size, size, (window){0, 0, size, size}, out->pixels, stride);
    }
    if (e) dg_image_free(out);
    return e;
}

static unsigned parts(unsigned v, unsigned a) { return (v * a + 127) / 255; }

/* Colours as much as they are opaque, a copy: where they are mixed, those that nobody sees do not count. */
static dg_err weigh(const dg_image *in, dg_image *out)
{
    const dg_err e = make(out, in->W, in->H, 4);
    const size_t n = e ? 0 : 4 * (size_t)in->W * (size_t)in->H;
    for (size_t i = 0; i < n; i++)
        out->pixels[i] = i % 4 == 3 ? in->pixels[i] : (uint8_t)parts(in->pixels[i], in->pixels[i | 3]);
    return e;
}

static void unweigh(dg_image *im)
{
    const size_t n = 4 * (size_t)im->W * (size_t)im->H;
    for (size_t i = 0; i < n; i++) {
        const unsigned a = im->pixels[i | 3], v = im->pixels[i];
        if (i % 4 == 3) continue;
        im->pixels[i] = (uint8_t)(a == 0 || v >= a ? 255 : (v * 255 + a / 2) / a);
    }
}

dg_err dg_image_fit(const dg_image *in, int size, dg_fit fit, dg_resize resize, dg_image *out)
{
    *out = (dg_image){0};
    if (size < 1 || size > 16384) return dg_fail(DG_USAGE, "pictures of size %d: 1 to 16384 is possible", size);
    if (in->C != 4) return fit_to(in, size, fit, resize, out);
    dg_image weighed;
    dg_err e = weigh(in, &weighed);
    if (!e) e = fit_to(&weighed, size, fit, resize, out);
    if (!e) unweigh(out);
    dg_image_free(&weighed);
    return e;
}
