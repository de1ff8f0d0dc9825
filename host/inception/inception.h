/* The Inception network of 2015 (Szegedy et al. 2016, "Rethinking the Inception architecture"), whose last features FID
 * and KID compare (Heusel et al. 2017). The user brings its weights; dcgan has none. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/image_size.h"

/* Resizing of images to 299 x 299 pixels. pytorch-fid: bilinear without antialiasing. clean-fid: bicubic with
 * antialiasing, like Pillow, not rounded. */
typedef enum { DG_LIKE_PYTORCH_FID, DG_LIKE_CLEAN_FID } dg_fid_resize;

typedef struct dg_inception dg_inception;

/* Read the weights (weights.h). Close *out even after an error. */
dg_err dg_inception_open(const char *path, dg_fid_resize how, int threads, dg_inception **out);
void dg_inception_close(dg_inception *t);

int dg_inception_features(const dg_inception *t);

/* True for pytorch-fid's weights. With other weights, no number is called FID. */
bool dg_inception_known(const dg_inception *t);
const char *dg_inception_name(const dg_inception *t);   /* "inception-2015-12-05" or "unknown 0123abcd" */
const char *dg_inception_resize(const dg_inception *t); /* "pytorch-fid" or "clean-fid" */

/* Compute the features (n, dg_inception_features) of images (n, height, width, channels). One channel is grey; the
 * fourth channel, alpha, is ignored. */
dg_err dg_inception_look(dg_inception *t, const uint8_t *pixels, dg_size size, int channels, int n, double *features);
enum { DG_INCEPTION_CHUNK = 8 }; /* number of images that are computed together */
