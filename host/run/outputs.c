/* What a run leaves behind. Everything is copied here and written by threads of their own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "host/figure/pictures.h"
#include "host/run/history.h"
#include "host/run/outputs.h"

void dg_outputs_failed(dg_outputs *w, dg_err e)
{
    if (!e) return;
    dg_warn("%s", dg_message());
    if (!w->error) w->error = e;
}

dg_err dg_outputs_open(dg_outputs *w)
{
    long threads = sysconf(_SC_NPROCESSORS_ONLN) / 2; /* a grid takes longer to compress than a quick epoch to train */
    if (threads < 1) threads = 1;
    dg_err e = dg_worker_open(1, &w->write.checkpoints);
    if (!e) e = dg_worker_open(1, &w->write.curves);
    if (!e) e = dg_worker_open(threads < DG_WORKER_THREADS ? (int)threads : DG_WORKER_THREADS, &w->write.grids);
    return e;
}

dg_err dg_outputs_close(dg_outputs *w)
{
    if (w->curves_due) dg_save_curves(w, true);
    const dg_err saved = dg_worker_close(w->write.checkpoints); /* first: they wait for grids */
    const dg_err grids = dg_worker_close(w->write.grids), drawn = dg_worker_close(w->write.curves);
    if (w->samples.pixels) w->job->backend->release_host(w->job->backend, w->samples.pixels);
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

static picture *new_picture(dg_outputs *w)
{
    picture *p = calloc(1, sizeof *p);
    if (!p) {
        dg_outputs_failed(w, dg_fail(DG_DEVICE, "out of memory for a picture"));
        return NULL;
    }
    p->dir = dg_rundir_at(w->dir);
    const char *slash = strrchr(w->dir->path, '/');
    snprintf(p->run, sizeof p->run, "%.255s", slash && slash[1] ? slash + 1 : w->dir->path);
    snprintf(p->seed, sizeof p->seed, "%llu", (unsigned long long)w->o->seed);
    return p;
}

/* Hand over p, whose image has been made with result e. */
static void give_picture(dg_outputs *w, picture *p, dg_err e)
{
    if (!e) {
        dg_worker_give(w->write.grids, write_picture, p);
        return;
    }
    dg_outputs_failed(w, e);
    dg_image_free(&p->image);
    free(p);
}

dg_err dg_save_config(const dg_rundir *dir, const char *text)
{
    char path[4096];
    const dg_directory at = dg_rundir_at(dir);
    return dg_write_atomic_in(&at, dg_rundir_file(dir, path, "config.ini"), &(dg_chunk){text, strlen(text)}, 1);
}

void dg_save_reals(dg_outputs *w)
{
    int cells = w->o->grid_rows * w->o->grid_cols, n = cells < w->data->count ? cells : w->data->count;
    picture *p = new_picture(w);
    if (!p) return;
    dg_rundir_file(w->dir, p->path, "reals.png");
    give_picture(w, p,
                 dg_sheet(w->data->pixels, n, w->data->size, w->data->channels, w->o->grid_rows, w->o->grid_cols,
                          &p->image));
}

static bool every(int n, uint64_t epoch) { return n > 0 && epoch % (uint64_t)n == 0; }

static bool shown(const dg_options *o, uint64_t epoch)
{
    return every(o->sample_every, epoch) || (o->sample_every > 0 && epoch == (uint64_t)o->epochs);
}

bool dg_shown(const dg_outputs *w, uint64_t epoch) { return shown(w->o, epoch); }

bool dg_samples_due(const dg_outputs *w, uint64_t epoch) { return w->job->recipe->sample && shown(w->o, epoch); }

void dg_begin_samples(dg_outputs *w, uint64_t epoch)
{
    dg_backend *b = w->job->backend;
    const dg_model *m = &w->job->model;
    const int n = w->o->grid_rows * w->o->grid_cols, inputs = dg_job_inputs(w->job);
    float *in = malloc((size_t)n * (size_t)inputs * sizeof *in);
    dg_err e = in ? DG_OK : dg_fail(DG_DEVICE, "out of memory for %d samples", n);
    if (!e && !w->samples.pixels) {
        void *pixels;
        e = b->alloc_host(b, (size_t)n * (size_t)m->size * (size_t)m->size * (size_t)m->channels, &pixels);
        w->samples.pixels = pixels;
    }
    for (int i = 0; i < n && !e; i++)
        w->job->recipe->sample(in + (size_t)i * (size_t)inputs, inputs, w->o->seed, (uint64_t)i);
    if (!e) e = dg_job_start_generate(w->job, in, n, w->samples.pixels);
    if (!e) e = b->record(b, DG_COMPUTE, DG_EVENT_SAMPLES);
    if (!e) w->samples.epoch = epoch;
    dg_outputs_failed(w, e);
    free(in);
}

void dg_save_samples(dg_outputs *w, const dg_position *read, bool wait)
{
    dg_backend *b = w->job->backend;
    const dg_model *m = &w->job->model;
    const uint64_t epoch = w->samples.epoch;
    bool here = false;
    if (!epoch || (!wait && read->epoch < epoch)) return; /* not before its epoch's numbers are known to be good */
    dg_err e = b->query(b, DG_EVENT_SAMPLES, wait, &here);
    if (!e && !here) return;
    w->samples.epoch = 0;
    picture *p = new_picture(w);
    if (!p) return;
    dg_rundir_file(w->dir, p->path, "epoch-%04llu.png", (unsigned long long)epoch);
    snprintf(p->epoch, sizeof p->epoch, "%llu", (unsigned long long)epoch);
    const int rows = w->o->grid_rows, cols = w->o->grid_cols;
    if (!e) e = dg_sheet(w->samples.pixels, rows * cols, m->size, m->channels, rows, cols, &p->image);
    give_picture(w, p, e);
}

/* The rows are copied, because the log grows while they are drawn. */
typedef struct {
    picture *picture;
    const dg_recipe *recipe;
    dg_log_row *rows;
    long n;
} curves;

static dg_err write_curves(void *context)
{
    curves *c = context;
    picture *p = c->picture;
    dg_err e = dg_curves(c->recipe, c->rows, c->n, p->run, &p->image);
    free(c->rows);
    free(c);
    if (!e) return write_picture(p);
    free(p);
    return e;
}

bool dg_curves_due(const dg_outputs *w, uint64_t epoch) { return shown(w->o, epoch) && !w->o->no_curves; }

void dg_save_curves(dg_outputs *w, bool last)
{
    long n;
    const dg_log_row *rows = dg_log_rows(w->log, &n);
    w->curves_due = n > 0 && !last && dg_worker_left(w->write.curves) > 0;
    if (n < 1 || w->curves_due) return;
    curves *c = calloc(1, sizeof *c);
    picture *p = new_picture(w);
    dg_log_row *copy = malloc((size_t)n * sizeof *copy);
    if (!c || !p || !copy) {
        free(c);
        free(p);
        free(copy);
        dg_outputs_failed(w, dg_fail(DG_DEVICE, "out of memory for the loss curves"));
        return;
    }
    memcpy(copy, rows, (size_t)n * sizeof *copy);
    dg_rundir_file(w->dir, p->path, "curves.png");
    *c = (curves){p, w->job->recipe, copy, n};
    dg_worker_give(w->write.curves, write_curves, c);
}

/* A checkpoint on its way to its writer. */
typedef struct {
    dg_outputs *outputs;
    dg_snapshot *snapshot;
    dg_position saved;
    long grids; /* how many had been given before it */
} save;

static dg_err write_checkpoint(void *context)
{
    save *s = context;
    dg_outputs *const w = s->outputs;
    const dg_directory at = dg_rundir_at(w->dir);
    char path[4096];
    bool removed;
    /* A run that is killed after its checkpoint cannot make the grids of earlier epochs again: they come first. */
    (void)dg_worker_wait(w->write.grids, s->grids);
    (void)dg_rundir_check(w->dir, &removed); /* the writer looks once more before it renames */
    const bool ends_epoch = w->saved.epoch && !w->saved.batch && w->saved.step != s->saved.step;
    if (!removed && w->o->keep > 0 && ends_epoch && dg_history_keep(w->dir, w->saved.epoch))
        dg_warn("%s", dg_message());
    dg_err e = dg_snapshot_write(s->snapshot, &at, dg_rundir_file(w->dir, path, "checkpoint.safetensors"));
    if (!e) w->saved = s->saved;
    if (!e) dg_history_prune(w->dir, w->o->keep);
    free(s);
    return e;
}

/* The settings that decide what is trained, a line each; not where, how often and how fast, so that the same
 * training gives the same bytes. malloc'd. */
static char *result_settings(const char *config)
{
    static const char *const key[] = {"batch",     "lr",       "lr-d",        "lr-g",      "beta1",       "beta2",
                                      "eps",       "seed",     "flip",        "drop-last", "fit",         "alpha",
                                      "orient",    "limit",    "precision",   "conv",      "test",        "optimizer",
                                      "momentum",  "nesterov", "rho",         "decay",     "accumulator", "schedule",
                                      "smoothing", "start",    "start-sigma", "start-bias"};
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

bool dg_checkpoint_due(const dg_outputs *w, uint64_t epoch)
{
    return every(w->o->checkpoint_every, epoch) || epoch == (uint64_t)w->o->epochs;
}

bool dg_checkpoint_too_soon(const dg_outputs *w, uint64_t epoch)
{
    if (!w->o->checkpoint_auto || epoch == (uint64_t)w->o->epochs) return false;
    return dg_worker_left(w->write.checkpoints) > 0 || dg_clock() - w->saved_at < 10 * w->saving_took;
}

/* A line each, without what would end one. malloc'd. */
static char *class_names(const dg_dataset *d)
{
    size_t bytes = 1;
    for (int i = 0; i < d->classes; i++) bytes += strlen(d->class_name[i]) + 1;
    char *out = malloc(bytes), *to = out;
    for (int i = 0; out && i < d->classes; i++) {
        for (const char *c = d->class_name[i]; *c; c++, to++) {
            *to = *c;
            if (*c == '\n') *to = ' ';
        }
        *to++ = '\n';
    }
    if (out) *to = 0;
    return out;
}

/* Taken now; given to its writer by the caller. NULL after an error, which is remembered. */
static save *take(dg_outputs *w, const dg_position *read)
{
    char *settings = result_settings(w->config);
    save *s = calloc(1, sizeof *s);
    char *classes = w->job->recipe->labels ? class_names(w->data) : NULL;
    const dg_backend *b = w->job->backend;
    dg_checkpoint_info info = {.step = read->step,
                               .epoch = read->epoch,
                               .batch = read->batch,
                               .seed = w->o->seed,
                               .data_count = (uint64_t)w->data->train,
                               .data_fingerprint = w->data->fingerprint,
                               .config = settings,
                               .classes = classes};
    snprintf(info.precision, sizeof info.precision, "%s", dg_precision_name(b->real, b->math));
    const bool whole = settings && s && (classes || !w->job->recipe->labels);
    const dg_err e = whole ? dg_snapshot_take(w->job, &info, &s->snapshot)
                           : dg_fail(DG_DEVICE, "out of memory for a checkpoint");
    free(settings);
    free(classes);
    if (!e) {
        s->outputs = w;
        s->saved = *read;
        return s;
    }
    free(s);
    dg_outputs_failed(w, e);
    return NULL;
}

void dg_save_checkpoint(dg_outputs *w, const dg_position *read)
{
    save *s = take(w, read);
    if (!s) return;
    w->given_step = read->step;
    dg_outputs_failed(w, dg_log_flush(w->log));
    s->grids = dg_worker_given(w->write.grids);
    dg_worker_give(w->write.checkpoints, write_checkpoint, s);
}

static dg_err write_best(void *context)
{
    save *s = context;
    const dg_directory at = dg_rundir_at(s->outputs->dir);
    char path[4096];
    const dg_err e = dg_snapshot_write(s->snapshot, &at, dg_rundir_file(s->outputs->dir, path, "best.safetensors"));
    free(s);
    return e;
}

void dg_save_best(dg_outputs *w, const dg_position *read)
{
    save *s = take(w, read);
    if (s) dg_worker_give(w->write.checkpoints, write_best, s);
}
