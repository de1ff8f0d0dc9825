/* What a run leaves behind. Everything is copied here and written by threads of their own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/atomic.h"
#include "host/run/history.h"
#include "host/run/train.h"

static void failed(dg_training *r, dg_err e)
{
    if (!e) return;
    dg_warn("%s", dg_message());
    if (!r->save_error) r->save_error = e;
}

dg_err dg_open_writers(dg_training *r)
{
    long threads = sysconf(_SC_NPROCESSORS_ONLN) / 2; /* a grid takes longer to compress than a quick epoch to train */
    if (threads < 1) threads = 1;
    dg_err e = dg_worker_open(1, &r->write.checkpoints);
    if (!e) e = dg_worker_open(1, &r->write.curves);
    if (!e) e = dg_worker_open(threads < DG_WORKER_THREADS ? (int)threads : DG_WORKER_THREADS, &r->write.grids);
    return e;
}

dg_err dg_close_writers(dg_training *r)
{
    if (r->curves_due) dg_save_curves(r, true);
    const dg_err saved = dg_worker_close(r->write.checkpoints); /* first: they wait for grids */
    const dg_err grids = dg_worker_close(r->write.grids), drawn = dg_worker_close(r->write.curves);
    return grids ? grids : drawn ? drawn : saved;
}

/* A picture on its way to its writer. */
typedef struct {
    dg_directory dir;
    char path[4096];
    dg_image image;
    char run[256], epoch[24], seed[24];
} picture;

static dg_err write_picture(void *context)
{
    picture *p = context;
    dg_text text[] = {{"Software", dg_version}, {"Run", p->run}, {"Seed", p->seed}, {"Epoch", p->epoch}};
    dg_err e = dg_png_write_in(&p->dir, p->path, &p->image, text, p->epoch[0] ? 4 : 3);
    dg_image_free(&p->image);
    free(p);
    return e;
}

static picture *new_picture(dg_training *r)
{
    picture *p = calloc(1, sizeof *p);
    if (!p) {
        failed(r, dg_fail(DG_DEVICE, "out of memory for a picture"));
        return NULL;
    }
    p->dir = dg_rundir_at(&r->dir);
    const char *slash = strrchr(r->dir.path, '/');
    snprintf(p->run, sizeof p->run, "%.255s", slash && slash[1] ? slash + 1 : r->dir.path);
    snprintf(p->seed, sizeof p->seed, "%llu", (unsigned long long)r->o->seed);
    return p;
}

/* Hand over p, whose image has been made with result e. */
static void give_picture(dg_training *r, picture *p, dg_err e)
{
    if (!e) {
        dg_worker_give(r->write.grids, write_picture, p);
        return;
    }
    failed(r, e);
    dg_image_free(&p->image);
    free(p);
}

dg_err dg_save_config(const dg_rundir *dir, const char *text)
{
    char path[4096];
    const dg_directory at = dg_rundir_at(dir);
    return dg_write_atomic_in(&at, dg_rundir_file(dir, path, "config.ini"), &(dg_chunk){text, strlen(text)}, 1);
}

void dg_save_reals(dg_training *r)
{
    int cells = r->o->grid_rows * r->o->grid_cols, n = cells < r->data.count ? cells : r->data.count;
    picture *p = new_picture(r);
    if (!p) return;
    dg_rundir_file(&r->dir, p->path, "reals.png");
    give_picture(r, p,
                 dg_sheet(r->data.pixels, n, r->data.size, r->data.channels, r->o->grid_rows, r->o->grid_cols,
                          &p->image));
}

void dg_begin_samples(dg_training *r, uint64_t epoch)
{
    const dg_model *m = &r->job.model;
    const int n = r->o->grid_rows * r->o->grid_cols;
    float *z = malloc((size_t)n * (size_t)m->latent * sizeof *z);
    dg_err e = z ? DG_OK : dg_fail(DG_DEVICE, "out of memory for %d samples", n);
    if (!e && !r->samples.pixels) {
        void *pixels;
        e = r->backend->alloc_host(r->backend, (size_t)n * (size_t)m->size * (size_t)m->size * (size_t)m->channels,
                                   &pixels);
        r->samples.pixels = pixels;
    }
    for (int i = 0; i < n && !e; i++) dg_job_z(z + (size_t)i * (size_t)m->latent, m->latent, r->o->seed, (uint64_t)i);
    if (!e) e = dg_job_start_generate(&r->job, z, n, r->samples.pixels);
    if (!e) e = r->backend->mark(r->backend, DG_COMPUTE, DG_MARK_SAMPLES);
    if (!e) r->samples.epoch = epoch;
    failed(r, e);
    free(z);
}

void dg_save_samples(dg_training *r, bool wait)
{
    const dg_model *m = &r->job.model;
    const uint64_t epoch = r->samples.epoch;
    bool here = false;
    if (!epoch || (!wait && r->read.epoch < epoch)) return; /* not before its epoch's numbers are known to be good */
    dg_err e = r->backend->reached(r->backend, DG_MARK_SAMPLES, wait, &here);
    if (!e && !here) return;
    r->samples.epoch = 0;
    picture *p = new_picture(r);
    if (!p) return;
    dg_rundir_file(&r->dir, p->path, "epoch-%04llu.png", (unsigned long long)epoch);
    snprintf(p->epoch, sizeof p->epoch, "%llu", (unsigned long long)epoch);
    const int rows = r->o->grid_rows, cols = r->o->grid_cols;
    if (!e) e = dg_sheet(r->samples.pixels, rows * cols, m->size, m->channels, rows, cols, &p->image);
    give_picture(r, p, e);
}

/* The rows are copied, because the log grows while they are drawn. */
typedef struct {
    picture *picture;
    dg_log_row *rows;
    long n;
} curves;

static dg_err write_curves(void *context)
{
    curves *c = context;
    picture *p = c->picture;
    dg_err e = dg_curves(c->rows, c->n, p->run, &p->image);
    free(c->rows);
    free(c);
    if (!e) return write_picture(p);
    free(p);
    return e;
}

void dg_save_curves(dg_training *r, bool last)
{
    long n;
    const dg_log_row *rows = dg_log_rows(r->log, &n);
    r->curves_due = n > 0 && !last && dg_worker_left(r->write.curves) > 0;
    if (n < 1 || r->curves_due) return;
    curves *c = calloc(1, sizeof *c);
    picture *p = new_picture(r);
    dg_log_row *copy = malloc((size_t)n * sizeof *copy);
    if (!c || !p || !copy) {
        free(c);
        free(p);
        free(copy);
        failed(r, dg_fail(DG_DEVICE, "out of memory for the loss curves"));
        return;
    }
    memcpy(copy, rows, (size_t)n * sizeof *copy);
    dg_rundir_file(&r->dir, p->path, "curves.png");
    *c = (curves){p, copy, n};
    dg_worker_give(r->write.curves, write_curves, c);
}

/* A checkpoint on its way to its writer. */
typedef struct {
    dg_training *run;
    dg_snapshot *snapshot;
    dg_position saved;
    long grids; /* how many had been given before it */
} save;

static dg_err write_checkpoint(void *context)
{
    save *s = context;
    dg_training *const r = s->run;
    const dg_directory at = dg_rundir_at(&r->dir);
    char path[4096];
    bool removed;
    /* A run that is killed after its checkpoint cannot make the grids of earlier epochs again: they come first. */
    (void)dg_worker_wait(r->write.grids, s->grids);
    (void)dg_rundir_check(&r->dir, &removed); /* the writer looks once more before it renames */
    const bool ends_epoch = r->saved.epoch && !r->saved.batch && r->saved.step != s->saved.step;
    if (!removed && r->o->keep > 0 && ends_epoch && dg_history_keep(&r->dir, r->saved.epoch))
        dg_warn("%s", dg_message());
    dg_err e = dg_snapshot_write(s->snapshot, &at, dg_rundir_file(&r->dir, path, "checkpoint.safetensors"));
    if (!e) r->saved = s->saved;
    if (!e) dg_history_prune(&r->dir, r->o->keep);
    free(s);
    return e;
}

/* The settings that decide what is trained, a line each; not where, how often and how fast, so that the same
 * training gives the same bytes. malloc'd. */
static char *result_settings(const char *config)
{
    static const char *const key[] = {"batch", "lr",        "lr-d", "lr-g",  "beta1",  "beta2", "eps",       "seed",
                                      "flip",  "drop-last", "fit",  "alpha", "orient", "limit", "precision", "conv"};
    char *out = malloc(strlen(config) + 1), *to = out;
    for (const char *line = config; out && *line;) {
        size_t n = strcspn(line, "\n"), word = strcspn(line, " =\n");
        n += line[n] != 0;
        bool keep = false;
        for (size_t i = 0; i < sizeof key / sizeof key[0] && !keep; i++)
            keep = strlen(key[i]) == word && !strncmp(line, key[i], word);
        if (keep) to = (char *)memcpy(to, line, n) + n;
        line += n;
    }
    if (out) *to = 0;
    return out;
}

void dg_save_checkpoint(dg_training *r)
{
    char *settings = result_settings(r->config);
    save *s = calloc(1, sizeof *s);
    if (!s) {
        free(settings);
        failed(r, dg_fail(DG_DEVICE, "out of memory for a checkpoint"));
        return;
    }
    dg_checkpoint_info info = {.step = r->read.step,
                               .epoch = r->read.epoch,
                               .batch = r->read.batch,
                               .seed = r->o->seed,
                               .data_count = (uint64_t)r->data.count,
                               .data_fingerprint = r->data.fingerprint,
                               .config = settings};
    snprintf(info.precision, sizeof info.precision, "%s", dg_training_precision(r));
    dg_err e = settings ? dg_snapshot_take(&r->job, &info, &s->snapshot)
                        : dg_fail(DG_DEVICE, "out of memory for a checkpoint");
    free(settings);
    r->given_step = r->read.step;
    if (!e) failed(r, dg_log_flush(r->log));
    if (e) {
        free(s);
        failed(r, e);
        return;
    }
    s->run = r;
    s->saved = (dg_position){info.step, info.epoch, info.batch};
    s->grids = dg_worker_given(r->write.grids);
    dg_worker_give(r->write.checkpoints, write_checkpoint, s);
}
