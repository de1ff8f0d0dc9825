/* ZCA whitening (Bell & Sejnowski 1997): images x in 0..1 become w (x - mean) with w = (covariance + epsilon)^(-1/2).
 * Whitened values are uncorrelated and as close to x as possible. */
#pragma once

#include "core/base/image_size.h"
#include "host/whiten/symmetric.h"

/* max values per image, for example 52 x 52 colour or 90 x 90 grey; larger images need > 0.5 GiB and hours */
enum { DG_WHITENED_MOST = 8192 };

typedef struct {
    dg_size size;
    int channels, values;
    double *weight, *bias; /* symmetric (values, values); bias (values) = -weight * mean; both in order H, W, C */
    void (*progress)(void *context, long done, long total); /* for dg_whiten; may be NULL */
    void *context;
    volatile sig_atomic_t *stop; /* nonzero: end dg_whiten with DG_FAILED; may be NULL */
    dg_products apply;           /* opened by the first call of dg_whiten */
} dg_whitening;

typedef struct {
    dg_size size;
    int channels;
    double epsilon;
    dg_type real; /* weight and bias are rounded to this type */
    int threads;
    void (*progress)(void *context, long done, long total);
    void *context;
    volatile sig_atomic_t *stop; /* nonzero: end the fit with DG_FAILED; may be NULL */
} dg_whitening_options;

double dg_whitening_bytes(dg_size size, int channels);
double dg_whitening_bytes_to_find(dg_size size, int channels);

/* Returns NULL if out of memory. All values are 0. */
dg_whitening *dg_whitening_new(dg_size size, int channels);
void dg_whitening_free(dg_whitening *w);

/* Compute the whitening of n images (n, height, width, channels). Sums are exact integers, so that their order has no
 * effect. */
dg_err dg_whitening_fit(const dg_whitening_options *o, const uint8_t *pixels, int n, dg_whitening **out);

/* Whiten n images to values of type real, on the CPU, so that the values do not depend on the device. `stride` is the
 * number of bytes between images in `out`. `threads` is the number of CPU threads, fixed by the first call. */
dg_err dg_whiten(dg_whitening *w, dg_type real, int threads, const uint8_t *pixels, int n, void *out, size_t stride);

/* Convert weight and bias to PyTorch's order C, H, W and to `type`, and back. */
void dg_whitening_to_file(const dg_whitening *w, dg_type type, void *weight, void *bias);
void dg_whitening_from_file(dg_whitening *w, dg_type type, const void *weight, const void *bias);
