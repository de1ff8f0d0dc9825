/* The training loop: epochs, steps, metrics, triggers, and the reasons to stop. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rng.h"
#include "train.h"

volatile sig_atomic_t dg_stop_signal;

/* First signal: finish the step and save. Second: the user does not want to wait. */
static void on_signal(int number)
{
    if (dg_stop_signal) _exit(128 + number);
    dg_stop_signal = number;
}

void dg_catch_signals(void)
{
    struct sigaction a = {.sa_handler = on_signal};
    sigemptyset(&a.sa_mask);
    static const int caught[] = {SIGINT, SIGTERM, SIGHUP};
    for (int i = 0; i < 3; i++) {
        struct sigaction old;
        /* nohup and shells in the background have their reasons for ignoring a signal */
        if (!sigaction(caught[i], NULL, &old) && old.sa_handler != SIG_IGN) sigaction(caught[i], &a, NULL);
    }
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file size limit is an error message, not a death */
}

double dg_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* NULL when every number of this step is finite, else what is not. */
static const char *not_finite(const dg_metrics *m, char *out, size_t size)
{
    static const struct {
        int metric;
        const char *text;
    } loss[] = {{DG_LOSS_D_REAL, "the loss of D on real pictures"}, {DG_LOSS_D_FAKE, "the loss of D on fakes"}, {DG_LOSS_G, "the loss of G"}};
    for (int i = 0; i < 3; i++) {
        double v = m->value[loss[i].metric];
        if (isfinite(v)) continue;
        snprintf(out, size, "%s is %s", loss[i].text, isnan(v) ? "NaN" : "infinite");
        return out;
    }
    for (int i = 0; i < 2; i++) {
        double v = m->value[i ? DG_BAD_G : DG_BAD_D];
        if (v == 0) continue;
        snprintf(out, size, "%.0f weights of %c are NaN or infinite after their update", v, i ? 'G' : 'D');
        return out;
    }
    return NULL;
}

/* The first tensor with a value that is not finite, for the message: gradients before weights. */
static void name_bad_tensor(dg_gan *gan, char *out, size_t size)
{
    out[0] = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < gan->tensors; i++) {
            const dg_gan_tensor *t = &gan->tensor[i];
            int row = pass ? t->row : t->grad;
            if (row < 0) continue;
            size_t n = dg_count(gan->arena.row[row].shape), bad = 0;
            double *v = malloc(n * sizeof *v);
            if (!v || dg_gan_read(gan, t, row, DG_F64, v) != DG_OK) {
                free(v);
                return;
            }
            for (size_t k = 0; k < n; k++) bad += isfinite(v[k]) ? 0u : 1u;
            free(v);
            if (!bad) continue;
            snprintf(out, size, "; first bad tensor: %s %s (%zu of %zu values)", pass ? "weights" : "gradient", t->name, bad, n);
            return;
        }
    }
}

static dg_err begin_epoch(dg_run *r)
{
    dg_permutation(r->perm, r->data.count, r->o->seed, r->epoch);
    dg_err e = r->backend->put(r->backend, r->device_perm, r->perm, (size_t)r->data.count * sizeof *r->perm);
    dg_step_state s = {.seed = r->o->seed, .step = r->step, .cursor = (int64_t)r->batch * r->o->batch};
    s.lr[DG_G] = r->o->lr_g > 0 ? r->o->lr_g : r->o->lr;
    s.lr[DG_D] = r->o->lr_d > 0 ? r->o->lr_d : r->o->lr;
    return e ? e : dg_gan_put_state(&r->gan, &s);
}

static void log_failed(dg_run *r, dg_err e)
{
    if (!e || r->save_error) return;
    dg_warn("%s; training goes on without a complete log", dg_message());
    r->save_error = e;
}

static dg_err one_step(dg_run *r)
{
    const dg_options *o = r->o;
    int left = r->data.count - (int)r->batch * o->batch, B = left < o->batch ? left : o->batch;
    dg_err e = dg_gan_step(&r->gan, B);
    dg_metrics m;
    if (!e) e = dg_gan_get_metrics(&r->gan, r->step, 1, &m);
    if (e) return e;
    r->step++;
    r->batch++;
    char what[160], tensor[160];
    if (not_finite(&m, what, sizeof what)) {
        name_bad_tensor(&r->gan, tensor, sizeof tensor);
        return dg_fail(DG_NUMBERS, "epoch %llu, step %llu: %s%s. The last checkpoint is untouched; go on from it with a smaller --lr, or --lr-d and --lr-g",
                       (unsigned long long)r->epoch + 1, (unsigned long long)r->step, what, tensor);
    }
    for (int i = 0; i < DG_METRICS; i++) r->sum.value[i] += m.value[i];
    r->summed++;
    double seconds = dg_clock() - r->started;
    dg_log_row row = {.step = r->step, .epoch = r->epoch + 1, .seconds = r->seconds_before + seconds,
                      .images_per_second = (double)(r->step - r->first_step) * o->batch / fmax(seconds, 1e-9)};
    memcpy(row.value, m.value, sizeof row.value);
    log_failed(r, dg_log_step(r->log, &row));
    dg_progress_step(r->progress, (int)r->epoch + 1, o->epochs, (long)r->batch, r->batches, &m,
                     (long)(r->step - r->first_step) * o->batch,
                     ((long)o->epochs * r->batches - (long)r->first_step) * o->batch, B);
    return DG_OK;
}

static bool every(int n, uint64_t epoch) { return n > 0 && epoch % (uint64_t)n == 0; }

static void end_epoch(dg_run *r, double seconds)
{
    const dg_options *o = r->o;
    r->epoch++;
    r->batch = 0;
    dg_metrics mean = {{0}};
    for (int i = 0; i < DG_METRICS && r->summed; i++) mean.value[i] = r->sum.value[i] / r->summed;
    double rate = (double)r->summed * o->batch / fmax(seconds, 1e-9);
    dg_log_row row = {.step = r->step, .epoch = r->epoch, .seconds = r->seconds_before + dg_clock() - r->started, .images_per_second = rate};
    memcpy(row.value, mean.value, sizeof row.value);
    log_failed(r, dg_log_epoch(r->log, &row));
    dg_progress_epoch(r->progress, (int)r->epoch, o->epochs, &mean, seconds, rate);
    memset(&r->sum, 0, sizeof r->sum);
    r->summed = 0;
    bool last = r->epoch == (uint64_t)o->epochs;
    if (every(o->sample_every, r->epoch) || (last && o->sample_every > 0)) {
        dg_save_samples(r, r->epoch);
        if (!o->no_curves) dg_save_curves(r);
    }
    if (every(o->checkpoint_every, r->epoch) || last) dg_save_checkpoint(r);
}

static bool steps_done(const dg_run *r) { return r->o->steps > 0 && r->step >= (uint64_t)r->o->steps; }

dg_err dg_train_loop(dg_run *r)
{
    while (r->epoch < (uint64_t)r->o->epochs && !steps_done(r)) {
        double begun = dg_clock();
        dg_err e = begin_epoch(r);
        while (!e && r->batch < (uint64_t)r->batches && !dg_stop_signal && !steps_done(r)) e = one_step(r);
        if (e) return e;
        if (r->batch == (uint64_t)r->batches) end_epoch(r, dg_clock() - begun);
        if (dg_stop_signal) break;
    }
    /* stopped inside an epoch, or where no checkpoint was due */
    bool due = every(r->o->checkpoint_every, r->epoch) || r->epoch == (uint64_t)r->o->epochs;
    if (r->step > r->first_step && (r->batch > 0 || !due)) dg_save_checkpoint(r);
    return DG_OK;
}
