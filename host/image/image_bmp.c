/* Reads BMP files of Windows and OS/2 with uncompressed pixels of 1 to 32 bits. */
#include "host/image/image_internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    int W, H, bits;
    bool down; /* rows are stored from top to bottom */
    uint32_t mask[4];
    const uint8_t *palette;
    size_t entry, colours;
    size_t pixels, stride;
} bmp_head;

static uint32_t little(const uint8_t *p, int n)
{
    uint32_t v = 0;
    for (int i = n - 1; i >= 0; i--) v = v << 8 | p[i];
    return v;
}

/* With compression 3 or 6, colour masks follow the first 40 bytes of the header. */
static dg_err read_masks(const uint8_t *f, size_t bytes, uint32_t header, uint32_t compression, bmp_head *h)
{
    static const uint32_t usual[2][4] = {{0x7c00, 0x3e0, 0x1f, 0}, {0xff0000, 0xff00, 0xff, 0}};
    memcpy(h->mask, usual[h->bits == 32], sizeof h->mask);
    if (compression != 3 && compression != 6) return DG_OK;
    const int n = compression == 6 || header >= 56 ? 4 : 3;
    if (bytes < 54 + 4 * (size_t)n) return dg_fail(DG_DATA, "BMP: cut off after %zu bytes", bytes);
    for (int i = 0; i < 4; i++) h->mask[i] = i < n ? little(f + 54 + 4 * (size_t)i, 4) : 0;
    for (int i = 0; i < 3; i++)
        if (!h->mask[i]) return dg_fail(DG_DATA, "BMP: a colour mask is 0");
    return DG_OK;
}

static dg_err read_size(const uint8_t *f, uint32_t header, int64_t *W, int64_t *H)
{
    *W = header == 12 ? (int64_t)little(f + 18, 2) : (int64_t)(int32_t)little(f + 18, 4);
    *H = header == 12 ? (int64_t)little(f + 20, 2) : (int64_t)(int32_t)little(f + 22, 4);
    return *W < 1 || *H == 0 ? dg_fail(DG_DATA, "BMP: no pixels (%lld x %lld)", (long long)*W, (long long)*H) : DG_OK;
}

static dg_err read_head(const uint8_t *f, size_t bytes, const dg_row_sink *to, bmp_head *h)
{
    *h = (bmp_head){0};
    const uint32_t header = bytes < 26 ? 0 : little(f + 14, 4);
    if (bytes < 26 || (header != 12 && (header < 40 || bytes < 54)))
        return dg_fail(DG_DATA, bytes < 54 ? "BMP: cut off after %zu bytes" : "BMP: damaged header", bytes);
    int64_t W, H;
    dg_err e = read_size(f, header, &W, &H);
    if (e) return e;
    h->down = H < 0;
    H = h->down ? -H : H;
    e = dg_image_afford("BMP", W, H, bytes, 0, to);
    if (e) return e;
    h->W = (int)W;
    h->H = (int)H;
    h->bits = (int)little(f + (header == 12 ? 24 : 28), 2);
    const uint32_t compression = header == 12 ? 0 : little(f + 30, 4);
    if (compression == 1 || compression == 2) return dg_fail(DG_DATA, "BMP: run-length compression is not supported");
    const int b = h->bits;
    const bool masks = compression == 3 || compression == 6;
    if ((b != 1 && b != 4 && b != 8 && b != 16 && b != 24 && b != 32) || (compression && !masks) ||
        (masks && b != 16 && b != 32))
        return dg_fail(DG_DATA, "BMP: %d bits per pixel with compression %u are not supported", b, compression);
    e = read_masks(f, bytes, header, compression, h);
    h->pixels = little(f + 10, 4);
    h->stride = ((size_t)W * (size_t)b + 31) / 32 * 4;
    h->entry = header == 12 ? 3 : 4;
    const size_t from = 14 + (size_t)header, room = h->pixels > from ? (h->pixels - from) / h->entry : 0;
    h->colours = room < 256 ? room : 256;
    h->palette = f + from;
    if (!e && (h->pixels > bytes || (bytes - h->pixels) / h->stride < (size_t)H))
        e = dg_fail(DG_DATA, "BMP: cut off after %zu bytes", bytes);
    return e;
}

static uint8_t part(uint32_t v, uint32_t mask)
{
    if (!mask) return 255;
    const uint32_t low = mask & (~mask + 1), most = mask / low;
    return (uint8_t)(((uint64_t)((v & mask) / low) * 255 + most / 2) / most);
}

static bool give_pixel(const bmp_head *h, const uint8_t *row, int x, uint8_t rgba[4])
{
    rgba[3] = 255;
    if (h->bits <= 8) {
        const int per = 8 / h->bits;
        const unsigned i = (unsigned)(row[x / per] >> (8 - h->bits * (x % per + 1))) & ((1u << h->bits) - 1);
        const uint8_t *c = h->palette + i * h->entry;
        if (i >= h->colours) return false;
        for (int k = 0; k < 3; k++) rgba[k] = c[2 - k];
    } else if (h->bits == 24) {
        for (int k = 0; k < 3; k++) rgba[k] = row[3 * x + 2 - k];
    } else {
        const uint32_t v = little(row + (ptrdiff_t)x * (h->bits / 8), h->bits / 8);
        for (int k = 0; k < 4; k++) rgba[k] = part(v, h->mask[k]);
    }
    return true;
}

dg_err dg_bmp_pixels(const uint8_t *file, size_t bytes, dg_row_sink *to)
{
    bmp_head h;
    to->kind = DG_KIND_BMP;
    dg_err e = read_head(file, bytes, to, &h);
    if (!e) e = dg_row_sink_open(to, h.W, h.H, 1);
    if (e) return e;
    uint8_t *rgba = malloc(4 * (size_t)h.W);
    if (!rgba) e = dg_fail(DG_DEVICE, "no memory for an image of %d x %d", h.W, h.H);
    for (int y = 0; y < h.H && !e; y++) {
        const uint8_t *row = file + h.pixels + (size_t)(h.down ? y : h.H - 1 - y) * h.stride;
        for (int x = 0; x < h.W && !e; x++)
            if (!give_pixel(&h, row, x, rgba + 4 * (size_t)x))
                e = dg_fail(DG_DATA, "BMP: a colour index beyond the palette");
        if (!e) dg_row_sink_put_rgba(to, y, rgba);
    }
    free(rgba);
    return e;
}
