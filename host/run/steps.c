#include "host/run/steps.h"

#include <string.h>

uint64_t dg_epoch_length(const dg_loader *f)
{
    return ((uint64_t)f->used + (uint64_t)f->batch - 1) / (uint64_t)f->batch;
}

static int place_of(const dg_loader *f, const dg_position *at) { return (int)at->batch * f->batch; }

dg_err dg_epoch_begin(dg_job *job, dg_loader *f, const dg_position *at, const double lr[DG_NETS_MAX])
{
    const int place = place_of(f, at);
    dg_step_state s = {.seed = f->seed, .step = at->step, .cursor = place};
    memcpy(s.lr, lr, sizeof s.lr);
    const dg_err e = dg_loader_epoch(f, at->epoch, place);
    return e ? e : dg_job_put_state(job, &s);
}

dg_err dg_epoch_steps(dg_job *job, dg_loader *f, dg_position *at, int n)
{
    const int place = place_of(f, at), left = f->used - place, batch = left < f->batch ? left : f->batch;
    dg_err e = dg_loader_step(f, place);
    if (!e) e = dg_job_steps(job, batch, n);
    if (!e) dg_position_add(at, (uint64_t)n);
    return e;
}
