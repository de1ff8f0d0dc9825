#include "host/run/critic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/rundir/log_text.h"

static dg_err columns(const dg_critic *c, const dg_judged *x, double out[DG_LOGGED])
{
    dg_err e = DG_OK;
    for (int i = 0; i < DG_LOGGED && !e; i++) {
        dg_measured v = {.value = NAN};
        const dg_measure *m = dg_measure_logged(i);
        if (dg_measurable(m, &c->jury)) e = dg_measure_take(m, &c->jury, &c->reals, x, &v);
        out[i] = dg_log_rounded(v.value);
    }
    return e;
}

static dg_err take_reals(dg_critic *c, const dg_dataset *data)
{
    const dg_jury *j = &c->jury;
    dg_err e = dg_judged_take(j, data->pixels, data->count, 0, 0, &c->reals);
    if (!e) e = dg_judged_take(j, data->pixels, data->count, 0, j->count, &c->held);
    if (!e) e = dg_judged_beside(j, &c->reals, &c->held, &c->held);
    return e ? e : columns(c, &c->held, c->floor);
}

dg_err dg_critic_open(dg_critic *c, const dg_job *job, const dg_dataset *data, const dg_device *d, uint64_t seed)
{
    const int half = data->count / 2, n = half < DG_CRITIC_MOST ? half : DG_CRITIC_MOST;
    c->jury = (dg_jury){
        .count = n, .size = job->model.size, .channels = job->model.channels, .seed = seed, .threads = d->threads};
    if (n < DG_JUDGED_LEAST)
        return dg_fail(DG_DATA,
                       DG_MSG("few-to-evaluate",
                              "{eval-every}: the dataset is too small (%d images, at least %d needed)"),
                       data->count, 2 * DG_JUDGED_LEAST);
    const size_t image = (size_t)data->size * (size_t)data->size * (size_t)data->channels,
                 inputs = (size_t)dg_job_inputs(job);
    c->made = malloc((size_t)n * image);
    c->in = malloc((size_t)n * inputs * sizeof *c->in);
    if (!c->made || !c->in) return dg_fail(DG_DEVICE, "out of memory for %d images", n);
    const dg_err e = dg_random_net_open(d, data->size, data->channels, &c->jury.random_net);
    return e ? e : take_reals(c, data);
}

dg_err dg_critic_judge(dg_critic *c, dg_job *job, uint64_t seed, double out[DG_LOGGED])
{
    const int n = c->jury.count, inputs = dg_job_inputs(job);
    dg_judged made = {0};
    for (int i = 0; i < n; i++) dg_job_sample(job, c->in + (size_t)i * (size_t)inputs, seed, (uint64_t)i, -1);
    dg_err e = dg_job_generate(job, c->in, n, c->made, NULL);
    if (!e) e = dg_judged_take(&c->jury, c->made, n, 1, 0, &made);
    if (!e) e = dg_judged_beside(&c->jury, &c->reals, &c->held, &made);
    if (!e) e = columns(c, &made, out);
    dg_judged_free(&made);
    return e;
}

char *dg_critic_text(const double *value, const double *floor, char *out, size_t size)
{
    out[0] = 0;
    for (int i = 0; i < DG_LOGGED; i++) {
        const size_t n = strlen(out);
        snprintf(out + n, size - n, "%s%s %.3g", i ? ", " : "", dg_measure_logged(i)->name, value[i]);
        const size_t m = strlen(out);
        if (floor) snprintf(out + m, size - m, " (%.3g)", floor[i]);
    }
    return out;
}

void dg_critic_close(dg_critic *c)
{
    dg_judged_free(&c->reals);
    dg_judged_free(&c->held);
    dg_random_net_close(c->jury.random_net);
    free(c->made);
    free(c->in);
}
