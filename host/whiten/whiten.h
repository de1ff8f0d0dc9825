/* ZCA (Bell & Sejnowski 1997): images x, from 0 to 1, become w (x - mean) with w = (covariance + epsilon)^(-1/2),
 * which leaves their values uncorrelated and as near to what they were as that allows. A dense layer that is not
 * trained. */
#ifndef DG_WHITEN_H
#define DG_WHITEN_H

#include "host/whiten/symmetric.h"

/* More values than these in an image (52 x 52 in colour, 90 x 90 in grey) are not whitened: their covariance alone
 * would be above half a GiB, and its root hours. */
enum { DG_WHITENED_MOST = 8192 };

typedef struct {
    int size, channels, values;
    double *weight, *bias; /* (values, values), symmetric; (values): minus weight times mean. In the order H, W, C */
    void (*progress)(void *context, long done, long total); /* of dg_whiten; may be NULL */
    void *context;
    volatile sig_atomic_t *stop; /* may be NULL; ends dg_whiten with DG_FAILED */
    struct {
        dg_backend *b;
        dg_arena arena;
        dg_plan plan;
        int x, y;
    } apply; /* begun by the first images */
} dg_whitening;

typedef struct {
    int size, channels;
    double epsilon;
    dg_type real; /* what weight and bias are rounded to */
    int threads;
    void (*progress)(void *context, long done, long total); /* may be NULL */
    void *context;
    volatile sig_atomic_t *stop; /* may be NULL; ends it with DG_FAILED */
} dg_whitening_options;

/* Memory of what is kept, and of all that dg_whitening_fit has at a time. */
double dg_whitening_bytes(int size, int channels);
double dg_whitening_bytes_to_find(int size, int channels);

/* Of zeros. NULL: out of memory. */
dg_whitening *dg_whitening_new(int size, int channels);
void dg_whitening_free(dg_whitening *w); /* may be NULL */

/* Of n images (n, size, size, channels). Sums are of whole numbers, so exact: neither their order nor the number of
 * threads matters. */
dg_err dg_whitening_fit(const dg_whitening_options *o, const uint8_t *pixels, int n, dg_whitening **out);

/* n images, whitened, as values of type real; from one to the next `stride` bytes. On the CPU whatever trains, so
 * that all devices are given the same. threads: of the first call. */
dg_err dg_whiten(dg_whitening *w, dg_type real, int threads, const uint8_t *pixels, int n, void *out, size_t stride);

/* The matrix and the bias in PyTorch's order C, H, W, as values of type `type`, and back. */
void dg_whitening_to_file(const dg_whitening *w, dg_type type, void *weight, void *bias);
void dg_whitening_from_file(dg_whitening *w, dg_type type, const void *weight, const void *bias);

#endif
