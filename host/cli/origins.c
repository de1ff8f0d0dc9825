#include "host/cli/origins.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/plural.h"
#include "host/files/made.h"

enum { ROOM = 200, SHOWN = 8 };

typedef struct {
    char name[ROOM]; /* "": no checkpoint */
    int count;
} origin;

/* Read the text DG_ORIGIN of a PNG, which earlier versions did not write. */
static void read_origin(int folder, const char *file, char out[ROOM])
{
    char head[DG_TEXTS_BYTES], model[100], step[24], seed[24];
    const int fd = openat(folder, file, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    const ssize_t got = fd < 0 ? -1 : read(fd, head, sizeof head);
    const size_t n = got < 0 ? 0 : (size_t)got;
    if (fd >= 0) close(fd);
    *out = 0;
    if (!dg_png_says(head, n, "Software", "dcgan ") || dg_png_text(head, n, DG_ORIGIN, out, ROOM)) return;
    if (dg_png_text(head, n, "Model", model, sizeof model) && dg_png_text(head, n, "Step", step, sizeof step) &&
        dg_png_text(head, n, "Seed", seed, sizeof seed))
        snprintf(out, ROOM, "%s, step %s, seed %s", model, step, seed);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const origin *)a)->name, ((const origin *)b)->name);
}

static int most_first(const void *a, const void *b)
{
    const origin *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count ? 1 : -1) : strcmp(x->name, y->name);
}

/* Merge equal origins and sort them, the most frequent first. Returns their number. */
static int join(origin *o, int n)
{
    int kept = 0;
    qsort(o, (size_t)n, sizeof *o, by_name);
    for (int i = 0; i < n; i++) {
        if (kept && !strcmp(o[kept - 1].name, o[i].name)) o[kept - 1].count++;
        else o[kept++] = o[i];
    }
    qsort(o, (size_t)kept, sizeof *o, most_first);
    return kept;
}

static void list(char *out, size_t size, const origin *o, int n)
{
    size_t at = 0;
    for (int i = 0; i < n && i < SHOWN && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%d from %s", i ? "; " : "", o[i].count,
                               *o[i].name ? o[i].name : "an unknown checkpoint");
    if (n > SHOWN && at < size) snprintf(out + at, size - at, "; further checkpoints: %d", n - SHOWN);
}

dg_err dg_check_origins(const char *dir, const dg_dataset *d, bool force)
{
    char all[SHOWN * (ROOM + 20) + 40];
    if (!d->count) return DG_OK;
    const int folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return dg_fail(DG_IO, "%s: cannot open: %s", dir, strerror(errno));
    origin *o = malloc((size_t)d->count * sizeof *o);
    for (int i = 0; i < d->count && o; i++) {
        read_origin(folder, d->name[i], o[i].name);
        o[i].count = 1;
    }
    close(folder);
    if (!o) return dg_fail(DG_DEVICE, "out of memory for %d images", d->count);
    const int n = join(o, d->count);
    list(all, sizeof all, o, n);
    free(o);
    if (n < 2) return DG_OK;
    if (!force)
        return dg_fail(
            DG_DATA,
            DG_MSG("mixed-origins",
                   "%s: mixes %d image%s from %d checkpoints: %s; use one folder per checkpoint, or add {force}"),
            dir, d->count, dg_s(d->count), n, all);
    dg_warn(DG_MSG("metrics-of-mixture", "the metrics apply to samples of several checkpoints: %s has %s"), dir, all);
    return DG_OK;
}
