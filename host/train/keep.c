#include "host/train/keep.h"

#include <stdlib.h>

#include "core/base/clock.h"

struct dg_report_keeper {
    const dg_rundir *dir;
    const dg_dataset *data;
    dg_worker *writer, *grids;
    /* only the writer thread uses these members while it writes a page */
    dg_report_grids encoded;
    dg_grid_seen *seen;
    int seens;
    uint64_t nearest;
    bool warned, last;
    double took, ended;
    long given;
};

dg_err dg_report_keep(const dg_rundir *dir, const dg_dataset *data, dg_worker *writer, dg_worker *grids,
                      dg_report_keeper **out)
{
    dg_report_keeper *k = calloc(1, sizeof *k);
    *out = k;
    if (!k) return dg_fail(DG_DEVICE, "out of memory for the report");
    k->dir = dir;
    k->data = data;
    k->writer = writer;
    k->grids = grids;
    return DG_OK;
}

static dg_err find_nearest(dg_report_keeper *k, const dg_directory *at)
{
    const dg_dataset *d = k->data;
    const uint64_t newest = k->encoded.n ? k->encoded.grid[k->encoded.n - 1].epoch : 0;
    if (!d || !newest || newest == k->nearest) return DG_OK;
    k->nearest = newest;
    dg_images images = dg_dataset_images(d);
    images.count = d->train;
    return dg_nearest_write(at, k->dir->path, newest, &images, d->size, d->channels);
}

static dg_err renew(dg_report_keeper *k)
{
    char path[4400];
    const dg_directory at = dg_rundir_at(k->dir);
    dg_report_run r = {.seen = k->seen, .seens = k->seens, .live = !k->last};
    dg_err e = dg_report_grids_renew(&k->encoded, k->dir->fd, k->dir->path);
    if (!e) e = find_nearest(k, &at);
    if (!e) e = dg_report_read(&r, k->dir->fd, k->dir->path);
    r.grids = k->encoded;
    snprintf(path, sizeof path, "%s/report.html", k->dir->path);
    if (!e) e = dg_report_write(&r, &at, path);
    r.grids = (dg_report_grids){0};
    k->seen = r.seen;
    k->seens = r.seens;
    r.seen = NULL;
    dg_report_free(&r);
    return e;
}

static dg_err write_page(void *context)
{
    dg_report_keeper *k = context;
    (void)dg_worker_wait(k->grids, k->given);
    const double began = dg_clock();
    const dg_err e = renew(k);
    if (e && !k->warned) dg_warn(DG_MSG("no-report", "report.html was not updated: %s"), dg_message());
    k->warned = e != DG_OK;
    k->ended = dg_clock();
    k->took = k->ended - began;
    return DG_OK;
}

bool dg_report_renew(dg_report_keeper *k, bool last)
{
    if (!last && (dg_worker_left(k->writer) > 0 || dg_clock() - k->ended < 20 * k->took)) return false;
    if (last) (void)dg_worker_wait(k->writer, dg_worker_given(k->writer));
    k->last = last;
    k->given = dg_worker_given(k->grids);
    dg_worker_give(k->writer, write_page, k);
    return true;
}

void dg_report_keep_end(dg_report_keeper *k)
{
    if (k) {
        dg_report_grids_free(&k->encoded);
        free(k->seen);
    }
    free(k);
}
