/* JPEG encoder for photographs in HTML pages, which would be too large as PNG. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

#include "host/image/encode.h"

typedef struct {
    struct jpeg_error_mgr manager;
    jmp_buf back;
    char reason[JMSG_LENGTH_MAX];
    unsigned char *data;
    unsigned long bytes;
} writing;

static void on_error(j_common_ptr c)
{
    writing *w = (writing *)c->err;
    c->err->format_message(c, w->reason);
    longjmp(w->back, 1);
}

static void no_output(j_common_ptr c) { (void)c; }

/* After a longjmp out of libjpeg, the arguments of this function are valid, but its local variables are not. */
static bool write_all(struct jpeg_compress_struct *c, writing *w, const dg_image *im, int quality)
{
    if (setjmp(w->back)) return false;
    jpeg_create_compress(c);
    jpeg_mem_dest(c, &w->data, &w->bytes);
    c->image_width = (JDIMENSION)im->W;
    c->image_height = (JDIMENSION)im->H;
    c->input_components = im->C;
    c->in_color_space = im->C == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(c);
    jpeg_set_quality(c, quality, TRUE);
    jpeg_start_compress(c, TRUE);
    while (c->next_scanline < c->image_height) {
        JSAMPROW row = im->pixels + (size_t)c->next_scanline * (size_t)im->W * (size_t)im->C;
        jpeg_write_scanlines(c, &row, 1);
    }
    jpeg_finish_compress(c);
    return true;
}

dg_err dg_jpeg_encode(const dg_image *im, int quality, void **data, size_t *bytes)
{
    struct jpeg_compress_struct c = {0};
    writing w = {.data = NULL};
    c.err = jpeg_std_error(&w.manager);
    w.manager.error_exit = on_error;
    w.manager.output_message = no_output;
    const bool ok = write_all(&c, &w, im, quality);
    jpeg_destroy_compress(&c);
    if (!ok) {
        free(w.data);
        return dg_fail(DG_DEVICE, "JPEG: %s", w.reason);
    }
    *data = w.data;
    *bytes = w.bytes;
    return DG_OK;
}
