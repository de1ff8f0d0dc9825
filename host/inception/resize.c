/* Each output pixel is a weighted sum of `taps` input pixels per axis. */
#include "host/inception/resize.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    int taps;
    int *first;     /* (to): first input pixel of an output pixel */
    double *weight; /* (to, taps) */
} axis;

static dg_err begin(axis *a, int to, int taps)
{
    a->taps = taps;
    a->first = calloc((size_t)to, sizeof *a->first);
    a->weight = calloc((size_t)to * (size_t)taps, sizeof *a->weight);
    return a->first && a->weight ? DG_OK : dg_fail(DG_DEVICE, "out of memory for resizing images");
}

/* PyTorch's interpolate(mode="bilinear", align_corners=False), which computes in fp32. */
static dg_err bilinear(axis *a, int from, int to)
{
    const float scale = (float)from / (float)to;
    const dg_err e = begin(a, to, 2);
    for (int i = 0; i < to && !e; i++) {
        const float at = fmaxf(scale * ((float)i + 0.5f) - 0.5f, 0);
        const int left = (int)at, first = left < from - 1 ? left : from > 1 ? from - 2 : 0;
        const float right = left < from - 1 ? at - (float)left : 1;
        a->first[i] = first;
        double *w = &a->weight[2 * (size_t)i];
        w[0] = from > 1 ? (double)(1 - right) : 1;
        w[1] = from > 1 ? (double)right : 0;
    }
    return e;
}

/* Keys' cubic kernel with a = -1/2. */
static double cubic(double x)
{
    x = fabs(x);
    if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
    return x < 2 ? -0.5 * (((x - 5) * x + 8) * x - 4) : 0;
}

/* Pillow's bicubic filter, which widens the kernel if the image shrinks. */
static dg_err bicubic(axis *a, int from, int to)
{
    const double scale = (double)from / to, wide = scale > 1 ? scale : 1, reach = 2 * wide;
    const dg_err e = begin(a, to, (int)ceil(reach) * 2 + 1);
    for (int i = 0; i < to && !e; i++) {
        const double centre = (i + 0.5) * scale;
        const int low = (int)fmax(centre - reach + 0.5, 0), high = (int)fmin(centre + reach + 0.5, from);
        double *w = a->weight + (size_t)i * (size_t)a->taps, sum = 0;
        for (int k = 0; k < high - low; k++) sum += w[k] = cubic((low + k - centre + 0.5) * (1 / wide));
        for (int k = 0; k < high - low; k++) w[k] /= sum;
        a->first[i] = low;
    }
    return e;
}

/* Sum `taps` values of x, `apart` values apart. Taps after the last pixel have weight 0 and are not read. */
static float blend(const axis *a, int i, int from, const float *x, size_t apart)
{
    const double *w = a->weight + (size_t)i * (size_t)a->taps;
    const int n = a->taps < from - a->first[i] ? a->taps : from - a->first[i];
    double sum = 0;
    x += (size_t)a->first[i] * apart;
    for (int k = 0; k < n; k++) sum += w[k] * (double)x[(size_t)k * apart];
    return (float)sum;
}

static float level(dg_fid_resize how, float x)
{
    if (how == DG_LIKE_PYTORCH_FID) return 2 * x - 1;
    return (fminf(fmaxf(x, 0), 255) - 128) / 128;
}

static void resize(dg_fid_resize how, const axis a[2], const uint8_t *pixels, dg_size size, int channels, int to,
                   float *x, float *wide, float *out)
{
    const float unit = how == DG_LIKE_PYTORCH_FID ? 255 : 1;
    const int columns = 3 * to;
    for (int i = 0; i < size.W * size.H; i++)
        for (int c = 0; c < 3; c++) x[3 * i + c] = (float)pixels[i * channels + (channels < 3 ? 0 : c)] / unit;
    for (int row = 0; row < size.H; row++, x += (size_t)size.W * 3)
        for (int i = 0; i < columns; i++) wide[row * columns + i] = blend(&a[0], i / 3, size.W, &x[i % 3], 3);
    for (int row = 0; row < to; row++)
        for (int i = 0; i < columns; i++)
            out[row * columns + i] = level(how, blend(&a[1], row, size.H, &wide[i], (size_t)columns));
}

dg_err dg_fid_resized(dg_fid_resize how, const uint8_t *pixels, dg_size size, int channels, int to, float *out)
{
    axis a[2] = {{0}, {0}};
    const int side[2] = {size.W, size.H};
    float *x = calloc((size_t)size.H * 3 * ((size_t)size.W + (size_t)to), sizeof *x);
    dg_err e = x ? DG_OK : dg_fail(DG_DEVICE, "out of memory for resizing images");
    for (int k = 0; k < 2 && !e; k++)
        e = how == DG_LIKE_PYTORCH_FID ? bilinear(&a[k], side[k], to) : bicubic(&a[k], side[k], to);
    if (!e) resize(how, a, pixels, size, channels, to, x, x + dg_size_pixels(size) * 3, out);
    for (int k = 0; k < 2; k++) {
        free(a[k].first);
        free(a[k].weight);
    }
    free(x);
    return e;
}
