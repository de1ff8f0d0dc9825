#include "host/run/critic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/rundir/log_text.h"

static dg_err columns(const dg_critic *c, const dg_judged *x, double out[DG_LOGGED])
{
    dg_err e = DG_OK;
    for (int i = 0; i < DG_LOGGED; i++) out[i] = NAN;
    for (int i = 0; i < DG_LOGGED_ALWAYS && !e; i++) {
        dg_measured v = {.value = NAN};
        const dg_measure *m = dg_measure_logged(i);
        if (dg_measurable(m, &c->jury)) e = dg_measure_take(m, &c->jury, &c->reals, x, &v);
        out[i] = dg_log_rounded(v.value);
    }
    return e;
}

static dg_fid_images images_of(const dg_jury *j, dg_images images, int used, int stream)
{
    return (dg_fid_images){images, j->size, j->channels, used, j->seed, stream};
}

static dg_images made_by(const dg_critic *c)
{
    const size_t image = dg_size_values(c->jury.size, c->jury.channels);
    return dg_images_of(c->made, c->jury.count, image);
}

static void put_fid(const dg_critic *c, const dg_fid *x, double out[DG_LOGGED])
{
    out[dg_inception_known(c->inception) ? DG_LOG_FID : DG_LOG_UNKNOWN] = dg_log_rounded(x->fid);
    if (x->has_kid) out[DG_LOG_KID_INCEPTION] = dg_log_rounded(x->kid.value);
}

/* Take the moments of all real images from the file, or write the file. They have no KID and no baseline. */
static dg_err take_moments(dg_critic *c, const dg_dataset *data, const char *path, dg_progress *progress)
{
    const dg_fid_images all = images_of(&c->jury, dg_dataset_images(data), data->count, 0);
    if (!access(path, F_OK)) return dg_fid_set_read(path, c->inception, &c->fid_reals);
    dg_err e = dg_fid_set_of(c->inception, &all, progress, "Inception features of real images", &c->fid_reals);
    if (!e) e = dg_fid_set_write(path, c->inception, &c->fid_reals);
    free(c->fid_reals.feature);
    c->fid_reals.feature = NULL;
    return e;
}

/* Take the features of two sets of real images: one to compare with samples, one for the baseline. */
static dg_err take_features(dg_critic *c, const dg_dataset *data, dg_progress *progress)
{
    const int n = c->jury.count;
    const dg_fid_images x = images_of(&c->jury, dg_dataset_images(data), 2 * n, 0);
    dg_fid_set both = {0}, held = {0};
    dg_fid least;
    dg_err e = dg_fid_set_of(c->inception, &x, progress, "Inception features of real images", &both);
    if (!e) e = dg_fid_set_part(&both, 0, n, &c->fid_reals);
    if (!e) e = dg_fid_set_part(&both, n, n, &held);
    if (!e) e = dg_fid_compare(&c->fid_reals, &held, c->jury.seed, c->jury.threads, &least);
    if (!e) put_fid(c, &least, c->floor);
    dg_fid_set_free(&both);
    dg_fid_set_free(&held);
    return e;
}

static dg_err open_inception(dg_critic *c, const dg_dataset *data, const dg_critic_fid *fid, dg_progress *progress)
{
    if (!fid->weights) return DG_OK;
    const dg_err e = dg_inception_open(fid->weights, fid->resize, c->jury.threads, &c->inception);
    if (e) return e;
    return fid->moments ? take_moments(c, data, fid->moments, progress) : take_features(c, data, progress);
}

static dg_err judge_inception(dg_critic *c, double out[DG_LOGGED])
{
    const dg_fid_images x = images_of(&c->jury, made_by(c), c->jury.count, 1);
    dg_fid_set made = {0};
    dg_fid value;
    if (!c->inception) return DG_OK;
    dg_err e = dg_fid_set_of(c->inception, &x, NULL, NULL, &made);
    if (!e) e = dg_fid_compare(&c->fid_reals, &made, c->jury.seed, c->jury.threads, &value);
    if (!e) put_fid(c, &value, out);
    dg_fid_set_free(&made);
    return e;
}

static dg_err take_reals(dg_critic *c, const dg_dataset *data)
{
    const dg_jury *j = &c->jury;
    const dg_images images = dg_dataset_images(data);
    dg_err e = dg_judged_take(j, &images, 0, 0, &c->reals);
    if (!e) e = dg_judged_take(j, &images, 0, j->count, &c->held);
    if (!e) e = dg_judged_beside(j, &c->reals, &c->held, &c->held);
    return e ? e : columns(c, &c->held, c->floor);
}

dg_err dg_critic_open(dg_critic *c, const dg_job *job, const dg_dataset *data, const dg_device *d,
                      const dg_critic_fid *fid, dg_progress *progress, uint64_t seed)
{
    const int half = data->count / 2, n = half < DG_CRITIC_MOST ? half : DG_CRITIC_MOST;
    c->jury = (dg_jury){
        .count = n, .size = job->model.size, .channels = job->model.channels, .seed = seed, .threads = d->threads};
    if (n < DG_JUDGED_LEAST)
        return dg_fail(DG_DATA,
                       DG_MSG("few-to-evaluate",
                              "{eval-every}: the dataset is too small (%d images, at least %d needed)"),
                       data->count, 2 * DG_JUDGED_LEAST);
    const size_t image = dg_size_values(data->size, data->channels), inputs = (size_t)dg_job_inputs(job);
    c->made = malloc((size_t)n * image);
    c->in = malloc((size_t)n * inputs * sizeof *c->in);
    if (!c->made || !c->in) return dg_fail(DG_DEVICE, "out of memory for %d images", n);
    dg_err e = dg_random_net_open(d, data->size, data->channels, &c->jury.random_net);
    if (!e) e = take_reals(c, data);
    return e ? e : open_inception(c, data, fid, progress);
}

dg_err dg_critic_judge(dg_critic *c, dg_job *job, uint64_t seed, double out[DG_LOGGED])
{
    const int n = c->jury.count, inputs = dg_job_inputs(job);
    dg_judged made = {0};
    for (int i = 0; i < n; i++) dg_job_sample(job, c->in + (size_t)i * (size_t)inputs, seed, (uint64_t)i, -1);
    dg_err e = dg_job_generate(job, c->in, n, c->made, NULL);
    const dg_images images = made_by(c);
    if (!e) e = dg_judged_take(&c->jury, &images, 1, 0, &made);
    if (!e) e = dg_judged_beside(&c->jury, &c->reals, &c->held, &made);
    if (!e) e = columns(c, &made, out);
    if (!e) e = judge_inception(c, out);
    dg_judged_free(&made);
    return e;
}

char *dg_critic_text(const double *value, const double *floor, char *out, size_t size)
{
    out[0] = 0;
    for (int i = 0; i < DG_LOGGED; i++) {
        const size_t n = strlen(out);
        if (isnan(value[i])) continue;
        snprintf(out + n, size - n, "%s%s %.3g", i ? ", " : "", dg_logged[i].name, value[i]);
        const size_t m = strlen(out);
        if (floor && !isnan(floor[i])) snprintf(out + m, size - m, " (%.3g)", floor[i]);
    }
    return out;
}

void dg_critic_close(dg_critic *c)
{
    dg_judged_free(&c->reals);
    dg_judged_free(&c->held);
    dg_fid_set_free(&c->fid_reals);
    dg_inception_close(c->inception);
    dg_random_net_close(c->jury.random_net);
    free(c->made);
    free(c->in);
}
