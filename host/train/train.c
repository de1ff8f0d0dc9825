/* The training loop: epochs, steps, metrics, outputs, and stop conditions. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/plural.h"
#include "host/figure/terminal.h"
#include "host/rundir/best.h"
#include "host/rundir/history.h"
#include "host/rundir/log_text.h"
#include "host/run/length.h"
#include "host/run/stop.h"
#include "host/trainer/follow.h"
#include "host/train/train.h"

static const double TIMED_SECONDS = 3;

static void name_bad_tensor(dg_job *job, char *out, size_t size)
{
    out[0] = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < job->tensors; i++) {
            const dg_job_tensor *t = &job->tensor[i];
            int row = pass ? t->row : t->grad;
            if (row < 0) continue;
            size_t n = dg_count(job->arena.row[row].shape), bad = 0;
            double *v = malloc(n * sizeof *v);
            if (v && !dg_job_read(job, t, row, DG_F64, v))
                for (size_t k = 0; k < n; k++) bad += isfinite(v[k]) ? 0 : 1;
            free(v);
            if (!bad) continue;
            snprintf(out, size, "; first non-finite tensor: %s %s (%zu of %zu values)", pass ? "weights" : "gradient",
                     t->name, bad, n);
            return;
        }
    }
}

/* begins: true for the first steps of an epoch or of the session. */
static dg_err launch_steps(dg_training *r, bool begins)
{
    double lr[DG_NETS_MAX] = {0};
    for (int i = 0; i < r->job.recipe->nets; i++)
        lr[i] = dg_learning_rate(r->o, r->job.recipe->net[i].letter, r->given.epoch);
    const int n = dg_steps_in_a_row(r);
    int signal = 0;
    dg_err e = dg_lead_steps(r->o->group, begins, &r->given, lr, n, &signal);
    if (signal && !dg_stop_signal) dg_stop_signal = signal;
    if (!e && begins) e = dg_epoch_begin(&r->job, &r->feed, &r->given, lr);
    if (!e) e = dg_epoch_steps(&r->job, &r->feed, &r->given, lr, n);
    if (e) dg_group_fail(r->o->group, e); /* the followers are in these steps */
    return e;
}

static void log_failed(dg_training *r, dg_err e)
{
    if (!e || r->out.error) return;
    dg_warn("the log is incomplete: %s", dg_message());
    r->out.error = e;
}

static dg_err bad_numbers(dg_training *r, const char *what)
{
    char tensor[160] = "";
    /* after later steps, every tensor may have NaN */
    if (r->given.step == r->read.step) name_bad_tensor(&r->job, tensor, sizeof tensor);
    return dg_fail(DG_NUMBERS,
                   DG_MSG("not-finite",
                          "epoch %llu, step %llu: %s%s; resume from the last checkpoint with a smaller {lr}"),
                   (unsigned long long)r->read.epoch + 1, (unsigned long long)r->read.step, what, tensor);
}

static void add_measures(const dg_training *r, dg_log_row *row)
{
    row->judged = r->judged.epoch == row->epoch ? DG_LOGGED : 0;
    memcpy(row->measure, r->judged.measure, sizeof row->measure);
}

static bool diagnoses(const dg_training *r) { return !r->expected && dg_doctor_knows(r->job.recipe); }

static void on_finding(void *context, const dg_finding *f)
{
    dg_training *r = context;
    char note[600];
    if (dg_finding_note(f, note, sizeof note)) dg_progress_note(r->progress, "doctor, %s", note);
    const bool begins = !f->end_step && !f->summary;
    if (begins && r->o->stop_on_collapse && f->rule->collapse && !r->collapsed) r->collapsed = f->rule;
}

/* Print once that an epoch waited for images of the disk for more than a tenth of its time. */
static void note_waiting(dg_training *r, double seconds)
{
    const double all = dg_windows_waited(r->feed.windows), waited = all - r->waited;
    if (r->waited < 0 || r->data.pixels) return;
    r->waited = all;
    if (waited < 0.1 * seconds || waited < 1) return;
    r->waited = -1;
    dg_progress_note(r->progress,
                     DG_MSG("note-waited",
                            "epoch %ju waited for images %.0f%% of its time: the disk is slower than the "
                            "training; {cache} on a faster disk helps"),
                     (uintmax_t)r->read.epoch, 100 * waited / seconds);
}

static void add_energy(const dg_training *r, dg_log_row *row)
{
    if (!r->energy) return;
    row->joules = r->joules_before + dg_energy_joules(r->energy, false);
    row->energy_of = dg_energy_of(r->energy);
}

static void end_epoch(dg_training *r)
{
    const dg_options *o = r->o;
    const double now = dg_clock(), seconds = now - r->epoch_began;
    dg_position_end_epoch(&r->read);
    r->epoch_began = now;
    const dg_metrics mean = dg_epoch_result(&r->epoch, r->job.recipe);
    double rate = (double)r->epoch.steps * o->batch / fmax(seconds, 1e-9);
    dg_log_row row = {.step = r->read.step,
                      .epoch = r->read.epoch,
                      .seconds = r->seconds_before + now - r->started,
                      .images_per_second = rate};
    memcpy(row.value, mean.value, sizeof row.value);
    add_measures(r, &row);
    add_energy(r, &row);
    log_failed(r, dg_log_epoch(r->log, &row));
    dg_progress_epoch(r->progress, (int)r->read.epoch, o->epochs, &mean, seconds, rate);
    note_waiting(r, seconds);
    r->epoch = (dg_epoch_metrics){.steps = 0};
    if (dg_shown(&r->out, r->read.epoch)) r->out.report_due = r->read.epoch;
}

/* The row of the epoch's last step has the test metrics; other rows have NaN. */
static void add_test(const dg_training *r, dg_metrics *m)
{
    const bool here = r->tested.n && r->read.batch == (uint64_t)r->batches;
    for (int i = 0; i < r->job.recipe->metrics; i++) {
        const dg_metric *k = &r->job.recipe->metric[i];
        if (k->over != DG_OVER_TEST) continue;
        m->value[k->term[0]] = !here ? NAN : k->kind == DG_METRIC_PROBABILITY ? r->tested.accuracy : r->tested.loss;
    }
}

/* Round metrics as the log does, so that a resumed run computes equal means. */
static void round_as_logged(const dg_recipe *r, dg_metrics *m)
{
    for (int i = 0; i < r->metrics; i++) {
        double *const value = &m->value[r->metric[i].term[0]];
        if (r->metric[i].terms == 1) *value = dg_log_rounded(*value);
    }
}

static dg_err read_step(dg_training *r, dg_metrics *m)
{
    const dg_options *o = r->o;
    const int left = r->data.train - (int)r->read.batch * o->batch, B = left < o->batch ? left : o->batch;
    char what[160];
    dg_position_add(&r->read, 1);
    if (dg_recipe_bad(r->job.recipe, m, what, sizeof what)) return bad_numbers(r, what);
    add_test(r, m);
    round_as_logged(r->job.recipe, m);
    dg_epoch_add(&r->epoch, r->job.recipe, m->value);
    const double seconds = dg_clock() - r->started;
    const long done = (long)(r->read.step - r->first_step);
    dg_log_row row = {.step = r->read.step,
                      .epoch = r->read.epoch + 1,
                      .seconds = r->seconds_before + seconds,
                      .images_per_second = (double)done * o->batch / fmax(seconds, 1e-9)};
    memcpy(row.value, m->value, sizeof row.value);
    if (r->read.batch == (uint64_t)r->batches) add_measures(r, &row);
    add_energy(r, &row);
    log_failed(r, dg_log_step(r->log, &row));
    if (diagnoses(r)) dg_doctor_row(&r->doctor, &row, on_finding, r);
    dg_progress_step(r->progress, (int)r->read.epoch + 1, o->epochs, (long)r->read.batch, r->batches, m,
                     done * o->batch, (dg_steps_of_run(o, r->data.train) - (long)r->first_step) * o->batch, B);
    if (r->read.batch == (uint64_t)r->batches) end_epoch(r);
    return DG_OK;
}

static dg_err preview(dg_training *r, uint64_t epoch)
{
    enum { YES = 1, SECONDS = 2 };
    const dg_options *o = r->o;
    const dg_model *m = &r->job.model;
    const bool soon = dg_clock() - r->previewed < SECONDS && epoch != (uint64_t)o->epochs;
    char *text;
    if (soon || (o->preview == YES && !dg_progress_terminal(r->progress))) return DG_OK;
    const dg_err e = dg_terminal_grid(r->out.samples.pixels, m->size, m->channels, o->grid_rows, o->grid_cols, &text);
    if (e) return e;
    dg_progress_show(r->progress, text);
    free(text);
    r->previewed = dg_clock();
    return DG_OK;
}

static void take_samples(dg_training *r, bool wait)
{
    const uint64_t before = r->out.samples.given;
    dg_save_samples(&r->out, &r->read, wait);
    if (r->out.seen.epoch) dg_doctor_grid(&r->doctor, &r->out.seen);
    r->out.seen.epoch = 0;
    const uint64_t now = r->out.samples.given;
    if (now != before && r->o->preview) dg_outputs_failed(&r->out, preview(r, now));
    dg_save_report(&r->out);
}

/* Print the remaining time once, after TIMED_SECONDS. The first step is not timed, because it builds CUDA graphs. */
static void say_time(dg_training *r)
{
    const double now = dg_clock(), seconds = now - r->timed_from;
    if (r->timed_from < 0 || r->read.step == r->first_step) return;
    if (r->timed_from == 0) {
        r->timed_from = now;
        r->timed_step = r->read.step;
    }
    if (r->read.step == r->timed_step || seconds < TIMED_SECONDS) return;
    const long steps = (long)(r->read.step - r->timed_step);
    const long left = dg_steps_of_run(r->o, r->data.train) - (long)r->read.step;
    char text[40];
    r->timed_from = -1;
    const double each = seconds / (double)steps;
    if (left > 0)
        dg_progress_note(r->progress,
                         DG_MSG("note-time-left", "%ld step%s left, about %s: %.3g %s per step (last %ld steps)"), left,
                         dg_s(left), dg_duration(each * (double)left, text, sizeof text),
                         each < 0.9995 ? 1e3 * each : each, each < 0.9995 ? "ms" : "s", steps);
}

/* all: wait for all launched steps. */
static dg_err read_metrics(dg_training *r, bool all)
{
    dg_err e = DG_OK;
    int n = 0;
    do {
        uint64_t first;
        dg_metrics *row;
        e = dg_ring_reader_ask(&r->metrics, r->given.step, all);
        if (!e) e = dg_ring_reader_take(&r->metrics, all, &first, &row, &n);
        for (int i = 0; i < n && !e; i++) e = read_step(r, &row[i]);
    } while (!e && n);
    if (!e) say_time(r);
    if (!e) take_samples(r, all);
    return e;
}

int dg_steps_in_a_row(const dg_training *r)
{
    const uint64_t most = (uint64_t)dg_loader_steps(&r->feed, (int)r->given.batch * r->o->batch);
    uint64_t n = (uint64_t)dg_steps_ahead(r->job.backend, r->metrics.each);
    if (n > most) n = most;
    if (r->o->steps > 0 && n > (uint64_t)r->o->steps - r->given.step) n = (uint64_t)r->o->steps - r->given.step;
    return (int)n;
}

/* Save a checkpoint at r->read. */
static dg_err checkpoint(dg_training *r)
{
    bool removed;
    const dg_err e = dg_rundir_check(&r->dir, &removed);
    if (!removed) dg_save_checkpoint(&r->out, &r->read);
    return e;
}

static dg_err test_epoch(dg_training *r)
{
    const dg_dataset *d = &r->data;
    dg_evaluation_free(&r->tested);
    if (!r->job.o.tested || r->expected) return DG_OK;
    return dg_evaluate(&r->job, &r->feed.records, d->train, d->label + d->train, d->count - d->train, &r->tested);
}

static dg_err judge_epoch(dg_training *r)
{
    const uint64_t epoch = r->given.epoch + 1;
    if (!dg_judge_due(&r->out, epoch)) return DG_OK;
    r->judged.epoch = epoch;
    return dg_critic_judge(&r->critic, &r->job, r->o->seed, r->judged.measure);
}

static dg_err save_judged(dg_training *r, uint64_t epoch)
{
    bool removed;
    char line[300];
    if (r->judged.epoch != epoch) return DG_OK;
    dg_err e = read_metrics(r, true);
    dg_log_row row = {.epoch = epoch};
    for (int k = 0; k < r->job.recipe->metrics; k++) row.value[r->job.recipe->metric[k].term[0]] = NAN;
    add_measures(r, &row);
    const double score = dg_best_score(r->job.recipe, &row);
    if (e) return e;
    dg_progress_note(r->progress, "epoch %ju: %s", (uintmax_t)epoch,
                     dg_critic_text(row.measure, r->critic.floor, line, sizeof line));
    if (!(score > r->best)) return DG_OK;
    if ((e = dg_rundir_check(&r->dir, &removed)) != DG_OK) return e;
    dg_save_best(&r->out, &r->read);
    r->best = score;
    return DG_OK;
}

static dg_err save_test(dg_training *r, uint64_t epoch)
{
    if (!r->tested.n) return DG_OK;
    /* more than half an image better, because r->best may be a rounded value from the log */
    const bool best = r->tested.accuracy > r->best + 0.5 / r->tested.n, shown = dg_shown(&r->out, epoch);
    bool removed;
    dg_err e = read_metrics(r, true);
    if (!e && (best || shown)) e = dg_rundir_check(&r->dir, &removed);
    if (e) return e;
    if (shown) dg_outputs_failed(&r->out, dg_evaluation_write(&r->tested, &r->data, &r->dir, epoch));
    if (best) dg_save_best(&r->out, &r->read);
    if (best) r->best = r->tested.accuracy;
    return DG_OK;
}

/* Save the outputs of an epoch after its last launch. A checkpoint waits for the metrics, so that no checkpoint has
 * NaN. */
static dg_err close_epoch(dg_training *r)
{
    dg_position_end_epoch(&r->given);
    const uint64_t epoch = r->given.epoch;
    bool removed;
    dg_err e = DG_OK;
    if ((dg_samples_due(&r->out, epoch) || dg_checkpoint_due(&r->out, epoch)) &&
        (e = dg_rundir_check(&r->dir, &removed)) != DG_OK) {
        if (removed) return e;
        e = read_metrics(r, true);
        return e ? e : checkpoint(r);
    }
    if (dg_samples_due(&r->out, epoch)) {
        if (r->out.samples.epoch) e = read_metrics(r, true);
        if (!e) dg_begin_samples(&r->out, epoch);
    }
    if (!e && dg_checkpoint_due(&r->out, epoch) && !dg_checkpoint_too_soon(&r->out, epoch)) {
        const double began = dg_clock();
        e = read_metrics(r, true);
        if (!e) e = checkpoint(r);
        r->out.saved_at = dg_clock();
        r->out.saving_took = r->out.saved_at - began;
    }
    if (!e) e = save_judged(r, epoch);
    return e ? e : save_test(r, epoch); /* last, because dg_save_best would affect dg_checkpoint_too_soon */
}

/* Write missing outputs of the last epoch, if the previous session ended after the checkpoint and before the
 * outputs. */
static void make_up_for_images(dg_training *r)
{
    const dg_options *o = r->o;
    if (o->sample_every > 0 && (!r->first_step || !dg_rundir_has(&r->dir, "reals.png"))) dg_save_reals(&r->out);
    dg_history_prune(&r->dir, o->keep);
    const uint64_t epoch = r->read.epoch;
    if (!r->first_step || r->read.batch) return;
    if (dg_samples_due(&r->out, epoch) && !dg_rundir_has(&r->dir, "epoch-%04ju.png", (uintmax_t)epoch))
        dg_begin_samples(&r->out, epoch);
    if (!r->job.o.tested || !dg_shown(&r->out, epoch)) return;
    dg_err e = test_epoch(r);
    if (!e) e = dg_evaluation_write(&r->tested, &r->data, &r->dir, epoch);
    dg_outputs_failed(&r->out, e);
}

static bool steps_done(const dg_training *r) { return r->o->steps > 0 && r->given.step >= (uint64_t)r->o->steps; }

dg_err dg_train_loop(dg_training *r)
{
    dg_err e = DG_OK;
    bool within = false;
    make_up_for_images(r);
    dg_progress_wait(r->progress, "running the first step ...");
    r->epoch_began = dg_clock();
    while (!e && r->given.epoch < (uint64_t)r->o->epochs && !steps_done(r) && !dg_stop_signal && !r->collapsed) {
        e = launch_steps(r, !within);
        within = r->given.batch < (uint64_t)r->batches;
        if (!e && !within) e = test_epoch(r);
        if (!e && !within) e = judge_epoch(r);
        if (!e) e = read_metrics(r, false);
        if (!e && !within) e = close_epoch(r);
    }
    if (!e) e = read_metrics(r, true);
    if (e) return e;
    const bool knows = diagnoses(r);
    if (knows && !dg_stop_signal && !r->collapsed) dg_doctor_end(&r->doctor, !r->o->init, on_finding, r);
    if (knows) dg_doctor_sum_up(&r->doctor, on_finding, r);
    if (r->expected && dg_stop_signal) return DG_OK;
    /* the last step has no checkpoint */
    if (r->read.step > r->first_step && r->out.given_step != r->read.step) e = checkpoint(r);
    return e || !r->collapsed
               ? e
               : dg_fail(
                     DG_COLLAPSED,
                     DG_MSG(
                         "stopped-on-collapse",
                         "stopped in epoch %ju, step %ju, by {stop-on-collapse}: %s; %s; {resume} continues from here"),
                     (uintmax_t)r->read.epoch + (r->read.batch > 0), (uintmax_t)r->read.step, r->collapsed->name,
                     r->collapsed->advice);
}
