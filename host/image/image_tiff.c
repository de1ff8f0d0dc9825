/* Reads TIFF files by libtiff 4.5 or newer, which has limits and messages per file: 8 and 16 bits per sample, grey,
 * palette, RGB and CMYK, with or without alpha, in strips or tiles. Of a file with several pages, the first. */
#include "host/image/image_internal.h"

#ifndef DG_TIFF
dg_err dg_tiff_pixels(const uint8_t *file, size_t bytes, dg_row_sink *to)
{
    (void)file, (void)bytes, (void)to;
    return dg_fail(DG_DATA, "a TIFF image, not supported, because this dcgan was built without libtiff; convert it: "
                            "tifftopnm FILE | pnmtopng > FILE.png, or magick FILE FILE.png");
}
#else

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

enum { USED = 5, SMALL_MAX = 1 << 20, ALLOCATION_MAX = 96 << 20 }; /* USED: four inks and alpha */

typedef struct {
    const uint8_t *file;
    size_t bytes, at;
    TIFF *tiff;
    char why[200]; /* first message of libtiff */
    bool failed;   /* a call of libtiff failed */
    uint32_t W, H;
    uint16_t bits, samples, photometric, planar;
    bool tiled, associated;
    int colours, used; /* used: colours and alpha */
    uint32_t unit_W, unit_H;
    size_t unit_bytes, unit_row;
    uint8_t *unit, *band, *rgba; /* a decoded strip, row or tile; (unit_H, W, used); a row (W, 4) */
    uint8_t map[3][256];
    double start;
    dg_row_sink *to;
} reader;

static tmsize_t on_read(thandle_t handle, void *to, tmsize_t n)
{
    reader *r = handle;
    const size_t left = r->at < r->bytes ? r->bytes - r->at : 0, here = n < 0 ? 0 : (size_t)n < left ? (size_t)n : left;
    memcpy(to, r->file + r->at, here);
    r->at += here;
    return (tmsize_t)here;
}

static tmsize_t on_write(thandle_t handle, void *from, tmsize_t n)
{
    (void)handle, (void)from, (void)n;
    return -1;
}

static toff_t on_seek(thandle_t handle, toff_t to, int whence)
{
    reader *r = handle;
    const toff_t from = whence == SEEK_CUR ? r->at : whence == SEEK_END ? r->bytes : 0;
    if (to > (toff_t)INT64_MAX - from) return (toff_t)-1;
    r->at = (size_t)(from + to);
    return from + to;
}

static int on_close(thandle_t handle)
{
    (void)handle;
    return 0;
}

static toff_t on_size(thandle_t handle) { return ((const reader *)handle)->bytes; }

static int on_error(TIFF *tiff, void *user, const char *module, const char *format, va_list ap)
{
    reader *r = user;
    (void)tiff, (void)module;
    if (!*r->why) vsnprintf(r->why, sizeof r->why, format, ap);
    return 1;
}

static int on_warning(TIFF *tiff, void *user, const char *module, const char *format, va_list ap)
{
    (void)tiff, (void)user, (void)module, (void)format, (void)ap;
    return 1;
}

static dg_err wrong(reader *r)
{
    r->failed = true;
    return dg_fail(DG_DATA, "TIFF: %s", *r->why ? r->why : "damaged");
}

static dg_err refuse(const char *what, unsigned value)
{
    return dg_fail(DG_DATA,
                   "TIFF: %s %u is not supported; convert it: tifftopnm FILE | pnmtopng > FILE.png, or magick FILE "
                   "FILE.png",
                   what, value);
}

/* Codecs that few files use are refused, because their decoders are less tested. */
static bool is_common(uint16_t compression)
{
    static const uint16_t known[] = {COMPRESSION_NONE,      COMPRESSION_CCITTRLE,      COMPRESSION_CCITTFAX3,
                                     COMPRESSION_CCITTFAX4, COMPRESSION_LZW,           COMPRESSION_JPEG,
                                     COMPRESSION_PACKBITS,  COMPRESSION_ADOBE_DEFLATE, COMPRESSION_DEFLATE,
                                     COMPRESSION_ZSTD,      COMPRESSION_LZMA,          COMPRESSION_WEBP};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (compression == known[i]) return TIFFIsCODECConfigured(compression);
    return false;
}

static dg_err read_palette(reader *r)
{
    uint16_t *map[3];
    unsigned most = 0;
    if (r->bits > 8) return refuse("a palette with a number of bits of", r->bits);
    if (!TIFFGetField(r->tiff, TIFFTAG_COLORMAP, &map[0], &map[1], &map[2]))
        return dg_fail(DG_DATA, "TIFF: the palette is missing");
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < 1 << r->bits; i++) most = map[c][i] > most ? map[c][i] : most;
    for (int c = 0; c < 3; c++) /* some programs write 8-bit colours */
        for (int i = 0; i < 1 << r->bits; i++) r->map[c][i] = (uint8_t)(most > 255 ? map[c][i] >> 8 : map[c][i]);
    return DG_OK;
}

/* Find the number of colours, and whether alpha follows them. */
static dg_err read_layout(reader *r)
{
    uint16_t extras = 0, *extra = NULL, compression = 0;
    TIFFGetFieldDefaulted(r->tiff, TIFFTAG_COMPRESSION, &compression);
    if (r->photometric == PHOTOMETRIC_YCBCR && compression == COMPRESSION_JPEG &&
        TIFFSetField(r->tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB))
        r->photometric = PHOTOMETRIC_RGB;
    switch (r->photometric) {
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_MINISBLACK:
    case PHOTOMETRIC_PALETTE: r->colours = 1; break;
    case PHOTOMETRIC_RGB: r->colours = 3; break;
    case PHOTOMETRIC_SEPARATED: r->colours = 4; break;
    default: return refuse("the colour space", r->photometric);
    }
    if (r->samples < r->colours) return dg_fail(DG_DATA, "TIFF: %u samples per pixel are too few", r->samples);
    TIFFGetFieldDefaulted(r->tiff, TIFFTAG_EXTRASAMPLES, &extras, &extra);
    const bool alpha = extras && r->samples > r->colours && extra[0] != EXTRASAMPLE_UNSPECIFIED;
    r->associated = alpha && extra[0] == EXTRASAMPLE_ASSOCALPHA;
    r->used = r->colours + alpha;
    return r->photometric == PHOTOMETRIC_PALETTE ? read_palette(r) : DG_OK;
}

static dg_err read_head(reader *r)
{
    uint16_t format = SAMPLEFORMAT_UINT, compression = 0;
    if (!TIFFGetField(r->tiff, TIFFTAG_IMAGEWIDTH, &r->W) || !TIFFGetField(r->tiff, TIFFTAG_IMAGELENGTH, &r->H) ||
        !TIFFGetField(r->tiff, TIFFTAG_PHOTOMETRIC, &r->photometric))
        return dg_fail(DG_DATA, "TIFF: the size or the colour space is missing");
    TIFFGetFieldDefaulted(r->tiff, TIFFTAG_BITSPERSAMPLE, &r->bits);
    TIFFGetFieldDefaulted(r->tiff, TIFFTAG_SAMPLESPERPIXEL, &r->samples);
    TIFFGetFieldDefaulted(r->tiff, TIFFTAG_PLANARCONFIG, &r->planar);
    TIFFGetFieldDefaulted(r->tiff, TIFFTAG_SAMPLEFORMAT, &format);
    TIFFGetFieldDefaulted(r->tiff, TIFFTAG_COMPRESSION, &compression);
    r->to->kind = r->bits == 16 ? DG_KIND_TIFF_16 : DG_KIND_TIFF;
    if (!is_common(compression)) return refuse("compression", compression);
    if (format == SAMPLEFORMAT_IEEEFP) return refuse("the type floating point with a number of bits of", r->bits);
    if (format != SAMPLEFORMAT_UINT && format != SAMPLEFORMAT_VOID) return refuse("the type of samples", format);
    if (r->bits != 1 && r->bits != 2 && r->bits != 4 && r->bits != 8 && r->bits != 16)
        return refuse("the number of bits per sample", r->bits);
    if (r->planar != PLANARCONFIG_CONTIG && r->planar != PLANARCONFIG_SEPARATE) return refuse("the layout", r->planar);
    return read_layout(r);
}

static size_t positive(tmsize_t n) { return n > 0 ? (size_t)n : 0; }

/* Choose what is decoded at once: a tile, a strip of one plane, or a row. */
static dg_err choose_units(reader *r)
{
    r->tiled = TIFFIsTiled(r->tiff);
    r->unit_W = r->W;
    r->unit_H = 1;
    r->unit_bytes = r->unit_row = positive(TIFFScanlineSize(r->tiff));
    if (r->tiled) {
        TIFFGetField(r->tiff, TIFFTAG_TILEWIDTH, &r->unit_W);
        TIFFGetField(r->tiff, TIFFTAG_TILELENGTH, &r->unit_H);
        r->unit_row = positive(TIFFTileRowSize(r->tiff));
        r->unit_bytes = positive(TIFFTileSize(r->tiff));
    } else if (r->planar == PLANARCONFIG_SEPARATE) {
        TIFFGetFieldDefaulted(r->tiff, TIFFTAG_ROWSPERSTRIP, &r->unit_H);
        if (r->unit_H > r->H) r->unit_H = r->H;
        r->unit_bytes = positive(TIFFStripSize(r->tiff));
    }
    const uint64_t in_row = r->planar == PLANARCONFIG_CONTIG ? r->samples : 1;
    if (!r->unit_W || !r->unit_H || r->unit_W > 1 << 20 || r->unit_H > 1 << 20 ||
        r->unit_row < (in_row * r->unit_W * r->bits + 7) / 8 || r->unit_bytes / r->unit_H < r->unit_row)
        return dg_fail(DG_DATA, "TIFF: %s of %u x %u pixels with %zu bytes", r->tiled ? "tiles" : "strips", r->unit_W,
                       r->unit_H, r->unit_bytes);
    return DG_OK;
}

static dg_err get_memory(reader *r)
{
    const uint64_t rows = r->unit_H < r->H ? r->unit_H : r->H, band = rows * r->W * (uint64_t)r->used;
    dg_err e = dg_image_afford("TIFF", r->W, r->H, r->bytes, r->unit_bytes + band, r->to);
    if (e) return e;
    r->unit = calloc(r->unit_bytes, 1); /* libtiff may leave the rest of a tile unwritten */
    r->band = malloc((size_t)band);
    r->rgba = malloc(4 * (size_t)r->W);
    return r->unit && r->band && r->rgba ? DG_OK : dg_fail(DG_DEVICE, "no memory for an image of %u x %u", r->W, r->H);
}

static uint8_t sample(const reader *r, const uint8_t *row, size_t i)
{
    uint16_t v;
    if (r->bits == 8) return row[i];
    if (r->bits == 16) { /* keep only the high byte, like for PNG */
        memcpy(&v, row + 2 * i, sizeof v);
        return (uint8_t)(v >> 8);
    }
    const unsigned bit = (unsigned)(i * r->bits % 8), most = (1U << r->bits) - 1;
    const unsigned small = (unsigned)row[i * r->bits / 8] >> (8 - r->bits - (int)bit) & most;
    return (uint8_t)(r->photometric == PHOTOMETRIC_PALETTE ? small : small * 255 / most);
}

/* Copy the samples of a unit, whose first pixel is (x, 0) of the band, to the band. plane: of a single sample, or -1 */
static void to_band(reader *r, uint32_t x, uint32_t rows, int plane)
{
    const size_t n = plane < 0 ? r->samples : 1, W = r->W - x < r->unit_W ? r->W - x : r->unit_W;
    for (size_t y = 0; y < rows; y++) {
        const uint8_t *from = r->unit + y * r->unit_row;
        uint8_t *to = r->band + (y * r->W + x) * (size_t)r->used;
        for (size_t k = 0; k < W; k++, to += r->used)
            for (int s = plane < 0 ? 0 : plane; s < (plane < 0 ? r->used : plane + 1); s++)
                to[s] = sample(r, from, k * n + (plane < 0 ? (size_t)s : 0));
    }
}

static bool read_unit(reader *r, uint32_t x, uint32_t y, int plane)
{
    const uint16_t s = (uint16_t)(plane < 0 ? 0 : plane);
    if (r->tiled) return TIFFReadTile(r->tiff, r->unit, x, y, 0, s) >= 0;
    if (plane < 0) return TIFFReadScanline(r->tiff, r->unit, y, 0) > 0;
    const size_t rows = r->H - y < r->unit_H ? r->H - y : r->unit_H;
    return TIFFReadEncodedStrip(r->tiff, TIFFComputeStrip(r->tiff, y, s), r->unit, (tmsize_t)(rows * r->unit_row)) ==
           (tmsize_t)(rows * r->unit_row);
}

static dg_err read_band(reader *r, uint32_t y, uint32_t rows)
{
    const bool planes = r->planar == PLANARCONFIG_SEPARATE;
    for (uint32_t x = 0; x < r->W; x += r->unit_W)
        for (int plane = planes ? 0 : -1; plane < (planes ? r->used : 0); plane++) {
            if (!read_unit(r, x, y, plane)) return wrong(r);
            if (dg_decode_late(r->start)) return dg_fail(DG_DATA, "TIFF: takes too long to decode");
            to_band(r, x, rows, plane);
        }
    return DG_OK;
}

static uint8_t without(unsigned colour, unsigned alpha)
{
    return (uint8_t)(!alpha ? 0 : colour >= alpha ? 255 : (colour * 255 + alpha / 2) / alpha);
}

static void to_rgba(const reader *r, const uint8_t *p, uint8_t *out)
{
    out[3] = r->used > r->colours ? p[r->colours] : 255;
    for (int c = 0; c < 3; c++) {
        const unsigned ink = 255U - p[r->colours == 4 ? 3 : 0];
        unsigned v = p[r->colours == 1 ? 0 : c];
        if (r->photometric == PHOTOMETRIC_MINISWHITE) v = 255 - v;
        if (r->photometric == PHOTOMETRIC_PALETTE) v = r->map[c][v];
        if (r->colours == 4) v = ink - (v * ink + 127) / 255; /* like of a JPEG */
        out[c] = r->associated ? without(v, out[3]) : (uint8_t)v;
    }
}

static dg_err read_rows(reader *r)
{
    uint16_t orientation = 1;
    uint32_t profile_bytes = 0;
    void *profile;
    TIFFGetFieldDefaulted(r->tiff, TIFFTAG_ORIENTATION, &orientation);
    if (orientation < 1 || orientation > 8 || !r->to->o->exif) orientation = 1;
    dg_row_sink_note(r->to, DG_DID_HALVE, r->bits == 16);
    dg_row_sink_note(r->to, DG_DID_CMYK, r->colours == 4);
    dg_row_sink_note(r->to, DG_DID_FRAME, !TIFFLastDirectory(r->tiff));
    dg_row_sink_note(r->to, DG_DID_PROFILE, TIFFGetField(r->tiff, TIFFTAG_ICCPROFILE, &profile_bytes, &profile) == 1);
    dg_err e = dg_row_sink_open(r->to, (int)r->W, (int)r->H, orientation);
    for (uint32_t y = 0; y < r->H && !e; y += r->unit_H) {
        const uint32_t rows = r->H - y < r->unit_H ? r->H - y : r->unit_H;
        e = read_band(r, y, rows);
        for (uint32_t k = 0; k < rows && !e; k++) {
            const uint8_t *from = r->band + (size_t)k * r->W * (size_t)r->used;
            for (size_t x = 0; x < r->W; x++) to_rgba(r, from + x * (size_t)r->used, r->rgba + 4 * x);
            dg_row_sink_put_rgba(r->to, (int)(y + k), r->rgba);
        }
    }
    return e;
}

static void open_tiff(reader *r)
{
    TIFFOpenOptions *o = TIFFOpenOptionsAlloc();
    if (!o) return;
    TIFFOpenOptionsSetMaxSingleMemAlloc(o, ALLOCATION_MAX);
    TIFFOpenOptionsSetErrorHandlerExtR(o, on_error, r);
    TIFFOpenOptionsSetWarningHandlerExtR(o, on_warning, r);
    /* m: no memory map */
    r->tiff = TIFFClientOpenExt("", "rm", r, on_read, on_write, on_seek, on_close, on_size, NULL, NULL, o);
    TIFFOpenOptionsFree(o);
}

static dg_err decode_once(const uint8_t *file, size_t bytes, dg_row_sink *to, bool *by_libtiff)
{
    reader r = {.file = file, .bytes = bytes, .to = to, .start = dg_decode_clock(), .bits = 1, .samples = 1};
    open_tiff(&r);
    dg_err e = r.tiff ? read_head(&r) : *r.why ? wrong(&r) : dg_fail(DG_DEVICE, "no memory to decode a TIFF");
    if (!e) e = dg_image_afford("TIFF", r.W, r.H, bytes, 0, to);
    if (!e) e = choose_units(&r);
    if (!e) e = get_memory(&r);
    if (!e) e = read_rows(&r);
    if (r.tiff) TIFFClose(r.tiff);
    free(r.unit);
    free(r.band);
    free(r.rgba);
    *by_libtiff = r.failed;
    return e;
}

/* libtiff reports lack of memory like damage. A file is damaged if decoding fails twice while memory is left. */
dg_err dg_tiff_pixels(const uint8_t *file, size_t bytes, dg_row_sink *to)
{
    bool by_libtiff;
    to->kind = DG_KIND_TIFF;
    const dg_row_sink before = *to;
    /* libtiff 4.5 may crash where one of its small allocations fails. */
    const size_t room = (size_t)SMALL_MAX + 2 * bytes;
    if (!dg_memory_left(room)) return dg_fail(DG_DEVICE, "no memory to decode a TIFF");
    dg_err e = decode_once(file, bytes, to, &by_libtiff);
    if (!by_libtiff) return e;
    if (!dg_memory_left(room)) return dg_fail(DG_DEVICE, "no memory to decode a TIFF");
    dg_row_sink_close(to, false);
    *to = before;
    return decode_once(file, bytes, to, &by_libtiff);
}
#endif
