#include "host/image/image_internal.h"
#include "core/base/bytes.h"

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Check the chunk IHDR (PNG 1.2, section 4.1.1) before libpng does, because libpng's messages are less clear. */
static dg_err read_header(const uint8_t *data, uint32_t length, dg_image_head *h)
{
    static const struct {
        int components, depths; /* depths: bit n is set if n bits per channel are valid */
    } type[7] = {
        [0] = {1, 1 << 1 | 1 << 2 | 1 << 4 | 1 << 8 | 1 << 16},
        [2] = {3, 1 << 8 | 1 << 16},
        [3] = {1, 1 << 1 | 1 << 2 | 1 << 4 | 1 << 8},
        [4] = {2, 1 << 8 | 1 << 16},
        [6] = {4, 1 << 8 | 1 << 16},
    };
    if (length != 13) return dg_fail(DG_DATA, "PNG: IHDR of %u bytes, not 13", length);
    if (dg_big_endian(data + 13) != crc32(crc32(0, (const uint8_t *)"IHDR", 4), data, 13))
        return dg_fail(DG_DATA, "PNG: IHDR: CRC error");
    uint32_t W = dg_big_endian(data), H = dg_big_endian(data + 4);
    int depth = data[8], colour = data[9];
    if (W < 1 || H < 1 || W > 0x7fffffff || H > 0x7fffffff)
        return dg_fail(DG_DATA, "PNG: invalid size of %u x %u pixels", W, H);
    if (colour > 6 || !type[colour].components) return dg_fail(DG_DATA, "PNG: invalid colour type %d", colour);
    if (depth > 16 || !(type[colour].depths >> depth & 1))
        return dg_fail(DG_DATA, "PNG: %d bits per sample are invalid for colour type %d", depth, colour);
    h->W = (int)W;
    h->H = (int)H;
    h->bits = depth;
    h->components = type[colour].components;
    h->palette = colour == 3;
    h->interlaced = data[12] != 0;
    return DG_OK;
}

dg_err dg_png_walk(const uint8_t *file, size_t bytes, dg_image_head *out)
{
    *out = (dg_image_head){.orientation = 1};
    bool pixels = false;
    for (size_t at = 8;;) {
        if (bytes - at < 12) return dg_fail(DG_DATA, "PNG: cut off after %zu bytes", bytes);
        uint32_t length = dg_big_endian(file + at);
        const uint8_t *name = file + at + 4, *data = file + at + 8;
        for (int i = 0; i < 4; i++)
            if ((name[i] | 32) < 'a' || (name[i] | 32) > 'z')
                return dg_fail(DG_DATA, "PNG: damaged chunk name at byte %zu", at + 4);
        if (length > bytes - at - 12)
            return dg_fail(DG_DATA, "PNG: chunk %.4s of %u bytes, but %zu are left", (const char *)name, length,
                           bytes - at - 12);
        if (at == 8) {
            if (!memcmp(name, "CgBI", 4))
                return dg_fail(DG_DATA,
                               "PNG: a variant of Apple (CgBI), not supported; convert it with Xcode: xcrun -sdk "
                               "iphoneos pngcrush -revert-iphone-optimizations FILE FILE.png");
            if (memcmp(name, "IHDR", 4) != 0) return dg_fail(DG_DATA, "PNG: does not begin with IHDR");
            dg_err e = read_header(data, length, out);
            if (e) return e;
        } else if (!memcmp(name, "IDAT", 4)) {
            pixels = true;
        } else if (!memcmp(name, "eXIf", 4)) {
            if (dg_big_endian(data + length) == crc32(crc32(0, name, 4), data, length))
                out->orientation = dg_exif_orientation(data, length);
        } else if (!memcmp(name, "acTL", 4)) {
            out->animated = length == 8 && dg_big_endian(data) > 1;
        } else if (!memcmp(name, "iCCP", 4)) {
            out->profile = true;
        } else if (!memcmp(name, "IEND", 4)) {
            return pixels ? DG_OK : dg_fail(DG_DATA, "PNG: no pixels (IDAT is missing)");
        }
        at += 12 + (size_t)length;
    }
}

/* State of the decoder that must stay valid after a longjmp out of libpng. */
typedef struct {
    jmp_buf jump;
    png_structp png;
    png_infop info;
    const uint8_t *file;
    size_t bytes, at;
    const dg_image_head *head;
    double start;
    dg_row_sink *to;
    uint8_t *row;   /* a row decoded by libpng, or the whole image if interlaced */
    bool no_memory; /* an allocation of libpng failed, so the image may be intact */
    dg_err error;
    char why[160];
} reader;

_Noreturn static void on_error(png_structp png, png_const_charp why)
{
    reader *r = png_get_error_ptr(png);
    snprintf(r->why, sizeof r->why, "%s", why);
    longjmp(r->jump, 1);
}

static void on_warning(png_structp png, png_const_charp why) { (void)png, (void)why; }

static png_voidp on_malloc(png_structp png, png_alloc_size_t bytes)
{
    reader *r = png_get_mem_ptr(png);
    void *p = malloc(bytes);
    if (!p) r->no_memory = true;
    return p;
}

static void on_free(png_structp png, png_voidp p)
{
    (void)png;
    free(p);
}

static void on_read(png_structp png, png_bytep to, size_t n)
{
    reader *r = png_get_io_ptr(png);
    if (n > r->bytes - r->at) png_error(png, "cut off");
    memcpy(to, r->file + r->at, n);
    r->at += n;
}

static void set_limits(png_structp png)
{
    /* Too long chunks must be errors: by default, libpng only warns and allocates gigabytes. */
    png_set_benign_errors(png, 0);
    png_set_user_limits(png, DG_SIDE_MAX, DG_SIDE_MAX);
    png_set_chunk_malloc_max(png, 8 << 20);
    png_set_chunk_cache_max(png, 64);
    /* ignore all chunks that do not affect pixels (-1) */
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
}

static int set_transforms(reader *r)
{
    png_structp png = r->png;
    bool has_alpha = !r->head->palette && r->head->components % 2 == 0;
    bool has_trns = png_get_valid(png, r->info, PNG_INFO_tRNS) != 0;
    if (r->head->bits == 16) png_set_strip_16(png); /* keep only the high byte of 16-bit values, like PIL */
    if (r->head->palette) png_set_palette_to_rgb(png);
    if (r->head->components <= 2 && !r->head->palette) {
        png_set_expand_gray_1_2_4_to_8(png);
        png_set_gray_to_rgb(png);
    }
    if (has_trns) png_set_tRNS_to_alpha(png);
    if (r->head->interlaced) png_set_interlace_handling(png);
    png_read_update_info(png, r->info);
    int channels = has_alpha || has_trns ? 4 : 3;
    if (png_get_rowbytes(png, r->info) != (size_t)channels * (size_t)r->head->W)
        png_error(png, "row of unexpected length");
    return channels;
}

static void give_row(reader *r, int y, const uint8_t *row, int channels)
{
    if (channels == 4) dg_row_sink_put_rgba(r->to, y, row);
    else dg_row_sink_put(r->to, y, row);
}

static void read_rows(reader *r)
{
    int W = r->head->W, H = r->head->H;
    dg_row_sink_note(r->to, DG_DID_HALVE, r->head->bits == 16);
    dg_row_sink_note(r->to, DG_DID_FRAME, r->head->animated);
    dg_row_sink_note(r->to, DG_DID_PROFILE, r->head->profile);
    png_read_info(r->png, r->info);
    int channels = set_transforms(r);
    size_t row = (size_t)channels * (size_t)W;
    r->error = dg_row_sink_open(r->to, W, H, r->to->o->exif ? r->head->orientation : 1);
    int passes = r->head->interlaced ? 7 : 1;
    if (!r->error && !(r->row = malloc(passes > 1 ? row * (size_t)H : row)))
        r->error = dg_fail(DG_DEVICE, "no memory for an image of %d x %d", W, H);
    if (r->error) longjmp(r->jump, 1);
    for (int pass = 0; pass < passes; pass++)
        for (int y = 0; y < H; y++) {
            uint8_t *to = passes > 1 ? r->row + row * (size_t)y : r->row;
            png_read_row(r->png, to, NULL);
            if (pass == passes - 1) give_row(r, y, to, channels);
            if (y % 64 == 0 && dg_decode_late(r->start)) png_error(r->png, "takes too long to decode");
        }
    png_read_end(r->png, NULL);
}

static bool read_all(reader *r)
{
    if (setjmp(r->jump)) return false;
    r->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, r, on_error, on_warning, r, on_malloc, on_free);
    r->info = r->png ? png_create_info_struct(r->png) : NULL;
    if (!r->info) {
        r->error = dg_fail(DG_DEVICE, "no memory for libpng");
        return false;
    }
    set_limits(r->png);
    png_set_read_fn(r->png, r, on_read);
    read_rows(r);
    return true;
}

dg_err dg_png_pixels(const uint8_t *file, size_t bytes, dg_row_sink *to)
{
    dg_image_head head;
    dg_err e = dg_png_walk(file, bytes, &head);
    if (e) return e;
    const dg_kind first = head.bits == 16 ? DG_KIND_PNG_GREY_16 : DG_KIND_PNG_GREY;
    to->kind = head.palette ? DG_KIND_PNG_PALETTE : (dg_kind)((int)first + head.components - 1);
    uint64_t whole = head.interlaced ? 4 * (uint64_t)head.W * (uint64_t)head.H : 0;
    e = dg_image_afford("PNG", head.W, head.H, bytes, whole, to);
    if (e) return e;

    reader r = {.file = file, .bytes = bytes, .head = &head, .to = to, .start = dg_decode_clock()};
    bool ok = read_all(&r);
    png_destroy_read_struct(&r.png, &r.info, NULL);
    free(r.row);
    if (ok && !r.no_memory) return DG_OK; /* after a failed allocation, libpng may return wrong pixels */
    if (r.no_memory && !r.error) return dg_fail(DG_DEVICE, "no memory to decode a PNG of %d x %d", head.W, head.H);
    return r.error ? r.error : dg_fail(DG_DATA, "PNG: %s", r.why);
}
