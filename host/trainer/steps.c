#include "host/trainer/steps.h"

#include <stdlib.h>
#include <string.h>

#include "core/group/group.h"
#include "host/net/shards.h"
#include "host/trainer/fit.h"

uint64_t dg_epoch_length(const dg_loader *f)
{
    return ((uint64_t)f->o.used + (uint64_t)f->o.batch - 1) / (uint64_t)f->o.batch;
}

static int place_of(const dg_loader *f, const dg_position *at) { return (int)at->batch * f->o.batch; }

static int batch_of(const dg_loader *f, const dg_position *at)
{
    const int left = f->o.used - place_of(f, at);
    return left < f->o.batch ? left : f->o.batch;
}

static dg_err put_state(dg_job *job, const dg_loader *f, const dg_position *at, const double lr[DG_NETS_MAX])
{
    const int place = place_of(f, at);
    dg_step_state s = {.seed = f->o.seed, .step = at->step, .cursor = place};
    memcpy(s.lr, lr, sizeof s.lr);
    return dg_job_put_scheduled(job, &s, (double)dg_position_images(at, f->o.used, f->o.batch), batch_of(f, at));
}

dg_err dg_epoch_begin(dg_job *job, dg_loader *f, const dg_position *at, const double lr[DG_NETS_MAX])
{
    const dg_err e = dg_loader_epoch(f, at->epoch, place_of(f, at));
    return e || dg_is_scheduled(&job->o)
               ? e
               : put_state(job, f, at, lr); /* with a schedule, dg_epoch_steps writes a state per step */
}

dg_err dg_epoch_steps(dg_job *job, dg_loader *f, dg_position *at, const double lr[DG_NETS_MAX], int n)
{
    const int batch = batch_of(f, at);
    const int each = dg_is_scheduled(&job->o) ? 1 : n;
    const bool put = dg_is_scheduled(&job->o) || (job->o.ema_half_life > 0 && batch < f->o.batch);
    dg_group *const gpus = job->backend->queues ? job->backend->group : NULL;
    dg_err e = dg_loader_step(f, place_of(f, at), n);
    for (int i = 0; i < n && !e; i += each) {
        if (put) e = put_state(job, f, at, lr);
        if (gpus) dg_group_wait_for_gpu(gpus, true);
        if (!e) e = dg_job_steps(job, batch, each);
        if (gpus) dg_group_wait_for_gpu(gpus, false);
        if (!e) dg_position_add(at, (uint64_t)each);
    }
    return e;
}

dg_err dg_trainer_open(dg_trainer *t, dg_job *job, const dg_model *m, const dg_job_options *o, dg_backend *b,
                       const uint8_t *pixels, const int32_t *label, int count, bool drop_last, uint64_t seed)
{
    dg_job_options whole = *o;
    whole.rows = count;
    whole.last_batch = dg_used_images(count, o->batch, dg_shards_of(o), drop_last) % o->batch;
    const dg_err e = dg_build_to_fit(job, m, &whole, b, 0);
    return e ? e : dg_trainer_start(t, job, pixels, label, count, drop_last, seed);
}

static dg_err copy_labels(dg_trainer *t, const int32_t *label, int count)
{
    const int classes = dg_job_labels(t->job);
    t->label = malloc((size_t)count * sizeof *t->label);
    if (!t->label) return dg_fail(DG_DEVICE, "out of memory for %d labels", count);
    for (int i = 0; i < count; i++) t->label[i] = label ? label[i] : i % classes;
    return DG_OK;
}

dg_err dg_trainer_start(dg_trainer *t, dg_job *job, const uint8_t *pixels, const int32_t *label, int count,
                        bool drop_last, uint64_t seed)
{
    const int batch = job->o.batch, used = dg_used_images(count, batch, dg_shards_of(&job->o), drop_last);
    dg_err e = DG_OK;
    t->job = job;
    if (dg_job_labelled(job)) e = copy_labels(t, label, count);
    const size_t image = dg_size_values(job->model.size, job->model.channels);
    const dg_images images = dg_images_of(pixels, count, image);
    const dg_loader_options o = dg_job_loading(job, used, seed);
    dg_training_records r;
    if (!e) e = dg_job_view(job, &images, t->label, &t->ready, &r);
    if (!e) e = dg_loader_open(&t->feed, job->backend, &r, &o);
    return e ? e : dg_job_alloc(job, t->feed.data, t->feed.perm);
}

void dg_trainer_close(dg_trainer *t)
{
    dg_loader_close(&t->feed);
    free(t->ready);
    free(t->label);
    t->ready = NULL;
    t->label = NULL;
}

static dg_err judge(dg_trainer *t, int k)
{
    dg_metrics m[DG_RING / 16];
    char what[160];
    const uint64_t first = t->at.step - (uint64_t)k;
    dg_err e = dg_job_get_metrics(t->job, first, k, m);
    for (int i = 0; i < k && !e; i++)
        if (dg_recipe_bad(t->job->recipe, &m[i], what, sizeof what))
            e = dg_fail(DG_NUMBERS, "epoch %ju, step %ju: %s", (uintmax_t)t->at.epoch + 1,
                        (uintmax_t)first + (uintmax_t)i + 1, what);
    if (!e) t->last = m[k - 1];
    return e;
}

static int in_a_row(const dg_trainer *t, int n)
{
    const dg_loader *f = &t->feed;
    const int most = dg_loader_steps(f, place_of(f, &t->at));
    if (n > DG_RING / 16) n = DG_RING / 16;
    return n < most ? n : most;
}

dg_err dg_trainer_steps(dg_trainer *t, int n)
{
    double lr[DG_NETS_MAX];
    dg_err e = DG_OK;
    for (int i = 0; i < DG_NETS_MAX; i++) lr[i] = t->lr;
    for (int k; n > 0; n -= k) {
        k = in_a_row(t, n);
        if (!t->begun) e = dg_epoch_begin(t->job, &t->feed, &t->at, lr);
        if (!e) e = dg_epoch_steps(t->job, &t->feed, &t->at, lr, k);
        if (!e) e = judge(t, k);
        if (e) break;
        t->begun = t->at.batch < dg_epoch_length(&t->feed);
        if (!t->begun) dg_position_end_epoch(&t->at);
    }
    return e;
}
