#include "host/image/image_internal.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

static dg_err check_process(uint8_t marker, const dg_image_head *h)
{
    if (marker == 0xc3 || marker == 0xc7 || marker == 0xcb || marker == 0xcf)
        return dg_fail(DG_DATA, "JPEG: lossless JPEG is not supported");
    if (marker == 0xc5 || marker == 0xc6 || marker == 0xcd || marker == 0xce)
        return dg_fail(DG_DATA, "JPEG: hierarchical JPEG is not supported");
    if (h->bits != 8) return dg_fail(DG_DATA, "JPEG: %d bits per sample are not supported, only 8", h->bits);
    if (h->components != 1 && h->components != 3 && h->components != 4)
        return dg_fail(DG_DATA, "JPEG: %d colour components are not supported", h->components);
    return DG_OK;
}

dg_err dg_jpeg_walk(const uint8_t *file, size_t bytes, dg_image_head *out)
{
    *out = (dg_image_head){.orientation = 1};
    bool frame = false, exif = false;
    for (size_t at = 2;;) {
        while (at < bytes && file[at] != 0xff) at++;
        while (at < bytes && file[at] == 0xff) at++;
        if (at >= bytes) return dg_fail(DG_DATA, "JPEG: cut off after %zu bytes, before any pixel", bytes);
        uint8_t marker = file[at++];
        if (marker <= 0x01 || (marker >= 0xd0 && marker <= 0xd8)) continue;
        if (marker == 0xd9) return dg_fail(DG_DATA, "JPEG: ends before any pixel");
        size_t length = bytes - at >= 2 ? (size_t)(file[at] << 8 | file[at + 1]) : 0;
        if (length < 2 || length > bytes - at)
            return dg_fail(DG_DATA, "JPEG: segment %02x of %zu bytes, but %zu are left", marker, length, bytes - at);
        const uint8_t *data = file + at + 2;
        size_t n = length - 2;
        if (marker == 0xda) return frame ? DG_OK : dg_fail(DG_DATA, "JPEG: pixels before the frame header");
        if (marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc) {
            if (n < 6) return dg_fail(DG_DATA, "JPEG: the frame header has only %zu bytes", n);
            out->bits = data[0];
            out->H = data[1] << 8 | data[2];
            out->W = data[3] << 8 | data[4];
            out->components = data[5];
            dg_err e = check_process(marker, out);
            if (e) return e;
            frame = true;
        } else if (marker == 0xe1 && !exif && n > 6 && !memcmp(data, "Exif\0", 5)) {
            out->orientation = dg_exif_orientation(data + 6, n - 6);
            exif = true;
        } else if (marker == 0xe2 && n >= 12 && !memcmp(data, "ICC_PROFILE", 12)) {
            out->profile = true;
        }
        at += length;
    }
}

/* State of the decoder that must stay valid after a longjmp out of libjpeg. */
typedef struct {
    struct jpeg_error_mgr manager; /* first member, because libjpeg passes a pointer to `manager` */
    struct jpeg_progress_mgr progress;
    struct jpeg_decompress_struct jpeg;
    jmp_buf jump;
    const uint8_t *file;
    size_t bytes;
    const dg_image_head *head;
    double start;
    dg_row_sink *to;
    uint8_t *row; /* row decoded by libjpeg, with 1, 3 or 4 components */
    uint8_t *rgb;
    bool strict; /* true while pixels are decoded: treat every warning as an error */
    dg_err error;
    char why[JMSG_LENGTH_MAX];
} reader;

_Noreturn static void on_error(j_common_ptr jpeg)
{
    reader *r = jpeg->client_data;
    jpeg->err->format_message(jpeg, r->why);
    /* After lack of memory, return an error instead of skipping the image as damaged. */
    if (jpeg->err->msg_code == JERR_OUT_OF_MEMORY)
        r->error = dg_fail(DG_DEVICE, "no memory to decode a JPEG of %d x %d", r->head->W, r->head->H);
    longjmp(r->jump, 1);
}

_Noreturn static void give_up(reader *r, const char *why)
{
    snprintf(r->why, sizeof r->why, "%s", why);
    longjmp(r->jump, 1);
}

/* Treat warnings as errors, because libjpeg only warns about damaged pixels, and makes them grey. Warnings about
 * padding between segments, odd JFIF versions, unknown Adobe codes and unused scan parameters are ignored. */
static void on_message(j_common_ptr jpeg, int level)
{
    reader *r = jpeg->client_data;
    int code = jpeg->err->msg_code;
    if (level >= 0 || code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM || code == JWRN_NOT_SEQUENTIAL) return;
    if (code == JWRN_EXTRANEOUS_DATA && !r->strict) return;
    on_error(jpeg);
}

static void on_progress(j_common_ptr jpeg)
{
    reader *r = jpeg->client_data;
    if (jpeg->is_decompressor && ((j_decompress_ptr)jpeg)->input_scan_number > DG_SCANS_MAX)
        give_up(r, "more than 100 scans");
    if (dg_decode_late(r->start)) give_up(r, "takes too long to decode");
}

/* Most programs store inverted CMYK values (255 - ink). PIL's formula is R = 255 - K - round((255 - K) C / 255). */
static void from_cmyk(uint8_t *rgb, const uint8_t *cmyk, int W)
{
    for (int x = 0; x < W; x++) {
        unsigned k = cmyk[4 * x + 3];
        for (int c = 0; c < 3; c++) {
            unsigned v = (255u - cmyk[4 * x + c]) * k + 128;
            rgb[3 * x + c] = (uint8_t)(k - ((v + (v >> 8)) >> 8));
        }
    }
}

static void from_grey(uint8_t *rgb, const uint8_t *grey, int W)
{
    for (ptrdiff_t x = 0; x < W; x++) rgb[3 * x] = rgb[3 * x + 1] = rgb[3 * x + 2] = grey[x];
}

/* libjpeg stores all coefficients of a multi-scan (such as progressive) JPEG in memory, as 2 bytes each. */
static uint64_t coefficient_bytes(const struct jpeg_decompress_struct *jpeg)
{
    uint64_t blocks = 0;
    for (int c = 0; c < jpeg->num_components; c++) {
        const jpeg_component_info *i = jpeg->comp_info + c;
        blocks += ((uint64_t)i->width_in_blocks + (uint64_t)i->h_samp_factor) *
                  ((uint64_t)i->height_in_blocks + (uint64_t)i->v_samp_factor);
    }
    return blocks * DCTSIZE2 * sizeof(JCOEF);
}

/* Returns the divisor 1, 2, 4 or 8 by which libjpeg decodes an image above the limits to a size within them, or 1 if no
 * divisor is enough. */
static int divisor(const dg_image_head *h, const dg_row_sink *to)
{
    const size_t most = dg_image_pixels_max(to);
    for (int d = 1; d <= 8; d *= 2) {
        const int W = (h->W + d - 1) / d, H = (h->H + d - 1) / d;
        if (W <= DG_SIDE_MAX && H <= DG_SIDE_MAX && (size_t)W * (size_t)H <= most) return d;
    }
    return 1;
}

static void read_rows(reader *r)
{
    struct jpeg_decompress_struct *jpeg = &r->jpeg;
    jpeg_read_header(jpeg, TRUE);
    jpeg->scale_denom = (unsigned)divisor(r->head, r->to);
    jpeg_calc_output_dimensions(jpeg);
    int W = (int)jpeg->output_width, H = (int)jpeg->output_height, C = jpeg->num_components;
    uint64_t work = jpeg_has_multiple_scans(jpeg) ? coefficient_bytes(jpeg) : 0;
    r->error = dg_image_afford("JPEG", W, H, r->bytes, work, r->to);
    if (r->error && jpeg->scale_denom > 1)
        r->error = dg_fail(DG_DATA,
                           "JPEG: %d x %d pixels in several scans would need %llu MiB to decode, the limit is 240 MiB; "
                           "make it smaller, or store it in one scan: jpegtran -outfile NEW.jpg FILE",
                           r->head->W, r->head->H, (unsigned long long)(work >> 20));
    if (r->error) longjmp(r->jump, 1);
    if (C != 1 && C != 3 && C != 4) give_up(r, "unexpected number of components");
    jpeg->out_color_space = C == 1 ? JCS_GRAYSCALE : C == 3 ? JCS_RGB : JCS_CMYK;

    r->row = malloc((size_t)C * (size_t)W);
    r->rgb = malloc(3 * (size_t)W);
    if (!r->row || !r->rgb) {
        r->error = dg_fail(DG_DEVICE, "no memory for an image of %d x %d", W, H);
        longjmp(r->jump, 1);
    }
    dg_row_sink_note(r->to, DG_DID_CMYK, C == 4);
    dg_row_sink_note(r->to, DG_DID_PROFILE, r->head->profile);
    dg_row_sink_note(r->to, DG_DID_SCALE, jpeg->scale_denom > 1);
    r->strict = true;
    jpeg_start_decompress(jpeg);
    if (jpeg->output_components != C || (int)jpeg->output_width != W || (int)jpeg->output_height != H)
        give_up(r, "row of unexpected length");
    r->error = dg_row_sink_open(r->to, W, H, r->to->o->exif ? r->head->orientation : 1);
    if (r->error) longjmp(r->jump, 1);
    for (int y = 0; y < H; y++) {
        if (jpeg_read_scanlines(jpeg, &r->row, 1) != 1) give_up(r, "cut off");
        if (C == 1) from_grey(r->rgb, r->row, W);
        if (C == 4) from_cmyk(r->rgb, r->row, W);
        dg_row_sink_put(r->to, y, C == 3 ? r->row : r->rgb);
        if (y % 64 == 0) on_progress((j_common_ptr)jpeg);
    }
    r->strict = false;
    jpeg_finish_decompress(jpeg);
}

static bool read_all(reader *r)
{
    if (setjmp(r->jump)) return false;
    jpeg_create_decompress(&r->jpeg);
    r->jpeg.mem->max_memory_to_use = 240L << 20;
    r->jpeg.progress = &r->progress;
    jpeg_mem_src(&r->jpeg, r->file, r->bytes);
    read_rows(r);
    return true;
}

dg_err dg_jpeg_pixels(const uint8_t *file, size_t bytes, dg_row_sink *to)
{
    dg_image_head head;
    dg_err e = dg_jpeg_walk(file, bytes, &head);
    if (e) return e;
    to->kind = head.components == 1   ? DG_KIND_JPEG_GREY
               : head.components == 4 ? DG_KIND_JPEG_CMYK
                                      : DG_KIND_JPEG_COLOUR;
    const int d = divisor(&head, to);
    e = dg_image_afford("JPEG", (head.W + d - 1) / d, (head.H + d - 1) / d, bytes, 0, to);
    if (e) return e;

    reader r = {.file = file, .bytes = bytes, .head = &head, .to = to, .start = dg_decode_clock()};
    r.jpeg.err = jpeg_std_error(&r.manager);
    r.manager.error_exit = on_error;
    r.manager.emit_message = on_message;
    r.progress.progress_monitor = on_progress;
    r.jpeg.client_data = &r;
    bool ok = read_all(&r);
    jpeg_destroy_decompress(&r.jpeg);
    free(r.row);
    free(r.rgb);
    if (ok) return DG_OK;
    return r.error ? r.error : dg_fail(DG_DATA, "JPEG: %s", r.why);
}
