#include "host/inception/fid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/rng.h"

static dg_err set_moments(dg_fid_set *x)
{
    const size_t d = (size_t)x->d;
    x->mean = malloc((d + d * d) * sizeof *x->mean);
    if (!x->mean) return dg_fail(DG_DEVICE, "out of memory for covariances of %d features", x->d);
    x->cov = x->mean + d;
    return dg_moments_of(x->feature, x->images, x->d, x->mean, x->cov);
}

static dg_err begin(dg_fid_set *out, int images, int d)
{
    *out = (dg_fid_set){.images = images, .d = d};
    if (images < DG_FID_LEAST)
        return dg_fail(DG_DATA, "%d image%s: too few for FID and KID (at least %d)", images, images == 1 ? "" : "s",
                       DG_FID_LEAST);
    out->feature = malloc((size_t)images * (size_t)d * sizeof *out->feature);
    return out->feature ? DG_OK : dg_fail(DG_DEVICE, "out of memory for features of %d images", images);
}

dg_err dg_fid_set_of(dg_inception *t, const dg_fid_images *x, dg_progress *progress, const char *what, dg_fid_set *out)
{
    const size_t image = dg_size_values(x->size, x->channels), d = (size_t)dg_inception_features(t);
    dg_err e = begin(out, x->used, (int)d);
    int32_t *order = malloc((size_t)x->images.count * sizeof *order);
    uint8_t *chunk = malloc(DG_INCEPTION_CHUNK * image);
    if (!e && (!order || !chunk)) e = dg_fail(DG_DEVICE, "out of memory for %d images", x->images.count);
    if (!e) dg_permutation_of(order, x->images.count, x->seed, dg_subsequence(DG_STREAM_JUDGE, (uint64_t)x->stream));
    for (int i = 0; i < x->used && !e; i += DG_INCEPTION_CHUNK) {
        const int n = x->used - i < DG_INCEPTION_CHUNK ? x->used - i : DG_INCEPTION_CHUNK;
        for (int k = 0; k < n && !e; k++) e = dg_images_read(&x->images, order[i + k], chunk + (size_t)k * image);
        if (!e) e = dg_inception_look(t, chunk, x->size, x->channels, n, out->feature + (size_t)i * d);
        if (progress) dg_progress_count(progress, what, i + n, x->used);
    }
    free(order);
    free(chunk);
    return e ? e : set_moments(out);
}

dg_err dg_fid_set_part(const dg_fid_set *x, int first, int images, dg_fid_set *out)
{
    const size_t d = (size_t)x->d;
    const dg_err e = begin(out, images, x->d);
    if (!e) memcpy(out->feature, x->feature + (size_t)first * d, (size_t)images * d * sizeof *x->feature);
    return e ? e : set_moments(out);
}

void dg_fid_set_free(dg_fid_set *x)
{
    free(x->feature);
    free(x->mean);
    *x = (dg_fid_set){0};
}

dg_err dg_fid_compare(const dg_fid_set *x, const dg_fid_set *y, uint64_t seed, int threads, dg_fid *out)
{
    dg_normal a = {0}, b = {0};
    *out = (dg_fid){.has_kid = x->feature && y->feature};
    dg_err e = dg_normal_from(x->mean, x->cov, x->d, &a);
    if (!e) e = dg_normal_from(y->mean, y->cov, y->d, &b);
    if (!e) e = dg_frechet_between(&a, &b, &out->fid);
    if (!e && out->has_kid) e = dg_kid_of(x->feature, x->images, y->feature, y->images, x->d, seed, threads, &out->kid);
    dg_normal_free(&a);
    dg_normal_free(&b);
    if (e || (isfinite(out->fid) && isfinite(out->kid.value))) return e;
    return dg_fail(DG_NUMBERS, "the features of the Inception network are not finite: its weights are too large");
}
