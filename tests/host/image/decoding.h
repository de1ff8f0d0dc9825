/* Decoding an image in memory, for the tests of formats. */
#ifndef DECODING_H
#define DECODING_H

#include "host/image/image.h"
#include "child.h"
#include "make_image.h"
#include "test.h"

static const dg_decode_options plain = {.exif = true};

/* Checked: refused with a reason that holds `why`. */
static inline int refused(const blob *b, const char *why)
{
    dg_image im;
    dg_err e = dg_image_decode(b->data, b->bytes, &plain, &im);
    int ok = DG_CHECKF(e == DG_DATA && strstr(dg_message(), why), "\"%s\" expected, got %d \"%s\"", why, (int)e,
                       e ? dg_message() : "");
    DG_CHECK(!e || !im.pixels);
    dg_image_free(&im);
    return ok;
}

static inline int decode_in_child(void *context, char *message)
{
    const blob *b = context;
    dg_image im;
    dg_err e = dg_image_decode(b->data, b->bytes, &plain, &im);
    snprintf(message, 256, "%s", e ? dg_message() : "decoded");
    dg_image_free(&im);
    return (int)e;
}

/* Refused (or decoded, why NULL) within `seconds` of CPU and `megabytes` more than the process has. */
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

#endif
