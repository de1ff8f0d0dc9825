/* Checkpoints of a run: the training thread copies the state, and a worker thread writes the copy. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "host/run/length.h"
#include "host/rundir/best.h"
#include "host/rundir/history.h"
#include "host/train/outputs.h"
#include "host/trainer/follow.h"

enum { SPARE = 8 << 20 }; /* bytes of memory that remain for writing grids and report.html */

typedef struct {
    dg_outputs *outputs;
    dg_snapshot *snapshot;
    dg_position saved;
    long grids;
} save;

static dg_err write_checkpoint(void *context)
{
    save *s = context;
    dg_outputs *const w = s->outputs;
    const dg_directory at = dg_rundir_at(w->dir);
    char path[4096];
    bool removed;
    /* Image grids are written before the checkpoint, because a resumed run cannot generate grids of earlier epochs. */
    (void)dg_worker_wait(w->write.grids, s->grids);
    (void)dg_rundir_check(w->dir, &removed); /* the worker checks again */
    const bool ends_epoch = w->saved.epoch && !w->saved.batch && w->saved.step != s->saved.step;
    const dg_err kept = !removed && w->o->keep > 0 && ends_epoch ? dg_history_keep(w->dir, w->saved.epoch) : DG_OK;
    const dg_err log = dg_log_sync(w->log);
    const dg_err e = dg_snapshot_write(s->snapshot, &at, dg_rundir_file(w->dir, path, "checkpoint.safetensors"));
    if (!e) w->saved = s->saved;
    if (!e) dg_history_prune(w->dir, w->o->keep);
    free(s);
    dg_outputs_wrote(w, DG_CHECKPOINT_FILE, e);
    return log ? log : kept;
}

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

/* Copy the job's state. If two copies do not fit in memory, wait until the earlier copy is written. */
static dg_err copy(dg_outputs *w, const dg_checkpoint_info *info, dg_snapshot **out)
{
    dg_memory_limit l;
    const bool busy = dg_worker_left(w->write.checkpoints) > 0;
    if (busy) dg_memory_limit_read(&l);
    if (busy && l.left < dg_snapshot_bytes(w->job) + SPARE)
        (void)dg_worker_wait(w->write.checkpoints, dg_worker_given(w->write.checkpoints));
    const dg_err e = dg_lead_save(w->job);
    if (e) return e;
    return dg_snapshot_take(w->job, info, out);
}

static save *take(dg_outputs *w, const dg_position *read)
{
    save *s = calloc(1, sizeof *s);
    char *classes = dg_job_labelled(w->job) ? class_names(w->data) : NULL, *settings = dg_config_results(w->config);
    const dg_backend *b = w->job->backend;
    const int used = dg_images_of_epoch(w->o, w->data->train);
    dg_checkpoint_info info = {.step = read->step,
                               .epoch = read->epoch,
                               .batch = read->batch,
                               .images = read->more ? (uint64_t)dg_position_images(read, used, w->o->batch) : 0,
                               .seed = w->o->seed,
                               .data_count = (uint64_t)w->data->train,
                               .data_fingerprint = w->data->fingerprint,
                               .config = settings,
                               .classes = classes};
    snprintf(info.precision, sizeof info.precision, "%s", dg_precision_name(b->real, b->math));
    dg_provenance_here(b, dg_job_kernels(w->job), &info.by);
    info.by.since = w->since;
    const bool whole = settings && s && (classes || !dg_job_labelled(w->job));
    const dg_err e = whole ? copy(w, &info, &s->snapshot) : dg_fail(DG_DEVICE, "out of memory for a checkpoint");
    free(classes);
    free(settings);
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
    dg_outputs_wrote(w, DG_LOG_FILE, dg_log_flush(w->log));
    s->grids = dg_worker_given(w->write.grids);
    dg_worker_give(w->write.checkpoints, write_checkpoint, s);
}

static dg_err write_best(void *context)
{
    save *s = context;
    const dg_directory at = dg_rundir_at(s->outputs->dir);
    char path[4096];
    const dg_err e = dg_snapshot_write(s->snapshot, &at,
                                       dg_rundir_file(s->outputs->dir, path, "%s",
                                                      dg_best_name(s->outputs->job->recipe)));
    dg_outputs_wrote(s->outputs, DG_BEST_FILE, e);
    free(s);
    return DG_OK;
}

void dg_save_best(dg_outputs *w, const dg_position *read)
{
    save *s = take(w, read);
    if (s) dg_worker_give(w->write.checkpoints, write_best, s);
}
