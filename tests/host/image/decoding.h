/* Decoding a picture in memory, for the tests of PNG. */
#ifndef DECODING_H
#define DECODING_H

#include "host/image/image.h"
#include "make_picture.h"
#include "test.h"

static const dg_decode_options plain = {.exif = true};

/* Checked: refused with a reason that holds `why`. */
static int refused(const blob *b, const char *why)
{
    dg_image im;
    dg_err e = dg_image_decode(b->data, b->bytes, &plain, &im);
    int ok = DG_CHECKF(e == DG_DATA && strstr(dg_message(), why), "\"%s\" expected, got %d \"%s\"", why, (int)e,
                       e ? dg_message() : "");
    DG_CHECK(!e || !im.pixels);
    dg_image_free(&im);
    return ok;
}

#endif
