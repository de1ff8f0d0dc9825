/* FID and KID of two sets of images (Heusel et al. 2017, Binkowski et al. 2018). */
#pragma once

#include "host/data/images.h"
#include "host/inception/inception.h"
#include "host/judge/frechet.h"
#include "host/judge/kid.h"
#include "host/trainer/progress.h"

enum {
    DG_FID_LEAST = 4,     /* min images per set */
    DG_FID_ENOUGH = 2048, /* with fewer images, the covariance is singular and FID says little */
    DG_FID_MOST = 50000   /* images per set by default, as in papers */
};

typedef struct {
    int images; /* 0: unknown */
    int d;
    double *feature;    /* (images, d), or NULL for moments of a file */
    double *mean, *cov; /* (d), (d, d) */
} dg_fid_set;

/* Images (height, width, channels), of which `used` are drawn by a seed. */
typedef struct {
    dg_images images;
    dg_size size;
    int channels, used;
    uint64_t seed;
    int stream; /* 0: real images, 1: samples, as for dg_judged_take */
} dg_fid_images;

/* Compute features and moments. `what` names the work for `progress`, which may be NULL. Free *out with
 * dg_fid_set_free, even after errors. */
dg_err dg_fid_set_of(dg_inception *t, const dg_fid_images *x, dg_progress *progress, const char *what, dg_fid_set *out);
/* Copy the features of images first ... first + images - 1, and compute their moments. */
dg_err dg_fid_set_part(const dg_fid_set *x, int first, int images, dg_fid_set *out);
void dg_fid_set_free(dg_fid_set *x);

typedef struct {
    double fid;
    bool has_kid; /* both sets have features */
    dg_kid kid;
} dg_fid;
/* The seed draws the subsets of KID. Returns DG_NUMBERS if a result is not finite. */
dg_err dg_fid_compare(const dg_fid_set *x, const dg_fid_set *y, uint64_t seed, int threads, dg_fid *out);

/* Read and write moments in the format of pytorch-fid: an .npz file with the arrays mu and sigma. dcgan adds the number
 * of images, and the names of weights and resizing. Returns DG_DATA if the file was made with other weights. */
dg_err dg_fid_set_read(const char *path, const dg_inception *t, dg_fid_set *out);
dg_err dg_fid_set_write(const char *path, const dg_inception *t, const dg_fid_set *x);
/* Like dg_fid_set_read and dg_fid_set_write, for d features and with the names of weights and resizing in `made_with`,
 * at most 99 bytes. */
dg_err dg_moments_write(const char *path, const char *made_with, const dg_fid_set *x);
dg_err dg_moments_read(const char *path, int d, const char *made_with, dg_fid_set *out);
