#include "host/report/grids.h"

#include <stdlib.h>

#include "core/base/file_io.h"
#include "host/doctor/diversity.h"
#include "host/figure/images.h"
#include "host/report/html.h"

enum {
    ROOM = 6 << 20, /* max bytes of all grids, before base64 */
    MOST = 600,     /* max number of grids in the slider */
    REDUCED = 3,    /* highest level that only reduces images; higher levels omit epochs */
    QUALITY = 85
};

static int side_of(int level) { return DG_GRID_SIDE >> (level < 1 ? 0 : level < REDUCED ? level - 1 : REDUCED - 1); }

static uint64_t stride_of(int level) { return level > REDUCED ? (uint64_t)1 << (level - REDUCED) : 1; }

dg_err dg_report_image_reduce(dg_image *im, int side, bool *reduced)
{
    dg_image small;
    const int longer = im->W > im->H ? im->W : im->H;
    *reduced = longer > side;
    if (!*reduced) return DG_OK;
    const int W = (int)((int64_t)im->W * side / longer), H = (int)((int64_t)im->H * side / longer);
    const dg_err e = dg_image_resize(im, W > 0 ? W : 1, H > 0 ? H : 1, &small);
    if (e) return e;
    dg_image_free(im);
    *im = small;
    return DG_OK;
}

static dg_err decode(const void *file, size_t bytes, bool alpha, dg_image *out)
{
    return dg_image_decode(
        file, bytes, &(dg_decode_options){.alpha = DG_ALPHA_WHITE, .keep_alpha = alpha, .max_pixels = DG_GRID_PIXELS},
        out);
}

dg_err dg_report_image_read(int dir, const char *path, bool alpha, dg_image *out)
{
    void *file;
    size_t bytes;
    dg_err e = dg_read_file_in(dir, path, DG_GRID_BYTES, &file, &bytes);
    if (e) return e;
    e = decode(file, bytes, alpha, out);
    free(file);
    return dg_context(e, "%s", path);
}

static dg_err encode(dg_image *im, int side, dg_report_file *out)
{
    bool reduced;
    const dg_err e = dg_report_image_reduce(im, side, &reduced);
    if (e) return e;
    if (reduced) out->side = side;
    out->W = im->W;
    out->H = im->H;
    return dg_jpeg_encode(im, QUALITY, &out->data, &out->bytes);
}

static void keep(dg_report_file *out, const dg_image *im, void *file, size_t bytes)
{
    out->W = im->W;
    out->H = im->H;
    out->data = file;
    out->bytes = bytes;
    out->png = true;
}

static dg_err shrink(const char *path, void *file, size_t bytes, size_t most, int side, dg_report_file *out)
{
    dg_image im;
    dg_err e = decode(file, bytes, false, &im);
    if (e) return dg_context(e, "%s", path);
    out->pixels = (size_t)im.W * (size_t)im.H;
    const bool large = im.W > side || im.H > side;
    if (bytes <= most) keep(out, &im, file, bytes);
    else e = encode(&im, side, out);
    if (!e && !large && bytes < out->bytes) {
        free(out->data);
        keep(out, &im, file, bytes);
    }
    dg_image_free(&im);
    return e;
}

static dg_err read_image(int dir, const char *path, size_t most, int side, dg_report_file *out)
{
    void *file;
    size_t bytes;
    dg_err e = dg_read_file_in(dir, path, DG_GRID_BYTES, &file, &bytes);
    if (e) return e;
    e = shrink(path, file, bytes, most, side, out);
    if (out->data != file) free(file);
    return e;
}

dg_err dg_report_file_read(int dir, const char *path, size_t most, dg_report_file *out)
{
    *out = (dg_report_file){0};
    return read_image(dir, path, most, DG_GRID_SIDE, out);
}

void dg_report_file_src(FILE *to, const dg_report_file *p)
{
    dg_html_data(to, p->png ? "image/png" : "image/jpeg", p->data, p->bytes);
}

void dg_report_grids_free(dg_report_grids *g)
{
    for (int i = 0; i < g->n; i++) free(g->grid[i].data);
    free(g->grid);
    *g = (dg_report_grids){0};
}

static int by_epoch(const void *a, const void *b)
{
    const uint64_t x = ((const dg_report_file *)a)->epoch, y = ((const dg_report_file *)b)->epoch;
    return (x > y) - (x < y);
}

static dg_err list(int dir, const char *path, dg_report_file **out, int *n)
{
    uint64_t *epoch;
    *out = NULL;
    dg_err e = dg_grid_epochs(dg_list_directory(dir), path, &epoch, n);
    if (!e && *n && !(*out = calloc((size_t)*n, sizeof **out)))
        e = dg_fail(DG_DEVICE, "%s: out of memory for a list of sample grids", path);
    if (!*out) *n = 0;
    for (int i = 0; i < *n; i++) (*out)[i].epoch = epoch[i];
    free(epoch);
    return e;
}

static int thin(dg_report_file *grid, int n, uint64_t stride)
{
    int kept = 0;
    for (int i = 0; i < n; i++) {
        if (i == 0 || i == n - 1 || (uint64_t)i % stride == 0) grid[kept++] = grid[i];
        else free(grid[i].data);
    }
    return kept;
}

static bool take_over(dg_report_grids *g, dg_report_file *p)
{
    dg_report_file *old = g->n ? bsearch(p, g->grid, (size_t)g->n, sizeof *p, by_epoch) : NULL;
    if (!old || !old->data) return false;
    *p = *old;
    old->data = NULL;
    return true;
}

static dg_err load(dg_report_file *p, int dir, const char *path, int level)
{
    char file[4400];
    snprintf(file, sizeof file, "%s/epoch-%04ju.png", path, (uintmax_t)p->epoch);
    return read_image(dir, file, level ? 0 : ROOM, side_of(level), p);
}

/* Load all grids at reduction level g->level, skipping unreadable files. Set *fits if the page limits are met. */
static dg_err renew(dg_report_grids *g, int dir, const char *path, bool *fits)
{
    dg_report_grids now = {.level = g->level};
    size_t bytes = 0, pixels = 0;
    int left_out = 0;
    dg_err e = list(dir, path, &now.grid, &now.on_disk);
    const int n = thin(now.grid, now.on_disk, stride_of(g->level));
    *fits = n <= MOST;
    for (int i = 0; i < n && *fits && !e; i++) {
        dg_report_file p = now.grid[i];
        if (!take_over(g, &p)) e = load(&p, dir, path, g->level);
        if (e && e != DG_DEVICE) {
            if (!left_out++) dg_warn("the report lacks an image: %s", dg_message());
            e = DG_OK;
            continue;
        }
        now.grid[now.n++] = p;
        bytes += p.bytes;
        pixels += p.pixels;
        *fits = (bytes <= ROOM && pixels <= DG_GRIDS_PIXELS) || n <= 2;
    }
    if (left_out > 1) dg_warn("the report lacks %d unreadable grids; the warning above names the first", left_out);
    dg_report_grids_free(g);
    *g = now;
    return e;
}

static bool too_many_pixels(const dg_report_grids *g)
{
    size_t pixels = 0;
    for (int i = 0; i < g->n; i++) pixels += g->grid[i].pixels;
    return pixels > DG_GRIDS_PIXELS;
}

dg_err dg_report_grids_renew(dg_report_grids *g, int dir, const char *path)
{
    bool fits = false;
    dg_err e = renew(g, dir, path, &fits);
    while (!e && !fits) {
        const int level = g->level < REDUCED && too_many_pixels(g) ? REDUCED : g->level + 1;
        if (level <= REDUCED) dg_report_grids_free(g);
        g->level = level;
        e = renew(g, dir, path, &fits);
    }
    return e;
}

dg_err dg_report_grids_newest(dg_report_grids *g, int dir, const char *path)
{
    dg_err e = list(dir, path, &g->grid, &g->on_disk);
    if (e || !g->on_disk) return e;
    g->grid[0] = g->grid[g->on_disk - 1];
    e = load(&g->grid[0], dir, path, 1);
    g->n = !e;
    return e;
}
