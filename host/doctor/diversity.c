#include "host/doctor/diversity.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/numbered.h"
#include "core/base/grow.h"
#include "host/figure/images.h"

double dg_diversity(const uint8_t *pixels, int n, size_t values)
{
    double sum = 0;
    for (size_t k = 0; k < values; k++) {
        double mean = 0, squares = 0;
        for (size_t i = 0; i < (size_t)n; i++) {
            const double v = pixels[i * values + k];
            mean += v;
            squares += v * v;
        }
        sum += fmax(0, squares / n - mean / n * (mean / n));
    }
    return sqrt(sum / (double)values);
}

static int by_epoch(const void *a, const void *b)
{
    const uint64_t x = ((const dg_grid_seen *)a)->epoch, y = ((const dg_grid_seen *)b)->epoch;
    return (x > y) - (x < y);
}

/* Read epoch and diversity from the texts of a sample grid's PNG. `*enough` is true if the PNG has both texts. An
 * unreadable PNG only causes a warning. */
static dg_err look(const char *path, dg_grid_seen *out, bool *enough)
{
    dg_text *text;
    int texts, W, H;
    *out = (dg_grid_seen){.diversity = NAN};
    *enough = false;
    const dg_err e = dg_png_texts(path, &text, &texts, &W, &H);
    if (e && e != DG_DEVICE) dg_warn("the doctor ignores a sample grid: %s", dg_message());
    if (e) return e == DG_DEVICE ? e : DG_OK;
    for (int i = 0; i < texts; i++) {
        if (!strcmp(text[i].key, "Epoch")) out->epoch = strtoull(text[i].value, NULL, 10);
        if (!strcmp(text[i].key, "Diversity")) out->diversity = strtod(text[i].value, NULL);
    }
    free(text);
    *enough = out->epoch && isfinite(out->diversity);
    return DG_OK;
}

static dg_err look_new(const char *dir, uint64_t epoch, dg_grid_seen *out, bool *enough)
{
    char path[4096];
    const int n = snprintf(path, sizeof path, "%s/epoch-%04ju.png", dir, (uintmax_t)epoch);
    *enough = false;
    return n < (int)sizeof path ? look(path, out, enough) : DG_OK;
}

static int ascending(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

dg_err dg_grid_epochs(DIR *d, const char *path, uint64_t **epoch, int *n)
{
    int room = 0;
    dg_err e = DG_OK;
    *epoch = NULL;
    *n = 0;
    if (!d)
        return dg_fail(errno == ENOMEM ? DG_DEVICE : DG_IO, "%s: cannot list the directory: %s", path, strerror(errno));
    for (struct dirent *f; !e && (errno = 0, f = readdir(d));) {
        const uint64_t number = dg_numbered(f->d_name, "epoch-", ".png");
        if (!number) continue;
        uint64_t *more = dg_grow(*epoch, *n, &room, sizeof *more);
        if (!more) e = dg_fail(DG_DEVICE, "%s: out of memory for a list of sample grids", path);
        else *epoch = more;
        if (!e) (*epoch)[(*n)++] = number;
    }
    if (!e && errno) e = dg_fail(DG_IO, "%s: cannot list the directory: %s", path, strerror(errno));
    closedir(d);
    if (e) *n = 0;
    if (*n) qsort(*epoch, (size_t)*n, sizeof **epoch, ascending);
    return e;
}

dg_err dg_grids_seen(const char *dir, dg_grid_seen **seen, int *n)
{
    dg_grid_seen *old = *seen;
    uint64_t *epoch = NULL;
    const int olds = *n;
    int epochs = 0;
    DIR *d = opendir(dir);
    *n = 0;
    dg_err e = !d && errno == ENOENT ? DG_OK : dg_grid_epochs(d, dir, &epoch, &epochs);
    *seen = malloc((size_t)(epochs + 1) * sizeof **seen);
    if (!e && !*seen) e = dg_fail(DG_DEVICE, "out of memory for a list of sample grids");
    for (int i = 0; i < epochs && !e; i++) {
        const dg_grid_seen sought = {.epoch = epoch[i]};
        const dg_grid_seen *known = olds ? bsearch(&sought, old, (size_t)olds, sizeof *old, by_epoch) : NULL;
        bool enough = known;
        if (known) (*seen)[*n] = *known;
        else e = look_new(dir, epoch[i], &(*seen)[*n], &enough);
        *n += enough;
    }
    if (*seen && *n) qsort(*seen, (size_t)*n, sizeof **seen, by_epoch);
    free(epoch);
    free(old);
    return e;
}

dg_err dg_doctor_take_up(dg_doctor *d, dg_loss loss, const dg_log_row *row, long rows, const char *dir)
{
    dg_grid_seen *grid = NULL;
    int grids = 0;
    const dg_err e = dg_grids_seen(dir, &grid, &grids);
    dg_doctor_replay(d, loss, row, rows, grid, grids);
    free(grid);
    return e;
}
