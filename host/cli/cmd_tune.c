/* `dcgan tune [MODEL]`: finds the fastest kernel variant of each op on a GPU, for --tuning. The tuning file is
 * rewritten after each op, so that an interrupted search keeps its results. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/tune/machine.h"
#include "core/base/shell.h"
#include "host/cli/commands.h"
#include "host/trainer/progress.h"
#include "host/run/stop.h"
#include "core/tune/tune.h"
#include "core/tune/tune_file.h"
#include "host/measure/tuner.h"

typedef struct {
    const dg_options *o;
    dg_progress *progress;
    dg_tune_file file;
    char path[64];
    char section[32]; /* for example "sm_90 fp32" */
} job;

static const char *path_of(const job *j) { return j->o->out ? j->o->out : j->path; }

static void show(void *context, const dg_op *op, int done, int all, int at, int choices)
{
    job *j = context;
    char what[120];
    snprintf(what, sizeof what, "tuning %s (op %d of %d), choice", op->name, done + 1, all);
    dg_progress_count(j->progress, what, at, choices);
}

static const char *launch_of(char *out, size_t size, const dg_op *op, const dg_tune *tune)
{
    const char *colon = strstr(dg_tune_text(out, size, op, tune), " : ");
    return colon ? colon + 3 : out;
}

static dg_err keep(void *context, const dg_tuned *t)
{
    job *j = context;
    char row[192], best[256], before[256];
    const size_t n = strlen(dg_tune_text(best, sizeof best, &t->op, &t->best));
    snprintf(row, sizeof row, "%.185s", best);
    /* long lines omit op name or times, because the parser of tuning files limits line lengths */
    if (n < 130)
        snprintf(row, sizeof row, "%.129s ; %.2f us (%.2f before, direct %.1f) %.24s", best, t->us, t->before_us,
                 t->direct_us, t->op.name);
    else if (n < 165) snprintf(row, sizeof row, "%.164s ; %.2f us", best, t->us);
    dg_err e = dg_tune_file_row(&j->file, j->section, row);
    if (!e) e = dg_tune_file_write(&j->file, path_of(j));
    printf("%-24s %9.2f us, %9.2f us before: %s", t->op.name, t->us, t->before_us,
           launch_of(best, sizeof best, &t->op, &t->best));
    if (strcmp(launch_of(best, sizeof best, &t->op, &t->best), launch_of(before, sizeof before, &t->op, &t->before)) !=
        0)
        printf(" instead of %s", launch_of(before, sizeof before, &t->op, &t->before));
    printf(" (%d tried", t->tried);
    if (t->wrong) printf(", %d gave wrong results: %s", t->wrong, t->first_wrong);
    printf(")\n");
    (void)fflush(stdout);
    return e;
}

static dg_err write_head(job *j, const dg_backend *b, const char *model)
{
    dg_machine m = {.real = b->real};
    char text[400], date[40] = "";
    const time_t now = time(NULL);
    struct tm utc;
    dg_err e = b->measure((dg_backend *)b, &m, 0);
    if (e) return e;
    if (gmtime_r(&now, &utc)) (void)strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S UTC", &utc);
    snprintf(j->section, sizeof j->section, "sm_%d %.16s", m.arch, dg_precision_name(b->real, b->math));
    snprintf(j->path, sizeof j->path, "sm_%d.tune", m.arch);
    if (!j->o->out && !j->o->force && access(j->path, F_OK) == 0)
        return dg_fail(DG_IO,
                       "%s: exists already; write to another file with --out, then merge both with %s tune --merge",
                       j->path, dg_program());
    snprintf(text, sizeof text, "dcgan tune: %.100s, sm_%d, driver %s, %s, %.80s", m.name, m.arch, b->driver, date,
             dg_version);
    e = dg_tune_file_head(&j->file, text);
    snprintf(text, sizeof text, "%.60s, batch %d, %s; medians of %d runs, the cache overwritten before each", model,
             j->o->batch, dg_precision_name(b->real, b->math), j->o->repeats);
    if (!e) e = dg_tune_file_head(&j->file, text);
    return e ? e : dg_tune_file_write(&j->file, path_of(j)); /* detect an unwritable tuning file before the search */
}

static dg_err time_step(dg_trial *t, double *ms)
{
    double one = 0;
    dg_err e = dg_trial_steps(t, 2, &one);
    for (int i = 0; i < 3 && !e; i++) {
        e = dg_trial_steps(t, 5, &one);
        if (!i || one < *ms) *ms = one;
    }
    return e;
}

static dg_err try_file(const job *j, const dg_model *model, double before)
{
    dg_options o = *j->o;
    dg_backend *b = NULL;
    dg_trial t;
    double ms = 0;
    char path[4096];
    snprintf(path, sizeof path, "%s", path_of(j));
    o.tuning = path;
    dg_err e = dg_open_backend(&o, &b);
    if (e) return e;
    e = dg_trial_open(&t, model, o.batch, b);
    if (!e) e = time_step(&t, &ms);
    if (!e) dg_say("time per step: %.4g ms with %s, %.4g ms without this file", ms, path, before);
    dg_trial_close(&t);
    b->close(b);
    return e;
}

static dg_err search(job *j, const dg_model *model, dg_backend *b, double *before, dg_tuner_result *result)
{
    const dg_tuner_options t = {.repeats = j->o->repeats,
                                .seconds = j->o->seconds,
                                .stop = &dg_stop_signal,
                                .progress = show,
                                .found = keep,
                                .context = j};
    dg_trial trial;
    dg_err e = dg_trial_open(&trial, model, j->o->batch, b);
    if (!e) e = time_step(&trial, before);
    if (!e) e = dg_tuner_run(&trial, &t, result);
    dg_trial_close(&trial);
    return e;
}

static dg_err tune(job *j)
{
    const dg_options *o = j->o;
    dg_model *model = malloc(sizeof *model);
    dg_backend *b = NULL;
    dg_tuner_result result = {0};
    double before = 0;
    if (!model) return dg_fail(DG_DEVICE, "out of memory for a model");
    dg_err e = dg_model_read(o->model, model);
    if (!e && dg_precisions[o->precision].real != DG_F32)
        e = dg_fail(DG_USAGE, "--precision fp64: not supported by tune; use fp32, bf16 or fp16");
    if (!e) e = dg_open_backend(o, &b);
    if (!e && !b->choices)
        e = dg_fail(DG_USAGE,
                    DG_MSG("tune-needs-gpu",
                           "tune: needs a CUDA device (--device cuda), not %s, where only --conv can be chosen"),
                    b->name);
    if (!e) e = write_head(j, b, model->name);
    if (!e) e = search(j, model, b, &before, &result);
    if (b) b->close(b);
    if (j->file.head && result.ops)
        dg_say("%s: tuned %d of %d ops and shapes; tried %d variants, of which %d were fast but gave wrong results",
               path_of(j), result.done, result.ops, result.tried, result.wrong);
    if (!e && dg_stop_signal) e = (dg_err)(128 + dg_stop_signal);
    if (!e) e = try_file(j, model, before);
    free(model);
    return e;
}

static dg_err mark(dg_tune_file *f)
{
    char *had = f->head;
    if (had && !strncmp(had, "; dcgan tune", 12)) return DG_OK;
    f->head = NULL;
    dg_err e = dg_tune_file_head(f, "dcgan tune --merge");
    if (had) had[strlen(had) - 1] = 0; /* the next call of dg_tune_file_head adds a newline */
    if (!e && had) e = dg_tune_file_head(f, had + 2);
    free(had);
    return e;
}

static dg_err merge(const dg_options *o)
{
    dg_tune_file f = {0};
    dg_err e = DG_OK;
    char *text = NULL;
    for (int i = 0; i < o->operands && !e; i++) e = dg_tune_file_read(&f, o->operand[i]);
    if (!e && o->out) e = mark(&f);
    if (!e) e = o->out ? dg_tune_file_write(&f, o->out) : dg_tune_file_text(&f, &text);
    for (char *next = text; !e && next && *next;) dg_say("%s", strsep(&next, "\n"));
    free(text);
    dg_tune_file_free(&f);
    return e;
}

int dg_cmd_tune(const dg_options *o)
{
    if (o->merge) return (int)merge(o);
    job j = {.o = o, .progress = dg_progress_open(o->quiet)};
    dg_catch_signals();
    const dg_err e = tune(&j);
    dg_progress_close(j.progress);
    dg_tune_file_free(&j.file);
    return (int)e;
}
