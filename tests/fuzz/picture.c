#include "picture.h"

#include "fuzz.h"

void fuzz_picture(const uint8_t *data, size_t size, unsigned how)
{
    /* Large ones are for the tests of limits; here they would only be slow. */
    dg_decode_options o = {.exif = how % 7 != 0, .max_pixels = 1 << 16};
    o.keep_alpha = how / 7 % 3 == 1;
    o.alpha = (dg_alpha)(how / 21 % 3);
    dg_image im, small;
    const bool known = dg_image_known(data, size);
    FUZZ_HOLDS(dg_image_kind(data, size) < DG_KINDS);
    const dg_err e = dg_image_decode(data, size, &o, &im);
    if (e) {
        FUZZ_HOLDS(e == DG_DATA && !im.pixels && *dg_message());
        return;
    }
    FUZZ_HOLDS(known && im.W >= 1 && im.H >= 1 && (size_t)im.W * (size_t)im.H <= o.max_pixels);
    FUZZ_HOLDS(im.C == (o.keep_alpha ? 4 : 3));
    if (how / 63 % 2) dg_image_grey(&im);
    if (dg_image_fit(&im, 16, (dg_fit)(how / 126 % 3), (dg_resize)(how / 378 % 2), &small) == DG_OK) {
        FUZZ_HOLDS(small.W == 16 && small.H == 16);
        dg_image_free(&small);
    }
    dg_image_free(&im);
}
