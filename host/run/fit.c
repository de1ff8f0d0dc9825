/* Does the run fit into the device's memory, and how: before anything is allocated. */
#include <stdio.h>

#include "host/run/fit.h"

/* A window as large as this makes the waiting for each other rare; more would gain nothing. */
static const size_t WINDOW_BYTES = (size_t)32 << 20;

typedef struct {
    size_t have, total;
    const dg_model *model;
    dg_backend *b;
} room;

/* Everything but the pictures. */
static size_t fixed_bytes(const dg_job *job) { return job->arena.bytes + (size_t)job->o.rows * sizeof(int32_t); }

static size_t pictures_bytes(const dg_job *job)
{
    return (size_t)(job->o.window ? 2 * job->o.window : job->o.rows) * dg_job_record_bytes(job);
}

static bool fits(const room *r, const dg_job *job)
{
    const size_t fixed = fixed_bytes(job);
    return fixed <= r->have && pictures_bytes(job) <= r->have - fixed;
}

/* Two windows of whole batches in the room that is left; at least one batch each, whether it fits or not. */
static int window_for(const room *r, const dg_job *job)
{
    const size_t fixed = fixed_bytes(job), left = fixed < r->have ? (r->have - fixed) / 2 : 0;
    const size_t batches = (left < WINDOW_BYTES ? left : WINDOW_BYTES) /
                           ((size_t)job->o.batch * dg_job_record_bytes(job));
    const int all = (job->o.rows + job->o.batch - 1) / job->o.batch;
    return job->o.batch * (batches < 1 ? 1 : batches > (size_t)all ? all : (int)batches);
}

/* Build so that it fits, if that is possible: *yes. The job is there in both cases unless an error is returned. */
static dg_err build(dg_job *job, const room *r, const dg_job_options *o, bool *yes)
{
    dg_job_options options = *o;
    *yes = false;
    dg_err e = dg_job_build(job, r->model, &options, r->b);
    if (e) return e;
    *yes = fits(r, job);
    if (*yes) return DG_OK;
    options.window = window_for(r, job);
    dg_job_free(job);
    e = dg_job_build(job, r->model, &options, r->b);
    if (!e) *yes = fits(r, job);
    return e;
}

static int largest_batch(const room *r, const dg_job_options *o)
{
    int lo = 0, hi = o->batch; /* lo fits, hi does not */
    while (hi - lo > 1) {
        dg_job job;
        bool yes;
        dg_job_options half = *o;
        half.batch = lo + (hi - lo) / 2;
        half.last_batch = o->rows % half.batch; /* with --drop-last there is none, and a little room to spare */
        if (half.samples > half.batch) half.samples = half.batch;
        dg_err e = build(&job, r, &half, &yes);
        if (!e) dg_job_free(&job);
        if (!e && yes) lo = half.batch;
        else hi = half.batch;
    }
    return lo;
}

dg_err dg_build_to_fit(dg_job *job, const dg_model *m, const dg_job_options *o, dg_backend *b, double most_mb)
{
    room r = {.model = m, .b = b};
    bool yes;
    size_t others = 0;
    dg_err e = b->memory(b, &r.have, &r.total);
    if (e) return e;
    const double unused = (double)r.have / 1e6;
    if (!b->threads) { /* graphs and libraries take some, too */
        others = r.total / 16 < (size_t)256 << 20 ? r.total / 16 : (size_t)256 << 20;
        r.have = r.have > others ? r.have - others : 0;
    }
    if (most_mb > 0 && most_mb * 1e6 < (double)r.have) r.have = (size_t)(most_mb * 1e6);
    e = build(job, &r, o, &yes);
    if (e || yes) return e;
    char advice[80] = "no batch is small enough: use a smaller model";
    const double fixed = (double)fixed_bytes(job) / 1e6, pictures = (double)pictures_bytes(job) / 1e6;
    dg_job_free(job);
    const int batch = largest_batch(&r, o);
    if (batch) snprintf(advice, sizeof advice, "the largest batch that fits is %d", batch);
    char reserve[80] = "";
    if (most_mb > 0)
        snprintf(reserve, sizeof reserve, ", of which %.1f may be used (device-memory)", (double)r.have / 1e6);
    else if (others) snprintf(reserve, sizeof reserve, " (%.1f stay for the driver)", (double)others / 1e6);
    return dg_fail(DG_DEVICE,
                   "{batch} %d does not fit on %s: %.1f MB are needed (network %.1f, pictures %.1f), %.1f MB of %.1f "
                   "are free%s; %s",
                   o->batch, b->name, fixed + pictures, fixed, pictures, unused, (double)r.total / 1e6, reserve,
                   advice);
}
