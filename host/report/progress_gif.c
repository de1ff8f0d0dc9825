/* A GIF of a run's grids by epoch. */
#include <stdlib.h>
#include <string.h>

#include "host/doctor/diversity.h"
#include "host/figure/images.h"
#include "host/report/report.h"

enum { FRAMES = 60, CELLS = 4, GAP = 2, FRAME_MS = 150, HELD = 8 }; /* the last frame is repeated HELD times */

static void corner(const dg_options *then, const dg_image *grid, int *W, int *H)
{
    const int rows = then->grid_rows, cols = then->grid_cols;
    *W = grid->W;
    *H = grid->H;
    if (cols > CELLS && (grid->W - GAP) % cols == 0) *W = (grid->W - GAP) / cols * CELLS + GAP;
    if (rows > CELLS && (grid->H - GAP) % rows == 0) *H = (grid->H - GAP) / rows * CELLS + GAP;
}

static dg_err read_grid(const dg_report_run *r, uint64_t epoch, dg_image *out)
{
    char path[4400];
    int W, H;
    bool reduced;
    snprintf(path, sizeof path, "%s/epoch-%04ju.png", r->path, (uintmax_t)epoch);
    const dg_err e = dg_report_image_read(r->dir, path, false, out);
    if (e) return e;
    corner(&r->then, out, &W, &H);
    for (int y = 0; y < H; y++)
        memmove(out->pixels + (size_t)y * (size_t)W * 3, out->pixels + (size_t)y * (size_t)out->W * 3, (size_t)W * 3);
    out->W = W;
    out->H = H;
    const dg_err f = dg_report_image_reduce(out, DG_GRID_SIDE, &reduced);
    if (f) dg_image_free(out);
    return f;
}

typedef struct {
    uint8_t *frames;
    int n, W, H;
} film;

/* Grids with another size than the first frame are skipped. */
static dg_err add(film *f, const dg_report_run *r, uint64_t epoch, int room)
{
    dg_image im;
    const dg_err e = read_grid(r, epoch, &im);
    if (e) return e;
    const size_t bytes = (size_t)im.W * (size_t)im.H * 3;
    if (!f->frames) {
        f->W = im.W;
        f->H = im.H;
        f->frames = malloc((size_t)room * bytes);
    }
    uint8_t *to = f->frames ? f->frames + (size_t)f->n * (size_t)f->W * (size_t)f->H * 3 : NULL;
    const bool fits = to && im.W == f->W && im.H == f->H;
    if (fits) memcpy(to, im.pixels, bytes);
    f->n += fits;
    dg_image_free(&im);
    return to ? DG_OK : dg_fail(DG_DEVICE, "out of memory for a GIF of %d grids", room);
}

dg_err dg_report_gif(const dg_report_run *r, const char *path, int scale, int *frames)
{
    uint64_t *epoch = NULL;
    int n = 0;
    film f = {0};
    dg_err e = dg_grid_epochs(dg_list_directory(r->dir), r->path, &epoch, &n);
    if (!e && n < 1) e = dg_fail(DG_DATA, DG_MSG("no-grids", "%s: no grids of samples for a GIF"), r->path);
    const int shown = n < FRAMES ? n : FRAMES;
    for (int i = 0; i < shown && !e; i++)
        e = add(&f, r, epoch[shown > 1 ? (int64_t)i * (n - 1) / (shown - 1) : 0], shown + HELD);
    *frames = f.n;
    const size_t bytes = (size_t)f.W * (size_t)f.H * 3;
    for (int i = 0; i < HELD && !e && f.frames; i++, f.n++)
        memcpy(f.frames + (size_t)f.n * bytes, f.frames + (size_t)(f.n - 1) * bytes, bytes);
    if (!e) e = dg_gif_write(path, f.frames, f.n, f.W, f.H, dg_scale_of(scale, f.W, f.H), FRAME_MS);
    free(f.frames);
    free(epoch);
    return e;
}
