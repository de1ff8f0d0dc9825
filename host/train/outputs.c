/* Output files of a run: the training thread copies the data, and worker threads write the copies. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/cores.h"
#include "host/doctor/diversity.h"
#include "host/figure/images.h"
#include "host/files/made.h"
#include "host/run/length.h"
#include "host/rundir/best.h"
#include "host/rundir/history.h"
#include "host/train/outputs.h"
#include "host/trainer/fit.h"

void dg_outputs_failed(dg_outputs *w, dg_err e)
{
    if (!e) return;
    dg_warn("%s", dg_message());
    if (!w->error) w->error = e;
}

void dg_outputs_wrote(dg_outputs *w, int file, dg_err e)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (e) dg_warn("%s", dg_message());
    pthread_mutex_lock(&lock);
    w->unsaved[file].error = e;
    if (e) snprintf(w->unsaved[file].message, sizeof w->unsaved[file].message, "%.399s", dg_message());
    pthread_mutex_unlock(&lock);
}

static dg_err still_unsaved(const dg_outputs *w)
{
    for (int i = 0; i < DG_REWRITTEN; i++)
        if (w->unsaved[i].error) return dg_fail(w->unsaved[i].error, "%s", w->unsaved[i].message);
    return DG_OK;
}

static dg_err begin_report(dg_outputs *w)
{
    char path[4096];
    const dg_backend *b = w->job->backend;
    const dg_directory at = dg_rundir_at(w->dir);
    const dg_dataset *d = w->data;
    dg_report_session s = {.memory = (double)dg_fit_bytes(w->job), .images = d->train, .tests = d->count - d->train};
    snprintf(s.version, sizeof s.version, "%s", dg_version);
    snprintf(s.device, sizeof s.device, "%s", b->name);
    snprintf(s.precision, sizeof s.precision, "%s", dg_precision_name(b->real, b->math));
    if (dg_report_session_write(&s, &at, dg_rundir_file(w->dir, path, "session.json"))) dg_warn("%s", dg_message());
    return dg_report_keep(w->dir, w->job->recipe->sample ? d : NULL, w->write.report, w->write.grids, &w->report);
}

static bool has_rows(const dg_outputs *w)
{
    long n;
    (void)dg_log_rows(w->log, &n);
    return n > 0;
}

dg_err dg_outputs_open(dg_outputs *w)
{
    int threads = dg_cores() / 2; /* because compressing a grid can take longer than an epoch */
    if (threads < 1) threads = 1;
    dg_err e = dg_worker_open(1, &w->write.checkpoints);
    if (!e) e = dg_worker_open(1, &w->write.report);
    if (!e) e = dg_worker_open(threads < DG_WORKER_THREADS ? threads : DG_WORKER_THREADS, &w->write.grids);
    if (!e && !w->o->no_report) e = begin_report(w);
    return e;
}

dg_err dg_outputs_close(dg_outputs *w)
{
    if (w->report && has_rows(w)) {
        dg_outputs_wrote(w, DG_LOG_FILE, dg_log_flush(w->log));
        dg_report_renew(w->report, true);
    }
    /* worker `grids` is closed last, because the other workers wait for grids */
    const dg_err saved = dg_worker_close(w->write.checkpoints), shown = dg_worker_close(w->write.report);
    const dg_err grids = dg_worker_close(w->write.grids);
    dg_report_keep_end(w->report);
    if (w->samples.pixels) w->job->backend->release_host(w->job->backend, w->samples.pixels);
    const dg_err written = grids ? grids : shown ? shown : saved;
    return written ? written : still_unsaved(w);
}

typedef struct {
    dg_directory dir;
    char path[4096];
    dg_image image;
    dg_log *log; /* the grid is also added to this log at `step`; may be NULL */
    uint64_t step;
    char run[256], epoch[24], seed[24], diversity[24], rows[1024];
} image;

static dg_err write_image(void *context)
{
    image *p = context;
    const dg_text all[] = {{"Software", dg_version},    {"Run", p->run},        {"Seed", p->seed}, {"Epoch", p->epoch},
                           {"Diversity", p->diversity}, {DG_GRID_ROWS, p->rows}};
    enum { MOST = sizeof all / sizeof *all };
    dg_text text[MOST];
    int n = 0;
    for (int i = 0; i < MOST; i++)
        if (*all[i].value) text[n++] = all[i];
    dg_err e = dg_png_write_in(&p->dir, p->path, &p->image, text, n);
    if (!e && p->log) e = dg_log_image(p->log, p->step, &p->image);
    dg_image_free(&p->image);
    free(p);
    return e;
}

/* Write the classes of a grid's rows as "disc, ring, square", as far as they fit. */
static void name_rows(const dg_outputs *w, char *out, size_t size)
{
    const int classes = w->job->model.classes;
    size_t n = 0;
    for (int r = 0; r < w->o->grid_rows && classes; r++) {
        char name[300];
        dg_printable(name, sizeof name, w->data->class_name[dg_grid_class(w->o, classes, r)]);
        if (n + strlen(name) + 3 > size) return;
        n += (size_t)snprintf(out + n, size - n, "%s%s", r ? ", " : "", name);
    }
}

static image *new_image(dg_outputs *w)
{
    image *p = calloc(1, sizeof *p);
    if (!p) {
        dg_outputs_failed(w, dg_fail(DG_DEVICE, "out of memory for an image"));
        return NULL;
    }
    p->dir = dg_rundir_at(w->dir);
    const char *slash = strrchr(w->dir->path, '/');
    snprintf(p->run, sizeof p->run, "%.255s", slash && slash[1] ? slash + 1 : w->dir->path);
    snprintf(p->seed, sizeof p->seed, "%llu", (unsigned long long)w->o->seed);
    name_rows(w, p->rows, sizeof p->rows);
    return p;
}

static void give_image(dg_outputs *w, image *p, dg_err e)
{
    if (!e) {
        dg_worker_give(w->write.grids, write_image, p);
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

/* Copy the first n images, of a dataset in memory or in a file. */
static dg_err first_images(const dg_dataset *d, int n, uint8_t **out)
{
    const dg_images images = dg_dataset_images(d);
    *out = malloc((size_t)n * images.bytes + 1);
    return *out ? dg_images_read_some(&images, 0, n, *out) : dg_fail(DG_DEVICE, "out of memory for %d images", n);
}

/* Copy the images of a grid with a class per row. A class with fewer images than columns repeats them. */
static dg_err reals_by_class(const dg_outputs *w, uint8_t **out)
{
    const dg_dataset *d = w->data;
    const int rows = w->o->grid_rows, cols = w->o->grid_cols;
    const dg_images images = dg_dataset_images(d);
    const size_t each = images.bytes;
    *out = calloc((size_t)rows * (size_t)cols, each);
    dg_err e = *out ? DG_OK : dg_fail(DG_DEVICE, "out of memory for %d images", rows * cols);
    for (int r = 0; !e && r < rows; r++) {
        const int class = dg_grid_class(w->o, d->classes, r);
        uint8_t *row = *out + (size_t)r * (size_t)cols * each;
        int n = 0;
        for (int i = 0; i < d->train && n < cols && !e; i++)
            if (d->label[i] == class) e = dg_images_read(&images, i, row + (size_t)n++ * each);
        for (int k = n; n && k < cols; k++) memcpy(row + (size_t)k * each, row + (size_t)(k % n) * each, each);
    }
    return e;
}

void dg_save_reals(dg_outputs *w)
{
    int cells = w->o->grid_rows * w->o->grid_cols, n = cells < w->data->count ? cells : w->data->count;
    const dg_dataset *d = w->data;
    image *p = new_image(w);
    uint8_t *chosen = NULL;
    if (!p) return;
    dg_rundir_file(w->dir, p->path, "reals.png");
    dg_err e = w->job->model.classes ? reals_by_class(w, &chosen) : first_images(d, n, &chosen);
    if (w->job->model.classes) n = cells;
    if (!e) e = dg_sheet(chosen, n, d->size, d->channels, w->o->grid_rows, w->o->grid_cols, &p->image);
    give_image(w, p, e);
    free(chosen);
}

static bool every(int n, uint64_t epoch) { return n > 0 && epoch % (uint64_t)n == 0; }

static bool shown(const dg_options *o, uint64_t epoch)
{
    return every(o->sample_every, epoch) || (o->sample_every > 0 && epoch == (uint64_t)o->epochs);
}

bool dg_shown(const dg_outputs *w, uint64_t epoch) { return shown(w->o, epoch); }

bool dg_samples_due(const dg_outputs *w, uint64_t epoch) { return w->job->recipe->sample && shown(w->o, epoch); }

bool dg_judge_due(const dg_outputs *w, uint64_t epoch)
{
    return every(w->o->eval_every, epoch) || (w->o->eval_every > 0 && epoch == (uint64_t)w->o->epochs);
}

void dg_begin_samples(dg_outputs *w, uint64_t epoch)
{
    dg_backend *b = w->job->backend;
    const dg_model *m = &w->job->model;
    const int n = w->o->grid_rows * w->o->grid_cols, inputs = dg_job_inputs(w->job);
    float *in = malloc((size_t)n * (size_t)inputs * sizeof *in);
    dg_err e = in ? DG_OK : dg_fail(DG_DEVICE, "out of memory for %d samples", n);
    if (!e && !w->samples.pixels) {
        void *pixels;
        e = b->alloc_host(b, (size_t)n * dg_size_values(m->size, m->channels), &pixels);
        w->samples.pixels = pixels;
    }
    for (int i = 0; i < n && !e; i++) {
        const int cols = w->o->grid_cols, classes = m->classes;
        const int class = classes ? dg_grid_class(w->o, classes, i / cols) : -1;
        dg_job_sample(w->job, in + (size_t)i * (size_t)inputs, w->o->seed, (uint64_t)(classes ? i % cols : i), class);
    }
    if (!e) e = dg_job_start_generate(w->job, in, n, w->samples.pixels);
    if (!e) e = b->record(b, DG_COMPUTE, DG_EVENT_SAMPLES);
    if (!e) w->samples.epoch = epoch;
    else w->samples.given = epoch;
    dg_outputs_failed(w, e);
    free(in);
}

static double diversity_of(dg_outputs *w, int cells)
{
    const dg_dataset *d = w->data;
    const size_t values = dg_size_values(d->size, d->channels);
    const int n = cells < d->count ? cells : d->count;
    uint8_t *reals = NULL;
    if (!(w->real_diversity > 0)) {
        const dg_err e = first_images(d, n, &reals);
        if (!e) w->real_diversity = dg_diversity(reals, n, values);
        dg_outputs_failed(w, e);
        free(reals);
    }
    return w->real_diversity > 0 ? dg_diversity(w->samples.pixels, cells, values) / w->real_diversity : NAN;
}

void dg_save_samples(dg_outputs *w, const dg_position *read, bool wait)
{
    dg_backend *b = w->job->backend;
    const dg_model *m = &w->job->model;
    const uint64_t epoch = w->samples.epoch;
    bool here = false;
    if (!epoch || (!wait && read->epoch < epoch)) return; /* no grid, or its epoch has unchecked metrics */
    dg_err e = b->query(b, DG_EVENT_SAMPLES, wait, &here);
    if (!e && !here) return;
    w->samples.epoch = 0;
    w->samples.given = epoch;
    image *p = new_image(w);
    if (!p) return;
    dg_rundir_file(w->dir, p->path, "epoch-%04llu.png", (unsigned long long)epoch);
    snprintf(p->epoch, sizeof p->epoch, "%llu", (unsigned long long)epoch);
    p->log = w->log;
    p->step = dg_log_end_of(w->log, epoch);
    const int rows = w->o->grid_rows, cols = w->o->grid_cols;
    if (!e) w->seen = (dg_grid_seen){epoch, diversity_of(w, rows * cols)};
    if (!e && isfinite(w->seen.diversity)) snprintf(p->diversity, sizeof p->diversity, "%.4f", w->seen.diversity);
    if (!e) e = dg_sheet(w->samples.pixels, rows * cols, m->size, m->channels, rows, cols, &p->image);
    give_image(w, p, e);
}

void dg_save_report(dg_outputs *w)
{
    const uint64_t epoch = w->report_due;
    if (!epoch || !w->report || (dg_samples_due(w, epoch) && w->samples.given < epoch)) return;
    if (dg_report_renew(w->report, false)) w->report_due = 0;
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
