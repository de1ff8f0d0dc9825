/* Makes image files for tests in memory, by libpng, libjpeg and giflib, or byte by byte. */
#pragma once

#include <errno.h>
#include <gif_lib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jpeglib.h>
#include <png.h>
#include <webp/encode.h>
#include <zlib.h>

typedef struct {
    uint8_t *data;
    size_t bytes, room;
} blob;

__attribute__((unused)) static void blob_put(blob *b, const void *data, size_t n)
{
    if (b->bytes + n > b->room) {
        b->room = 2 * (b->bytes + n) + 64;
        b->data = realloc(b->data, b->room);
        if (!b->data) abort();
    }
    if (n) memcpy(b->data + b->bytes, data, n);
    b->bytes += n;
}

__attribute__((unused)) static blob blob_of(const void *data, size_t n)
{
    blob b = {0};
    blob_put(&b, data, n);
    return b;
}

__attribute__((unused)) static void blob_free(blob *b)
{
    free(b->data);
    *b = (blob){0};
}

__attribute__((unused)) static void blob_insert(blob *b, size_t at, const void *data, size_t n)
{
    blob tail = {0};
    blob_put(&tail, b->data + at, b->bytes - at);
    b->bytes = at;
    blob_put(b, data, n);
    blob_put(b, tail.data, tail.bytes);
    blob_free(&tail);
}

__attribute__((unused)) static int blob_save(const blob *b, const char *path)
{
    FILE *f = fopen(path, "wb");
    if (!f) return -1;
    size_t n = b->bytes ? fwrite(b->data, 1, b->bytes, f) : 0;
    return fclose(f) || n != b->bytes ? -1 : 0;
}

/* Saves blob b as file folder/name, and frees it. Returns 0, or -1 with errno. */
__attribute__((unused)) static int blob_into(const char *folder, const char *name, blob b)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const int failed = blob_save(&b, path), error = errno;
    blob_free(&b);
    errno = error;
    return failed;
}

__attribute__((unused)) static int blob_load(blob *b, const char *path)
{
    *b = (blob){0};
    FILE *f = fopen(path, "rb");
    if (!f) return -1;
    uint8_t part[65536];
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;) blob_put(b, part, n);
    return fclose(f);
}

/* Returns byte i of the deterministic noise `seed`. resize_expected.h has expected results for this noise. */
__attribute__((unused)) static uint8_t noise_byte(uint32_t seed, uint32_t i)
{
    uint32_t v = (i + 1) * 2654435761u ^ seed * 2246822519u;
    v ^= v >> 15;
    v *= 2246822519u;
    v ^= v >> 13;
    return (uint8_t)(v >> 11);
}

/* ---- PNG, byte by byte ---- */

__attribute__((unused)) static void put32(blob *b, uint32_t v)
{
    uint8_t p[4] = {(uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v};
    blob_put(b, p, 4);
}

__attribute__((unused)) static void png_chunk(blob *b, const char *name, const void *data, size_t n)
{
    put32(b, (uint32_t)n);
    blob_put(b, name, 4);
    blob_put(b, data, n);
    uLong crc = crc32(crc32(0, Z_NULL, 0), (const Bytef *)name, 4);
    put32(b, (uint32_t)(n ? crc32(crc, data, (uInt)n) : crc));
}

__attribute__((unused)) static void png_start(blob *b, uint32_t W, uint32_t H, int depth, int colour, int interlace)
{
    blob ihdr = {0};
    put32(&ihdr, W);
    put32(&ihdr, H);
    uint8_t rest[5] = {(uint8_t)depth, (uint8_t)colour, 0, 0, (uint8_t)interlace};
    blob_put(&ihdr, rest, 5);
    blob_put(b, "\x89PNG\r\n\x1a\n", 8);
    png_chunk(b, "IHDR", ihdr.data, ihdr.bytes);
    blob_free(&ihdr);
}

__attribute__((unused)) static void deflate_into(blob *b, const void *data, size_t n)
{
    uLongf bytes = compressBound((uLong)n);
    uint8_t *p = malloc(bytes);
    if (!p || compress2(p, &bytes, data, (uLong)n, 9) != Z_OK) abort();
    blob_put(b, p, bytes);
    free(p);
}

/* Compresses `head` followed by `zeros` zero bytes. `window` is 15 for the zlib format and 31 for gzip. */
__attribute__((unused)) static void deflate_zeros(blob *b, const blob *head, size_t zeros, int window)
{
    static const uint8_t zero[1 << 16];
    uint8_t out[1 << 14];
    z_stream z = {0};
    if (deflateInit2(&z, 9, Z_DEFLATED, window, 9, Z_DEFAULT_STRATEGY) != Z_OK) abort();
    z.next_in = head ? head->data : NULL;
    z.avail_in = head ? (uInt)head->bytes : 0;
    for (int code = Z_OK; code != Z_STREAM_END; blob_put(b, out, sizeof out - z.avail_out)) {
        if (!z.avail_in) {
            z.next_in = (Bytef *)(uintptr_t)zero;
            z.avail_in = (uInt)(zeros < sizeof zero ? zeros : sizeof zero);
            zeros -= z.avail_in;
        }
        z.next_out = out;
        z.avail_out = sizeof out;
        code = deflate(&z, zeros || z.avail_in ? Z_NO_FLUSH : Z_FINISH);
    }
    deflateEnd(&z);
}

__attribute__((unused)) static void png_rest(blob *b, const void *raw, size_t n)
{
    blob z = {0};
    deflate_into(&z, raw, n);
    png_chunk(b, "IDAT", z.data, z.bytes);
    png_chunk(b, "IEND", NULL, 0);
    blob_free(&z);
}

/* ---- PNG by libpng ---- */

static void blob_png_write(png_structp png, png_bytep data, png_size_t n) { blob_put(png_get_io_ptr(png), data, n); }
static void blob_png_flush(png_structp png) { (void)png; }

typedef struct {
    int W, H, depth, colour, interlace;
    const uint8_t *palette;  /* 256 x 3 */
    const uint8_t *trans;    /* alpha values of the 256 palette entries, or NULL */
    const png_color_16 *key; /* the transparent colour, or NULL */
} png_spec;

/* Makes a PNG file. `rows` contains pixels packed as in PNG, without filter bytes. */
__attribute__((unused)) static blob png_by_libpng(const png_spec *s, const uint8_t *rows)
{
    blob b = {0};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    if (setjmp(png_jmpbuf(png))) abort();
    png_set_write_fn(png, &b, blob_png_write, blob_png_flush);
    png_set_IHDR(png, info, (png_uint_32)s->W, (png_uint_32)s->H, s->depth, s->colour, s->interlace,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (s->palette) {
        int n = s->depth < 8 ? 1 << s->depth : 256;
        png_set_PLTE(png, info, (png_const_colorp)(const void *)s->palette, n);
        if (s->trans) png_set_tRNS(png, info, s->trans, n, NULL);
    }
    if (s->key) png_set_tRNS(png, info, NULL, 0, s->key);
    png_write_info(png, info);
    size_t row = png_get_rowbytes(png, info);
    for (int pass = png_set_interlace_handling(png); pass > 0; pass--)
        for (int y = 0; y < s->H; y++) png_write_row(png, rows + (size_t)y * row);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return b;
}

__attribute__((unused)) static blob png_noise(int W, int H, uint32_t seed)
{
    uint8_t *rows = malloc(3 * (size_t)W * (size_t)H);
    if (!rows) abort();
    for (uint32_t i = 0; i < 3u * (uint32_t)W * (uint32_t)H; i++) rows[i] = noise_byte(seed, i);
    blob b = png_by_libpng(&(png_spec){.W = W, .H = H, .depth = 8, .colour = PNG_COLOR_TYPE_RGB}, rows);
    free(rows);
    return b;
}

/* Saves PNG files of n x n pixels of noise. They are named after the numbers `begin` to `end` - 1, such as 00.png. */
__attribute__((unused)) static void save_noise(const char *folder, int begin, int end, int n)
{
    for (int i = begin; i < end; i++) {
        char name[16];
        snprintf(name, sizeof name, "%02d.png", i);
        if (blob_into(folder, name, png_noise(n, n, (uint32_t)i))) abort();
    }
}

/* ---- JPEG by libjpeg ---- */

typedef struct {
    int W, H, components;   /* components is 1, 3 or 4 */
    J_COLOR_SPACE from, to; /* colour spaces of the pixels and of the file */
    int h, v;               /* sampling factors of the first component, 1 or more */
    int quality;
    int progressive, arithmetic, optimize, restart;
    int no_adobe; /* CMYK without Adobe's marker */
} jpeg_spec;

__attribute__((unused)) static blob jpeg_by_libjpeg(const jpeg_spec *s, const uint8_t *rows)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr err;
    unsigned char *data = NULL;
    unsigned long n = 0;
    c.err = jpeg_std_error(&err);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &data, &n);
    c.image_width = (JDIMENSION)s->W;
    c.image_height = (JDIMENSION)s->H;
    c.input_components = s->components;
    c.in_color_space = s->from;
    jpeg_set_defaults(&c);
    jpeg_set_colorspace(&c, s->to);
    jpeg_set_quality(&c, s->quality, TRUE);
    c.comp_info[0].h_samp_factor = s->h > 0 ? s->h : 1;
    c.comp_info[0].v_samp_factor = s->v > 0 ? s->v : 1;
    for (int i = 1; i < c.num_components; i++) c.comp_info[i].h_samp_factor = c.comp_info[i].v_samp_factor = 1;
    if (s->components == 4) { /* the black component has the sampling factors of the first component */
        c.comp_info[3].h_samp_factor = c.comp_info[0].h_samp_factor;
        c.comp_info[3].v_samp_factor = c.comp_info[0].v_samp_factor;
    }
    if (s->progressive) jpeg_simple_progression(&c);
    c.arith_code = s->arithmetic ? TRUE : FALSE;
    c.optimize_coding = s->optimize ? TRUE : FALSE;
    c.restart_interval = (unsigned)s->restart;
    if (s->no_adobe) c.write_Adobe_marker = FALSE;
    jpeg_start_compress(&c, TRUE);
    for (int y = 0; y < s->H; y++) {
        JSAMPROW row = (JSAMPROW)(uintptr_t)(rows + (size_t)y * (size_t)s->W * (size_t)s->components);
        jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    blob b = {0};
    blob_put(&b, data, n);
    free(data);
    return b;
}

__attribute__((unused)) static jpeg_spec jpeg_photo(int W, int H, int quality)
{
    return (jpeg_spec){W, H, 3, JCS_RGB, JCS_YCbCr, .h = 2, .v = 2, .quality = quality};
}

__attribute__((unused)) static jpeg_spec jpeg_grey(int W, int H, int quality)
{
    return (jpeg_spec){W, H, 1, JCS_GRAYSCALE, JCS_GRAYSCALE, .quality = quality};
}

enum { JPEG_CODINGS = 4 };
__attribute__((unused)) static jpeg_spec jpeg_coded(jpeg_spec s, int coding, int restart)
{
    s.progressive = coding == 1;
    s.arithmetic = coding == 2;
    s.restart = coding == 3 ? restart : 0;
    return s;
}

/* Returns pixels of smooth colours, which JPEG preserves well, plus noise of amplitude `noise` (0 to 255). */
__attribute__((unused)) static uint8_t *smooth_rows(int W, int H, int C, uint32_t seed, int noise)
{
    uint8_t *rows = malloc((size_t)W * (size_t)H * (size_t)C);
    if (!rows) abort();
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            for (int c = 0; c < C; c++) {
                uint32_t i = (uint32_t)((y * W + x) * C + c);
                int v = 40 + (c == 0 ? 160 * x / W : c == 1 ? 160 * y / H : 80 * (x + y) / (W + H));
                v += noise * (noise_byte(seed, i) - 128) / 256;
                rows[i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
            }
    return rows;
}

__attribute__((unused)) static blob jpeg_smooth(int W, int H, uint32_t seed)
{
    uint8_t *rows = smooth_rows(W, H, 3, seed, 30);
    const jpeg_spec s = jpeg_photo(W, H, 90);
    blob b = jpeg_by_libjpeg(&s, rows);
    free(rows);
    return b;
}

/* ---- GIF and WebP ---- */

static int blob_gif_write(GifFileType *gif, const GifByteType *data, int n)
{
    blob_put(gif->UserData, data, (size_t)n);
    return n;
}

/* Makes a GIF of one frame with W x H colour indices at (left, left). `transparent` is a colour index, or -1. */
__attribute__((unused)) static blob gif_by_giflib(int W, int H, int left, bool interlaced, int transparent,
                                                  const uint8_t *palette, const uint8_t *index)
{
    static const int begin_of[] = {0, 4, 2, 1, 0}, step[] = {8, 8, 4, 2, 1};
    blob b = {0};
    int code;
    ColorMapObject *map = GifMakeMapObject(256, (const GifColorType *)(const void *)palette);
    GifFileType *g = EGifOpen(&b, blob_gif_write, &code);
    EGifSetGifVersion(g, true);
    EGifPutScreenDesc(g, W + left, H + left, 8, 0, map);
    GifByteType extension[4];
    EGifGCBToExtension(&(GraphicsControlBlock){.TransparentColor = transparent}, extension);
    if (transparent >= 0) EGifPutExtension(g, GRAPHICS_EXT_FUNC_CODE, 4, extension);
    EGifPutImageDesc(g, left, left, W, H, interlaced, NULL);
    for (int pass = interlaced ? 0 : 4; pass < (interlaced ? 4 : 5); pass++)
        for (int y = begin_of[pass]; y < H; y += step[pass]) {
            GifByteType row[64];
            memcpy(row, index + (ptrdiff_t)y * W, (size_t)W);
            EGifPutLine(g, row, W);
        }
    EGifCloseFile(g, &code);
    GifFreeMapObject(map);
    return b;
}

__attribute__((unused)) static blob webp_by_libwebp(int W, int H, bool lossless, const uint8_t *rgba)
{
    uint8_t *data = NULL;
    const size_t n = lossless ? WebPEncodeLosslessRGBA(rgba, W, H, 4 * W, &data)
                              : WebPEncodeRGBA(rgba, W, H, 4 * W, 90, &data);
    blob b = {0};
    blob_put(&b, data, n);
    WebPFree(data);
    return b;
}

/* ---- EXIF ---- */

__attribute__((unused)) static void tiff_number(blob *b, int big, uint32_t v, int n)
{
    for (int i = 0; i < n; i++) {
        uint8_t byte = (uint8_t)(v >> 8 * (big ? n - 1 - i : i));
        blob_put(b, &byte, 1);
    }
}

/* Makes a TIFF block of EXIF with two tags, of which the second is the orientation. */
__attribute__((unused)) static blob exif_block(int big, uint32_t orientation)
{
    blob b = {0};
    blob_put(&b, big ? "MM" : "II", 2);
    tiff_number(&b, big, 42, 2);
    tiff_number(&b, big, 8, 4);
    tiff_number(&b, big, 2, 2);
    tiff_number(&b, big, 0x010f, 2), tiff_number(&b, big, 2, 2), tiff_number(&b, big, 4, 4);
    blob_put(&b, "cam", 4);
    tiff_number(&b, big, 0x0112, 2), tiff_number(&b, big, 3, 2), tiff_number(&b, big, 1, 4);
    tiff_number(&b, big, orientation, 2), tiff_number(&b, big, 0, 2);
    tiff_number(&b, big, 0, 4);
    return b;
}

/* Frees `tiff`. */
__attribute__((unused)) static void jpeg_add_exif(blob *jpeg, blob tiff)
{
    blob app = {0};
    const size_t n = tiff.bytes + 8;
    blob_put(&app, (const uint8_t[]){0xff, 0xe1, (uint8_t)(n >> 8), (uint8_t)n}, 4);
    blob_put(&app, "Exif\0\0", 6);
    blob_put(&app, tiff.data, tiff.bytes);
    blob_insert(jpeg, 2, app.data, app.bytes);
    blob_free(&app);
    blob_free(&tiff);
}

/* Inserts a chunk after the IHDR chunk of a PNG file. */
__attribute__((unused)) static blob png_with(blob b, const char *name, const void *data, size_t n)
{
    blob chunk = {0};
    png_chunk(&chunk, name, data, n);
    blob_insert(&b, 33, chunk.data, chunk.bytes);
    blob_free(&chunk);
    return b;
}

__attribute__((unused)) static blob png_with_exif(blob b, blob tiff)
{
    b = png_with(b, "eXIf", tiff.data, tiff.bytes);
    blob_free(&tiff);
    return b;
}
