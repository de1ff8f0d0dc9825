#include "host/figure/images.h"

#include <gif_lib.h>
#include <stdlib.h>
#include <string.h>
#include "core/base/build_info.h"
#include "core/base/file_io.h"
#include "core/base/memory_file.h"

/* The histogram of colours has 6 bits per channel. A palette entry is the mean colour of a box of histogram cells. */
enum { BITS = 6, SIDE = 1 << BITS, CELLS = 1 << (3 * BITS), COLORS = 256 };

typedef struct {
    uint64_t count, sum[3];
} cell;

typedef struct {
    int low[3], high[3]; /* inclusive, in cells */
    uint64_t count;
    double spread[3]; /* per channel: variance times number of pixels */
} box;

typedef struct {
    GifColorType color[COLORS];
    int colors;
    bool exact;
    uint8_t *of; /* palette index of each cell or, if `exact` is set, of each of the 2^24 colours */
} palette;

static size_t cell_of(int r, int g, int b) { return ((size_t)r << (2 * BITS)) | ((size_t)g << BITS) | (size_t)b; }

static size_t index_of(const palette *p, const uint8_t *rgb)
{
    if (p->exact) return (size_t)rgb[0] << 16 | (size_t)rgb[1] << 8 | rgb[2];
    return cell_of(rgb[0] >> (8 - BITS), rgb[1] >> (8 - BITS), rgb[2] >> (8 - BITS));
}

static int by_value(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

static bool exact_palette(palette *p, const uint8_t *rgb, size_t pixels)
{
    size_t color[COLORS];
    uint8_t *seen = calloc(1 << 24, 1);
    if (!seen) return false;
    p->exact = true;
    p->colors = 0;
    for (size_t i = 0; i < pixels; i++) {
        const size_t k = index_of(p, rgb + 3 * i);
        if (seen[k]) continue;
        if (p->colors == COLORS) {
            free(seen);
            p->exact = false;
            return true;
        }
        color[p->colors++] = k;
        seen[k] = 1;
    }
    qsort(color, (size_t)p->colors, sizeof *color, by_value);
    for (int n = 0; n < p->colors; n++) {
        const size_t k = color[n];
        p->color[n] = (GifColorType){(GifByteType)(k >> 16), (GifByteType)(k >> 8), (GifByteType)k};
        seen[k] = (uint8_t)n;
    }
    p->of = seen;
    return true;
}

static void measure(box *b, const cell *cells)
{
    int low[3] = {SIDE, SIDE, SIDE}, high[3] = {-1, -1, -1};
    double sum[3] = {0}, square[3] = {0};
    b->count = 0;
    for (int r = b->low[0]; r <= b->high[0]; r++)
        for (int g = b->low[1]; g <= b->high[1]; g++)
            for (int l = b->low[2]; l <= b->high[2]; l++) {
                const int at[3] = {r, g, l};
                uint64_t n = cells[cell_of(r, g, l)].count;
                if (!n) continue;
                b->count += n;
                for (int k = 0; k < 3; k++) {
                    if (at[k] < low[k]) low[k] = at[k];
                    if (at[k] > high[k]) high[k] = at[k];
                    sum[k] += (double)n * at[k];
                    square[k] += (double)n * at[k] * at[k];
                }
            }
    memcpy(b->low, low, sizeof low);
    memcpy(b->high, high, sizeof high);
    for (int k = 0; k < 3; k++) b->spread[k] = b->count ? square[k] - sum[k] * sum[k] / (double)b->count : 0;
}

/* Split box b along channel k at the median of its pixels (Heckbert 1982), and store the upper part in `out`. */
static void cut(box *b, box *out, int k, const cell *cells)
{
    uint64_t seen = 0, slice;
    int at = b->low[k];
    for (;; at++) {
        slice = 0;
        box s = *b;
        s.low[k] = s.high[k] = at;
        for (int r = s.low[0]; r <= s.high[0]; r++)
            for (int g = s.low[1]; g <= s.high[1]; g++)
                for (int l = s.low[2]; l <= s.high[2]; l++) slice += cells[cell_of(r, g, l)].count;
        seen += slice;
        if (seen * 2 >= b->count || at + 1 == b->high[k]) break;
    }
    *out = *b;
    b->high[k] = at;
    out->low[k] = at + 1;
    measure(b, cells);
    measure(out, cells);
}

static GifColorType mean_color(const box *b, const cell *cells)
{
    uint64_t sum[3] = {0};
    for (int r = b->low[0]; r <= b->high[0]; r++)
        for (int g = b->low[1]; g <= b->high[1]; g++)
            for (int l = b->low[2]; l <= b->high[2]; l++)
                for (int k = 0; k < 3; k++) sum[k] += cells[cell_of(r, g, l)].sum[k];
    GifByteType v[3];
    for (int k = 0; k < 3; k++) v[k] = (GifByteType)((sum[k] + b->count / 2) / b->count);
    return (GifColorType){v[0], v[1], v[2]};
}

static void nearest_entries(palette *p, const cell *cells)
{
    for (size_t i = 0; i < CELLS; i++) {
        const cell *c = &cells[i];
        if (!c->count) continue;
        long best = -1;
        int rgb[3];
        for (int k = 0; k < 3; k++) rgb[k] = (int)(c->sum[k] / c->count);
        for (int j = 0; j < p->colors; j++) {
            long r = rgb[0] - p->color[j].Red, g = rgb[1] - p->color[j].Green, b = rgb[2] - p->color[j].Blue;
            long far = r * r + g * g + b * b;
            if (best < 0 || far < best) {
                best = far;
                p->of[i] = (uint8_t)j;
            }
        }
    }
}

/* Median cut: split the box with the largest spread at the median of its pixels, until the palette has 256 boxes. */
static bool median_cut(palette *p, const uint8_t *rgb, size_t pixels)
{
    cell *cells = calloc(CELLS, sizeof *cells);
    p->of = calloc(CELLS, 1);
    if (!cells || !p->of) {
        free(cells);
        return false;
    }
    for (size_t i = 0; i < pixels; i++) {
        cell *c = &cells[index_of(p, rgb + 3 * i)];
        c->count++;
        for (int k = 0; k < 3; k++) c->sum[k] += rgb[3 * i + (size_t)k];
    }
    box boxes[COLORS] = {{.high = {SIDE - 1, SIDE - 1, SIDE - 1}}};
    measure(&boxes[0], cells);
    for (p->colors = 1; p->colors < COLORS; p->colors++) {
        int widest = 0, channel = 0;
        for (int i = 0; i < p->colors; i++)
            for (int k = 0; k < 3; k++)
                if (boxes[i].spread[k] > boxes[widest].spread[channel]) {
                    widest = i;
                    channel = k;
                }
        if (boxes[widest].low[channel] == boxes[widest].high[channel]) break;
        cut(&boxes[widest], &boxes[p->colors], channel, cells);
    }
    for (int i = 0; i < p->colors; i++) p->color[i] = mean_color(&boxes[i], cells);
    nearest_entries(p, cells);
    free(cells);
    return true;
}

static int append(GifFileType *gif, const GifByteType *data, int n)
{
    return dg_memory_append(gif->UserData, data, (size_t)n) ? n : 0;
}

static bool put_frames(GifFileType *gif, const palette *p, const uint8_t *frames, int n, int W, int H, int scale,
                       int ms)
{
    GifByteType *row = malloc((size_t)W * (size_t)scale);
    bool ok = row != NULL;
    ((dg_memory_file *)gif->UserData)->exhausted |= !row;
    int hundredths = (ms + 5) / 10;
    if (hundredths < 2) hundredths = 2; /* GIF viewers replace delays below 20 ms by 100 ms */
    GraphicsControlBlock control = {.DisposalMode = DISPOSE_DO_NOT, .DelayTime = hundredths, .TransparentColor = -1};
    for (int i = 0; i < n && ok; i++) {
        GifByteType block[4];
        EGifGCBToExtension(&control, block);
        ok = EGifPutExtension(gif, GRAPHICS_EXT_FUNC_CODE, 4, block) &&
             EGifPutImageDesc(gif, 0, 0, W * scale, H * scale, false, NULL);
        for (int y = 0; y < H && ok; y++) {
            const uint8_t *rgb = frames + ((size_t)i * (size_t)H + (size_t)y) * (size_t)W * 3;
            for (int x = 0; x < W; x++, rgb += 3)
                memset(row + (ptrdiff_t)x * scale, p->of[index_of(p, rgb)], (size_t)scale);
            for (int k = 0; k < scale && ok; k++) ok = EGifPutLine(gif, row, W * scale);
        }
    }
    free(row);
    return ok;
}

static bool encode(dg_memory_file *m, const palette *p, const uint8_t *frames, int n, int W, int H, int scale, int ms,
                   int *error)
{
    int bits = 1;
    while (1 << bits < p->colors) bits++;
    GifFileType *gif = EGifOpen(m, append, error);
    ColorMapObject *map = GifMakeMapObject(1 << bits, NULL);
    if (!gif || !map) {
        m->exhausted = true;
        GifFreeMapObject(map);
        if (gif) EGifCloseFile(gif, NULL);
        return false;
    }
    memset(map->Colors, 0, sizeof(GifColorType) << bits);
    memcpy(map->Colors, p->color, (size_t)p->colors * sizeof(GifColorType));
    EGifSetGifVersion(gif, true);
    static const GifByteType forever[3] = {1, 0, 0};
    bool ok = EGifPutScreenDesc(gif, W * scale, H * scale, 8, 0, map) &&
              EGifPutExtensionLeader(gif, APPLICATION_EXT_FUNC_CODE) && EGifPutExtensionBlock(gif, 11, "NETSCAPE2.0") &&
              EGifPutExtensionBlock(gif, 3, forever) && EGifPutExtensionTrailer(gif) &&
              EGifPutComment(gif, dg_version) && put_frames(gif, p, frames, n, W, H, scale, ms);
    *error = gif->Error;
    GifFreeMapObject(map);
    int closing = 0;
    if (!EGifCloseFile(gif, &closing) && ok) {
        *error = closing;
        ok = false;
    }
    return ok;
}

dg_err dg_gif_write(const char *path, const uint8_t *frames, int n, int W, int H, int scale, int ms)
{
    if (n < 1 || W < 1 || H < 1 || scale < 1 || W > 65535 / scale || H > 65535 / scale || ms < 0 || ms > 655350)
        return dg_fail(DG_USAGE,
                       "%s: GIF of %d frames of %d x %d pixels, scale %d, %d ms each: sides must be 1 to 65535, the "
                       "time at most 655350 ms",
                       path, n, W, H, scale, ms);
    size_t pixels = (size_t)n * (size_t)W * (size_t)H;
    palette p = {0};
    if (!exact_palette(&p, frames, pixels) || (!p.exact && !median_cut(&p, frames, pixels))) {
        free(p.of);
        return dg_fail(DG_DEVICE, "%s: out of memory for the palette", path);
    }
    dg_memory_file m = {0};
    int error = 0;
    dg_err e = DG_OK;
    /* check m.exhausted, too, because giflib ignores errors of some writes */
    if (!encode(&m, &p, frames, n, W, H, scale, ms, &error) || m.exhausted) {
        const char *why = GifErrorString(error);
        if (m.exhausted || error == E_GIF_ERR_NOT_ENOUGH_MEM) e = dg_fail(DG_DEVICE, "%s: GIF: out of memory", path);
        else e = dg_fail(DG_FAILED, "%s: GIF: %s", path, why ? why : "unknown error");
    } else {
        e = dg_write_atomic(path, &(dg_chunk){m.text, m.bytes}, 1);
    }
    free(m.text);
    free(p.of);
    return e;
}
