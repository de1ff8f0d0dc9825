#include "fuzz.h"

#include <string.h>

#include "host/files/made.h"
#include "host/files/replace.h"

/* Decodes and resizes an image row by row, and compares it with `whole`. `whole` is NULL if the decoder refused the
 * image. */
static void fitted(const uint8_t *data, size_t size, const dg_decode_options *o, const dg_fitting *f,
                   const dg_image *whole)
{
    dg_image rows, all;
    dg_decoded of;
    const dg_err e = dg_image_decode_fitted(data, size, o, f, &rows, &of);
    FUZZ_HOLDS(!e == !!whole);
    if (e) {
        FUZZ_HOLDS(e == DG_DATA && !rows.pixels && *dg_message());
        return;
    }
    FUZZ_HOLDS(of.W == whole->W && of.H == whole->H && of.did < 1u << DG_DIDS && of.kind > DG_KIND_UNKNOWN &&
               of.kind < DG_KINDS && dg_image_fit(whole, f->size, f->fit, f->resize, &all) == DG_OK);
    FUZZ_HOLDS(rows.W == f->size.W && rows.H == f->size.H && rows.C == f->channels && all.C == f->channels);
    FUZZ_HOLDS(!memcmp(rows.pixels, all.pixels, (size_t)rows.W * (size_t)rows.H * (size_t)rows.C));
    dg_image_free(&all);
    dg_image_free(&rows);
}

void fuzz_image(const uint8_t *data, size_t size, unsigned how)
{
    static const int channels[] = {1, 3, 4}, sizes[][2] = {{16, 16}, {5, 7}, {33, 24}};
    dg_decode_options o = {.exif = how % 7 != 0, .max_pixels = 1 << 16};
    o.alpha = (dg_alpha)(how / 21 % 3);
    const dg_fitting f = {.size = {sizes[how / 63 % 3][0], sizes[how / 63 % 3][1]},
                          .channels = channels[how / 7 % 3],
                          .fit = (dg_fit)(how / 189 % 3),
                          .resize = (dg_resize)(how / 567 % 2)};
    o.keep_alpha = f.channels == 4;
    dg_image im;
    const bool known = dg_image_known(data, size);
    char text[40];
    (void)dg_made_kind(data, size);
    if (dg_png_text(data, size, DG_ORIGIN, text, sizeof text)) FUZZ_HOLDS(strlen(text) < sizeof text);
    const dg_err e = dg_image_decode(data, size, &o, &im);
    FUZZ_HOLDS(e ? e == DG_DATA && !im.pixels && *dg_message() : known && im.W >= 1 && im.H >= 1);
    if (!e) {
        FUZZ_HOLDS((size_t)im.W * (size_t)im.H <= o.max_pixels && im.C == (o.keep_alpha ? 4 : 3));
        if (f.channels == 1) dg_image_grey(&im);
    }
    fitted(data, size, &o, &f, e ? NULL : &im);
    dg_image_free(&im);
}
