/* Resizes bilinearly with antialiasing, bit for bit like Pillow's Image.resize(size, BILINEAR)
 * (src/libImaging/Resample.c). The triangle filter is scaled with the image, and weights are 22-bit integers. The
 * horizontal pass comes first and gives 8-bit values. Pillow 13 may run the vertical pass first, which changes
 * values by up to 1. */
#include "host/image/image_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PRECISION = 32 - 8 - 2 };

/* A resize filter with n outputs. Each output is a weighted sum of `count` inputs, which begin at index `from`. */
typedef struct {
    int n, most;
    int *from, *count;
    int32_t *weight;
} filter;

static void filter_free(filter *f)
{
    free(f->from);
    free(f->count);
    free(f->weight);
}

/* Make the filter that resizes `in` to `out` values, for outputs first ... first + n - 1. Free f, even after errors. */
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
        return dg_fail(DG_DEVICE, "no memory to resize an image from %d to %d", in, out);
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

/* The vertical pass computes output rows as weighted sums of input rows. Input rows are added in ascending or
 * descending order, which does not change integer sums. Only sums of incomplete output rows are stored. */
typedef struct {
    filter f;
    size_t n;
    int open;     /* max number of incomplete output rows */
    int32_t *sum; /* (open, n): sum of output row i at index i % open */
    int *left;    /* (f.n): for each output row, the number of input rows still to be added */
    uint8_t *to;  /* (f.n, stride) */
    size_t stride;
} downward;

static dg_err downward_open(downward *d, size_t n, uint8_t *to, size_t stride)
{
    const filter *f = &d->f;
    d->n = n, d->to = to, d->stride = stride, d->open = 1;
    for (int i = 0, k = 0; i < f->n; i++) {
        while (k + 1 < f->n && f->from[k + 1] < f->from[i] + f->count[i]) k++;
        if (k - i + 1 > d->open) d->open = k - i + 1;
    }
    d->sum = calloc((size_t)d->open * n, sizeof *d->sum);
    d->left = malloc((size_t)f->n * sizeof *d->left);
    if (!d->sum || !d->left) return dg_fail(DG_DEVICE, "no memory to resize an image to %d rows", f->n);
    memcpy(d->left, f->count, (size_t)f->n * sizeof *d->left);
    return DG_OK;
}

static void downward_free(downward *d)
{
    filter_free(&d->f);
    free(d->sum);
    free(d->left);
}

static bool downward_wants(const downward *d, int y)
{
    const int last = d->f.n - 1;
    return y >= d->f.from[0] && y < d->f.from[last] + d->f.count[last];
}

static void downward_put(downward *d, int y, const uint8_t *in)
{
    const filter *f = &d->f;
    for (int i = 0; i < f->n && f->from[i] <= y; i++) {
        const int k = y - f->from[i];
        if (k >= f->count[i]) continue;
        const int32_t w = f->weight[(size_t)i * (size_t)f->most + (size_t)k];
        int32_t *sum = d->sum + (size_t)(i % d->open) * d->n;
        if (d->left[i] == f->count[i])
            for (size_t v = 0; v < d->n; v++) sum[v] = 1 << (PRECISION - 1);
        for (size_t v = 0; v < d->n; v++) sum[v] += w * in[v];
        if (--d->left[i] > 0) continue;
        uint8_t *out = d->to + (size_t)i * d->stride;
        for (size_t v = 0; v < d->n; v++) out[v] = clip(sum[v]);
    }
}

typedef struct {
    int x, y, W, H;
} window;

/* Resizes an image row by row or, if `turned` is set, column by column. With `turned`, the horizontal pass `columns`
 * writes `narrow` before the vertical pass `down` reads `narrow`. */
struct dg_fitter {
    int W, H, C;
    int across_to; /* width of the resized image before cropping */
    window win;    /* the part of the resized image that is computed */
    bool turned;
    bool weighed;
    filter fx;
    downward columns; /* horizontal pass of an image that EXIF turns by 90 degrees */
    downward down;
    uint8_t *narrow; /* result of the horizontal pass: a row (win.W, C) or, if turned, (win.W, H, C) */
    uint8_t *row;    /* scratch memory: (W, C) or, if turned, (H, C) and (win.W, C) */
    dg_image *out;
};

/* Start to resize an image to W x H. Only the part `win` is computed and written to `to`. */
static dg_err resample(dg_fitter *f, dg_resize how, int W, int H, window win, uint8_t *to, size_t stride)
{
    const size_t C = (size_t)f->C, row = (size_t)win.W * C, side = (size_t)(f->turned ? f->H : f->W);
    f->across_to = W, f->win = win;
    f->narrow = malloc(row * (f->turned ? side : 1));
    f->row = malloc((side + (size_t)win.W) * C);
    if (!f->narrow || !f->row) return dg_fail(DG_DEVICE, "no memory to resize an image of %d x %d", f->W, f->H);
    dg_err e = filter_make(f->turned ? &f->columns.f : &f->fx, how, f->W, W, win.x, win.W);
    if (!e && f->turned) e = downward_open(&f->columns, side * C, f->narrow, side * C);
    if (!e) e = filter_make(&f->down.f, how, f->H, H, win.y, win.H);
    return e ? e : downward_open(&f->down, row, to, stride);
}

static unsigned parts(unsigned v, unsigned a) { return (v * a + 127) / 255; }

/* Multiply colours by alpha, so that resizing ignores the colours of transparent pixels. */
static void weigh(uint8_t *out, const uint8_t *in, size_t pixels)
{
    for (size_t i = 0; i < 4 * pixels; i++) out[i] = i % 4 == 3 ? in[i] : (uint8_t)parts(in[i], in[i | 3]);
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

void dg_fitter_put(dg_fitter *f, int y, const uint8_t *row)
{
    downward *d = f->turned ? &f->columns : &f->down;
    if (!downward_wants(d, y)) return;
    if (f->weighed) {
        weigh(f->row, row, (size_t)(f->turned ? f->H : f->W));
        row = f->row;
    }
    if (!f->turned && f->across_to == f->W) row += (ptrdiff_t)f->win.x * f->C;
    else if (!f->turned) {
        across(f->narrow, row, &f->fx, f->C);
        row = f->narrow;
    }
    downward_put(d, y, row);
}

static void put_narrow_rows(dg_fitter *f)
{
    const size_t C = (size_t)f->C, stride = (size_t)f->H * C;
    for (int y = 0; y < f->H; y++) {
        for (size_t x = 0; x < (size_t)f->win.W; x++) memcpy(f->row + x * C, f->narrow + x * stride + (size_t)y * C, C);
        downward_put(&f->down, y, f->row);
    }
}

void dg_fitter_close(dg_fitter *f, bool complete)
{
    if (!f) return;
    if (complete && f->turned) put_narrow_rows(f);
    if (complete && f->weighed) unweigh(f->out);
    filter_free(&f->fx);
    downward_free(&f->columns);
    downward_free(&f->down);
    free(f->narrow);
    free(f->row);
    free(f);
}

static dg_err make(dg_image *out, int W, int H, int C)
{
    *out = (dg_image){.W = W, .H = H, .C = C};
    out->pixels = calloc((size_t)W * (size_t)H, (size_t)C); /* black bars */
    return out->pixels ? DG_OK : dg_fail(DG_DEVICE, "no memory for an image of %d x %d", W, H);
}

static dg_err prepare(dg_fitter **out, int W, int H, int C, int W_out, int H_out, dg_image *im)
{
    dg_fitter *f = *out = calloc(1, sizeof *f);
    if (!f) return dg_fail(DG_DEVICE, "no memory to resize an image of %d x %d", W, H);
    *f = (dg_fitter){.W = W, .H = H, .C = C, .out = im};
    return make(im, W_out, H_out, C);
}

/* Returns round(n / 2), rounded half to even as in Python. */
static int half(int n) { return n / 2 + (n % 4 == 3); }

dg_err dg_fitter_open(dg_fitter **out, int W, int H, int C, bool turned, const dg_fitting *how, dg_image *im)
{
    const dg_size to = how->size;
    *im = (dg_image){0};
    *out = NULL;
    if (dg_shorter_side(to) < 1 || dg_longer_side(to) > 16384)
        return dg_fail(DG_USAGE, "image size %d x %d: sides must be 1 to 16384", to.W, to.H);
    const dg_err e = prepare(out, W, H, C, to.W, to.H, im);
    if (e) return e;
    dg_fitter *f = *out;
    f->turned = turned;
    f->weighed = C == 4;
    const size_t stride = (size_t)to.W * (size_t)C;
    const window all = {0, 0, to.W, to.H};
    const int64_t across = (int64_t)W * to.H, down = (int64_t)H * to.W; /* across / down: ratio of the aspect ratios */
    if (how->fit == DG_FIT_CROP) { /* torchvision rounds the side that exceeds the result down */
        const int w = across <= down ? to.W : (int)(across / H), h = across <= down ? (int)(down / W) : to.H;
        return resample(f, how->resize, w, h, (window){half(w - to.W), half(h - to.H), to.W, to.H}, im->pixels, stride);
    }
    if (how->fit == DG_FIT_PAD) { /* PIL's ImageOps.pad rounds the side with black bars to nearest */
        int w = across >= down ? to.W : (int)lrint((double)W / (double)H * to.H);
        int h = across >= down ? (int)lrint((double)H / (double)W * to.W) : to.H;
        if (w < 1) w = 1;
        if (h < 1) h = 1;
        const size_t at = (size_t)half(to.H - h) * stride + (size_t)half(to.W - w) * (size_t)C;
        return resample(f, how->resize, w, h, (window){0, 0, w, h}, im->pixels + at, stride);
    }
    return resample(f, how->resize, to.W, to.H, all, im->pixels, stride);
}

static dg_err put_all(dg_fitter *f, dg_err e, const dg_image *in, dg_image *out)
{
    const size_t row = (size_t)in->W * (size_t)in->C;
    for (int y = 0; y < in->H && !e; y++) dg_fitter_put(f, y, in->pixels + (size_t)y * row);
    dg_fitter_close(f, !e);
    if (e) dg_image_free(out);
    return e;
}

dg_err dg_image_resize(const dg_image *in, int W, int H, dg_image *out)
{
    *out = (dg_image){0};
    if (W < 1 || H < 1 || W > 65536 || H > 65536)
        return dg_fail(DG_USAGE, "resize to %d x %d: sides must be 1 to 65536", W, H);
    dg_fitter *f;
    dg_err e = prepare(&f, in->W, in->H, in->C, W, H, out);
    const size_t stride = (size_t)W * (size_t)in->C;
    if (!e) e = resample(f, DG_RESIZE_BILINEAR, W, H, (window){0, 0, W, H}, out->pixels, stride);
    return put_all(f, e, in, out);
}

dg_err dg_image_fit(const dg_image *in, dg_size size, dg_fit fit, dg_resize resize, dg_image *out)
{
    dg_fitter *f;
    const dg_err e = dg_fitter_open(&f, in->W, in->H, in->C, false, &(dg_fitting){size, in->C, fit, resize}, out);
    return put_all(f, e, in, out);
}
