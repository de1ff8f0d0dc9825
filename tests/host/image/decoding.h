/* Helpers for tests of image decoders. */
#pragma once

#include "host/image/image.h"
#include "child.h"
#include "damage.h"
#include "make_image.h"
#include "tempdir.h"
#include "test.h"

static const dg_decode_options plain = {.exif = true};

/* The 2 x 3 image "a b / c d / e f" after each EXIF orientation. */
static const char *const turned[9]
    __attribute__((unused)) = {"", "abcdef", "badcfe", "fedcba", "efcdab", "acebdf", "ecafdb", "fdbeca", "bdface"};

static inline dg_err read_image(const void *data, size_t n)
{
    dg_image im;
    const dg_err e = dg_image_decode(data, n, &plain, &im);
    DG_CHECK(e ? !im.pixels : im.pixels && im.W > 0);
    dg_image_free(&im);
    return e;
}

/* Checks that decoding fails with a reason that contains `why`. Frees b. */
static inline void refused(blob b, const char *why)
{
    check_refusals(&(refusal){why, (const char *)b.data, b.bytes, 0}, 1, read_image, DG_DATA, NULL, 0);
    blob_free(&b);
}

static inline int decode_in_child(void *context, char *message)
{
    const blob *b = context;
    const dg_err e = read_image(b->data, b->bytes);
    snprintf(message, 256, "%s", e ? dg_message() : "decoded");
    return (int)e;
}

/* Decodes an image within limits of time and memory. Expects a reason that contains `why`, or success if `why` is
 * NULL. Frees b. */
static inline void measured(blob *b, const char *what, const char *why, double seconds, long megabytes)
{
    child_result r = in_child(decode_in_child, b, (size_t)256 << 20);
    DG_CHECKF(why ? r.code == DG_DATA && strstr(r.message, why) : r.code == DG_OK, "%s: %d %s", what, r.code,
              r.message);
    if (!DG_SANITIZED)
        DG_CHECKF(r.seconds < seconds && r.kilobytes < megabytes << 10, "%s: %.2f s, %ld KiB", what, r.seconds,
                  r.kilobytes);
    blob_free(b);
}

static inline void refused_at_once(blob b, const char *what, const char *why) { measured(&b, what, why, 0.2, 32); }

/* Returns the path of a file in the public image corpora, which are in a folder next to the checkout. */
static inline char *in_corpora(const char *name)
{
    const char *shared = getenv("DCGAN_SHARED");
    return temp_text("%s/data/corpora/%s", shared ? shared : "../shared", name);
}

__attribute__((unused)) static dg_kind kind_of(const void *data, size_t bytes)
{
    const dg_decode_options o = {0};
    const dg_fitting f = {.size = dg_square(16), .channels = 3};
    dg_image im;
    dg_decoded of;
    (void)dg_image_decode_fitted(data, bytes, &o, &f, &im, &of);
    dg_image_free(&im);
    return of.kind;
}
