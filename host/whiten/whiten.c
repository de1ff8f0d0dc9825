#include "host/whiten/whiten.h"

#include <stdlib.h>
#include <string.h>

double dg_whitening_bytes(dg_size size, int channels)
{
    const double n = (double)size.W * size.H * channels;
    return (n * n + n) * sizeof(double);
}

/* one matrix for the result, four for products, two for sums or the root */
double dg_whitening_bytes_to_find(dg_size size, int channels) { return 7 * dg_whitening_bytes(size, channels); }

dg_whitening *dg_whitening_new(dg_size size, int channels)
{
    dg_whitening *w = calloc(1, sizeof *w);
    const size_t n = dg_size_values(size, channels);
    if (!w) return NULL;
    *w = (dg_whitening){.size = size, .channels = channels, .values = (int)n};
    w->weight = calloc(n * n, sizeof *w->weight);
    w->bias = calloc(n, sizeof *w->bias);
    if (w->weight && w->bias) return w;
    dg_whitening_free(w);
    return NULL;
}

void dg_whitening_free(dg_whitening *w)
{
    if (!w) return;
    dg_products_close(&w->apply);
    free(w->weight);
    free(w->bias);
    free(w);
}

/* Store each image, n values, as a column of out (n, n); the remaining columns are 0. */
static void transpose(const uint8_t *pixels, size_t images, size_t n, double *out)
{
    enum { BLOCK = 32 };
    memset(out, 0, n * n * sizeof *out);
    for (size_t i = 0; i < n; i += BLOCK)
        for (size_t k = 0; k < images; k++)
            for (size_t j = i; j < n && j < i + BLOCK; j++) out[j * n + k] = pixels[k * n + j];
}

/* Add X^T X of the images X (count, n) to gram (n, n), n images at a time. */
static dg_err sum_products(dg_symmetric *s, const uint8_t *pixels, size_t count, double *gram)
{
    const size_t n = (size_t)s->n;
    double *columns = malloc(2 * n * n * sizeof *columns), *part = columns + n * n;
    dg_err e = columns ? DG_OK : dg_fail(DG_DEVICE, "out of memory for a matrix of %zu x %zu", n, n);
    for (size_t at = 0; at < count && !e; at += n) {
        transpose(pixels + at * n, count - at < n ? count - at : n, n, columns);
        e = dg_symmetric_product(s, columns, columns, part);
        for (size_t i = 0; i < n * n && !e; i++) gram[i] += part[i];
    }
    free(columns);
    return e;
}

/* Convert gram from sums of products of pixels 0..255 to the covariance of pixels 0..1. `mean` receives the mean of
 * pixels 0..1. */
static void covariance(const uint8_t *pixels, size_t count, size_t n, double *gram, double *mean)
{
    const double N = (double)count;
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; i < n; i++) mean[i] += pixels[k * n + i];
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            gram[i * n + j] = (N * gram[i * n + j] - mean[i] * mean[j]) / (N * N * 255 * 255);
    for (size_t i = 0; i < n; i++) mean[i] /= 255 * N;
}

static double rounded(double v, dg_type real) { return real == DG_F32 ? (double)(float)v : v; }

/* Compute weight and bias. Before the call, w->weight is the covariance and w->bias is the mean. */
static dg_err finish(dg_symmetric *s, const dg_whitening_options *o, dg_whitening *w)
{
    const size_t n = (size_t)w->values;
    double *root = malloc(n * n * sizeof *root);
    if (!root) return dg_fail(DG_DEVICE, "out of memory for a matrix of %zu x %zu", n, n);
    for (size_t i = 0; i < n; i++) w->weight[i * n + i] += o->epsilon;
    s->total = s->done + dg_inverse_root_products(o->epsilon, dg_symmetric_most(w->weight, s->n));
    const dg_err e = dg_symmetric_inverse_root(s, w->weight, o->epsilon, root);
    for (size_t i = 0; i < n * n; i++) w->weight[i] = rounded(root[i], o->real);
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t j = 0; j < n; j++) sum += w->weight[i * n + j] * w->bias[j];
        root[i] = rounded(-sum, o->real);
    }
    memcpy(w->bias, root, n * sizeof *root);
    free(root);
    return e;
}

dg_err dg_whitening_fit(const dg_whitening_options *o, const uint8_t *pixels, int n, dg_whitening **out)
{
    dg_whitening *w = *out = dg_whitening_new(o->size, o->channels);
    if (!w) return dg_fail(DG_DEVICE, "out of memory for whitening");
    dg_symmetric s = {.n = w->values, .progress = o->progress, .context = o->context, .stop = o->stop};
    /* an estimate, until `finish` has the bound of the eigenvalues */
    s.total = (n + w->values - 1) / w->values + dg_inverse_root_products(o->epsilon, 100);
    dg_err e = dg_symmetric_open(&s, o->threads);
    if (!e) e = sum_products(&s, pixels, (size_t)n, w->weight);
    if (!e) covariance(pixels, (size_t)n, (size_t)w->values, w->weight, w->bias);
    if (!e) e = finish(&s, o, w);
    dg_symmetric_close(&s);
    if (!e) return DG_OK;
    dg_whitening_free(w);
    *out = NULL;
    return e;
}

enum { CHUNK = 64 };

static void to_real(dg_type real, void *out, size_t i, double v)
{
    if (real == DG_F32) ((float *)out)[i] = (float)v;
    else ((double *)out)[i] = v;
}

static dg_err begin(dg_whitening *w, dg_type real, int threads)
{
    const size_t n = (size_t)w->values, width = dg_type_bytes(real);
    char *weight = malloc((n * n + n) * width);
    if (!weight) return dg_fail(DG_DEVICE, "out of memory for whitening");
    char *bias = weight + n * n * width;
    for (size_t i = 0; i < n * n; i++) to_real(real, weight, i, w->weight[i]);
    for (size_t i = 0; i < n; i++) to_real(real, bias, i, w->bias[i]);
    w->apply = (dg_products){.rows = CHUNK, .k = w->values, .columns = w->values, .type = real};
    const dg_err e = dg_products_open(&w->apply, threads, weight, bias);
    free(weight);
    return e;
}

/* x: buffer for CHUNK images; count <= CHUNK. */
static dg_err whiten_chunk(dg_whitening *w, const uint8_t *pixels, size_t count, void *x, char *out, size_t stride)
{
    const dg_type real = w->apply.type;
    const size_t n = (size_t)w->values, bytes = n * dg_type_bytes(real);
    for (size_t i = 0; i < count * n; i++) to_real(real, x, i, pixels[i] / 255.0);
    const dg_err e = dg_products_take(&w->apply, x, (int)count, x);
    for (size_t i = 0; i < count && !e; i++) memcpy(out + i * stride, (char *)x + i * bytes, bytes);
    return e;
}

dg_err dg_whiten(dg_whitening *w, dg_type real, int threads, const uint8_t *pixels, int n, void *out, size_t stride)
{
    dg_err e = w->apply.own.b ? DG_OK : begin(w, real, threads);
    void *x = malloc((size_t)CHUNK * (size_t)w->values * sizeof(double));
    if (!e && !x) e = dg_fail(DG_DEVICE, "out of memory for whitening");
    for (int i = 0; i < n && !e; i += CHUNK) {
        const int count = n - i < CHUNK ? n - i : CHUNK;
        e = whiten_chunk(w, pixels + (size_t)i * (size_t)w->values, (size_t)count, x, (char *)out + (size_t)i * stride,
                         stride);
        if (!e && w->stop && *w->stop) e = dg_fail(DG_FAILED, "stopped while whitening");
        if (!e && w->progress) w->progress(w->context, i + count, n);
    }
    free(x);
    return e;
}

/* Returns the index in memory (order H, W, C) of value i of a file (order C, H, W). */
static size_t place(const dg_whitening *w, size_t i)
{
    const size_t pixels = dg_size_pixels(w->size);
    return i % pixels * (size_t)w->channels + i / pixels;
}

void dg_whitening_to_file(const dg_whitening *w, dg_type type, void *weight, void *bias)
{
    const size_t n = (size_t)w->values;
    for (size_t i = 0; i < n; i++) {
        const double *row = w->weight + place(w, i) * n;
        for (size_t j = 0; j < n; j++) to_real(type, weight, i * n + j, row[place(w, j)]);
        to_real(type, bias, i, w->bias[place(w, i)]);
    }
}

static double from_real(dg_type real, const void *in, size_t i)
{
    return real == DG_F32 ? (double)((const float *)in)[i] : ((const double *)in)[i];
}

void dg_whitening_from_file(dg_whitening *w, dg_type type, const void *weight, const void *bias)
{
    const size_t n = (size_t)w->values;
    for (size_t i = 0; i < n; i++) {
        double *row = w->weight + place(w, i) * n;
        for (size_t j = 0; j < n; j++) row[place(w, j)] = from_real(type, weight, i * n + j);
        w->bias[place(w, i)] = from_real(type, bias, i);
    }
}
