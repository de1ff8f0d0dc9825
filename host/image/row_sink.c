/* Limits memory and time for decoding an image, and implements the sink for decoded rows. */
#include "host/image/image_internal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Memory limit for decoding an image, including the file. Libraries add up to 16 MiB (256 MiB in all). */
static const uint64_t budget = (uint64_t)240 << 20;
static const double seconds_max = 5;

double dg_decode_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool dg_decode_late(double start) { return dg_decode_clock() - start > seconds_max; }

bool dg_memory_left(size_t bytes)
{
    void *volatile tried = malloc(bytes);
    const bool left = tried != NULL;
    free(tried);
    return left;
}

size_t dg_image_pixels_max(const dg_row_sink *to) { return to->o->max_pixels ? to->o->max_pixels : (size_t)64 << 20; }

dg_err dg_image_afford(const char *format, int64_t W, int64_t H, size_t file, uint64_t work, const dg_row_sink *to)
{
    const uint64_t most = dg_image_pixels_max(to);
    if (W < 1 || H < 1) return dg_fail(DG_DATA, "%s: no pixels (%lld x %lld)", format, (long long)W, (long long)H);
    if (W > DG_SIDE_MAX || H > DG_SIDE_MAX)
        return dg_fail(DG_DATA, "%s: %lld x %lld pixels, the limit is %d per side; make it smaller", format,
                       (long long)W, (long long)H, DG_SIDE_MAX);
    uint64_t pixels = (uint64_t)W * (uint64_t)H;
    if (pixels > most)
        return dg_fail(DG_DATA, "%s: %lld x %lld pixels, the limit is %llu in total; make it smaller", format,
                       (long long)W, (long long)H, (unsigned long long)most);
    uint64_t need = (to->fitting ? 0 : to->o->keep_alpha ? 4 : 3) * pixels + work + file;
    if (need > budget)
        return dg_fail(DG_DATA, "%s: %lld x %lld pixels would need %llu MiB to decode, the limit is %llu MiB", format,
                       (long long)W, (long long)H, (unsigned long long)(need >> 20),
                       (unsigned long long)(budget >> 20));
    return DG_OK;
}

static dg_err open_whole(dg_row_sink *s, bool turned)
{
    *s->out = (dg_image){.W = s->W, .H = s->H, .C = s->C};
    s->out->pixels = malloc((size_t)s->C * (size_t)s->W * (size_t)s->H);
    if (!s->out->pixels) return dg_fail(DG_DEVICE, "no memory for an image of %d x %d", s->W, s->H);
    ptrdiff_t row = s->C * (ptrdiff_t)s->W;
    s->x = turned ? row : s->C;
    s->y = turned ? s->C : row;
    s->first = s->out->pixels;
    if (s->back_x) s->first += s->x * (s->file_W - 1), s->x = -s->x;
    if (s->back_y) s->first += s->y * (s->file_H - 1), s->y = -s->y;
    return DG_OK;
}

void dg_row_sink_note(dg_row_sink *s, dg_did what, bool done) { s->did |= (unsigned)done << what; }

dg_err dg_row_sink_open(dg_row_sink *s, int W, int H, int orientation)
{
    dg_row_sink_note(s, DG_DID_TURN, orientation != 1);
    const bool turned = orientation >= 5;
    s->back_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    s->back_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    s->file_W = W, s->file_H = H;
    s->W = turned ? H : W;
    s->H = turned ? W : H;
    s->C = s->fitting ? s->fitting->channels : s->o->keep_alpha ? 4 : 3;
    for (int i = 0; i < 2; i++) s->row[i] = malloc(4 * (size_t)W);
    if (!s->row[0] || !s->row[1]) return dg_fail(DG_DEVICE, "no memory for an image of %d x %d", W, H);
    return s->fitting ? dg_fitter_open(&s->fitter, s->W, s->H, s->C, turned, s->fitting, s->out)
                      : open_whole(s, turned);
}

void dg_row_sink_close(dg_row_sink *s, bool complete)
{
    dg_fitter_close(s->fitter, complete);
    free(s->row[0]);
    free(s->row[1]);
    if (!complete) dg_image_free(s->out);
}

static void put(dg_row_sink *s, int y, const uint8_t *pixels)
{
    const ptrdiff_t W = s->file_W, C = s->C;
    if (s->fitter) {
        uint8_t *back = s->row[1];
        for (ptrdiff_t x = 0; s->back_x && x < W; x++) memcpy(back + C * (W - 1 - x), pixels + C * x, (size_t)C);
        dg_fitter_put(s->fitter, s->back_y ? s->file_H - 1 - y : y, s->back_x ? back : pixels);
        return;
    }
    uint8_t *to = s->first + s->y * y;
    if (s->x == C) {
        memcpy(to, pixels, (size_t)(C * W));
        return;
    }
    for (ptrdiff_t x = 0; x < W; x++)
        for (ptrdiff_t c = 0; c < C; c++) to[s->x * x + c] = pixels[C * x + c];
}

void dg_row_sink_put(dg_row_sink *s, int y, const uint8_t *rgb)
{
    uint8_t *to = s->row[0]; /* `to` may equal rgb, because each pixel is read before it is overwritten */
    if (s->C == 3) {
        put(s, y, rgb);
        return;
    }
    for (size_t x = 0; x < (size_t)s->file_W; x++) {
        if (s->C == 1) {
            to[x] = dg_luma(rgb + 3 * x);
        } else {
            memcpy(to + 4 * x, rgb + 3 * x, 3);
            to[4 * x + 3] = 255;
        }
    }
    put(s, y, to);
}

/* Composite colour c with alpha a over a background b as round((c a + b (255 - a)) / 255). */
void dg_row_sink_put_rgba(dg_row_sink *s, int y, const uint8_t *rgba)
{
    const unsigned background = s->o->alpha == DG_ALPHA_WHITE ? 255 : 0;
    uint8_t *rgb = s->row[0], all = 255;
    for (size_t x = 0; x < (size_t)s->file_W; x++) all &= rgba[4 * x + 3];
    dg_row_sink_note(s, DG_DID_ALPHA, all != 255);
    if (s->C == 4) {
        put(s, y, rgba);
        return;
    }
    for (size_t x = 0; x < (size_t)s->file_W; x++) {
        const unsigned a = s->o->alpha == DG_ALPHA_DROP ? 255 : rgba[4 * x + 3];
        for (size_t c = 0; c < 3; c++) {
            const unsigned v = rgba[4 * x + c] * a + background * (255 - a) + 128;
            rgb[3 * x + c] = (uint8_t)((v + (v >> 8)) >> 8);
        }
    }
    dg_row_sink_put(s, y, rgb);
}
