#include <stdio.h>

#include "core/base/limits.h"
#include "core/group/group.h"
#include "host/checkpoint/checkpoint.h"
#include "host/net/shards.h"
#include "host/trainer/fit.h"

/* max bytes of a dataset window; larger windows of images in memory were not faster */
static const size_t WINDOW_BYTES = (size_t)32 << 20;

static size_t fixed_bytes(const dg_job *job) { return job->arena.bytes + (size_t)job->o.rows * sizeof(int32_t); }

static size_t window_bytes(const dg_job *job, int images)
{
    dg_loader_options loading = dg_job_loading(job, 0, 0);
    loading.window = images;
    return (size_t)dg_window_images(&loading) * dg_job_record_bytes(job);
}

static size_t images_bytes(const dg_job *job)
{
    return job->o.window ? 2 * window_bytes(job, job->o.window) : (size_t)job->o.rows * dg_job_record_bytes(job);
}

/* Returns the bytes of a CPU run outside of its job: a copy for checkpoints, a tensor, and whitened images. */
static size_t beside(const dg_job *job)
{
    if (!job->o.run || !job->backend->threads) return 0;
    const bool ready = job->model.input == DG_INPUT_ZCA;
    const size_t records = ready ? (size_t)job->o.rows * dg_job_record_bytes(job) : 0;
    size_t tensor = 0; /* tensors are copied through a buffer of the largest tensor's size */
    for (int i = 0; i < job->tensors; i++)
        if (dg_job_tensor_count(&job->tensor[i]) > tensor) tensor = dg_job_tensor_count(&job->tensor[i]);
    return dg_snapshot_bytes(job) + tensor * dg_type_bytes(job->backend->real) + records;
}

size_t dg_fit_bytes(const dg_job *job) { return fixed_bytes(job) + images_bytes(job); }

dg_err dg_room_of(dg_backend *b, double most_mb, dg_room *out)
{
    const dg_err e = b->memory(b, &out->unused, &out->total);
    if (e) return e;
    out->others = b->threads ? 0 : out->total / 16 < (size_t)256 << 20 ? out->total / 16 : (size_t)256 << 20;
    out->have = out->unused > out->others ? out->unused - out->others : 0;
    /* each process of the machine needs as much, and the first one has the decoded images */
    if (b->threads && b->group && b->group->local_size > 1) out->have /= (size_t)b->group->local_size + 1;
    if (most_mb > 0 && most_mb * 1e6 < (double)out->have) out->have = (size_t)(most_mb * 1e6);
    return DG_OK;
}

static bool fits(const dg_room *r, const dg_job *job) { return dg_fit_bytes(job) + beside(job) <= r->have; }

/* Returns the images per dataset window, a multiple of the batch size. Two windows share the remaining memory. */
static int window_for(const dg_room *r, const dg_job *job)
{
    const size_t fixed = fixed_bytes(job) + beside(job), left = fixed < r->have ? (r->have - fixed) / 2 : 0;
    const size_t batches = (left < WINDOW_BYTES ? left : WINDOW_BYTES) / window_bytes(job, job->o.batch);
    const int all = (job->o.rows + job->o.batch - 1) / job->o.batch;
    return job->o.batch * (batches < 1 ? 1 : batches > (size_t)all ? all : (int)batches);
}

/* The caller checks whether the dataset windows fit in memory. */
static dg_err build(dg_job *job, const dg_model *m, const dg_job_options *o, dg_backend *b, const dg_room *r)
{
    dg_job_options options = *o;
    const dg_err e = dg_job_build(job, m, &options, b);
    if (e || fits(r, job)) return e;
    options.window = window_for(r, job);
    dg_job_free(job);
    return dg_job_build(job, m, &options, b);
}

dg_err dg_build_if_fits(dg_job *job, const dg_model *m, const dg_job_options *o, dg_backend *b, const dg_room *room,
                        size_t *needed)
{
    const dg_err e = build(job, m, o, b, room);
    if (e) return e;
    *needed = dg_fit_bytes(job) + beside(job);
    if (!fits(room, job)) dg_job_free(job);
    return DG_OK;
}

static dg_job_options with_batch(const dg_job_options *o, int batch)
{
    dg_job_options other = *o;
    other.batch = batch;
    if (!o->rows) other.rows = 2 * batch;
    /* overestimates memory if --drop-last skips this batch */
    other.last_batch = dg_used_images(other.rows, batch, dg_shards_of(o), false) % batch;
    if (other.samples > batch) other.samples = batch;
    if (other.tested > 64 && other.tested > batch) other.tested = batch > 64 ? batch : 64;
    return other;
}

dg_err dg_largest_batch(const dg_model *m, const dg_job_options *o, dg_backend *b, const dg_room *room, int *largest)
{
    const int unit = dg_shards_of(o);     /* batch sizes are multiples of it */
    int lo = 0, hi = o->batch / unit + 1; /* invariant: batch size lo * unit fits in memory, hi * unit does not */
    while (hi - lo > 1) {
        dg_job job;
        size_t needed;
        const int middle = lo + (hi - lo) / 2;
        const dg_job_options half = with_batch(o, middle * unit);
        const dg_err e = dg_build_if_fits(&job, m, &half, b, room, &needed);
        const bool fit = !e && needed <= room->have;
        if (e == DG_DEVICE) return e;
        if (fit) dg_job_free(&job);
        if (fit) lo = middle;
        else hi = middle;
    }
    *largest = lo * unit;
    return DG_OK;
}

dg_err dg_build_to_fit(dg_job *job, const dg_model *m, const dg_job_options *o, dg_backend *b, double most_mb)
{
    dg_room r;
    dg_err e = dg_room_of(b, most_mb, &r);
    if (!e) e = build(job, m, o, b, &r);
    if (e || fits(&r, job)) return e;
    char advice[80];
    snprintf(advice, sizeof advice, "%s", DG_MSG("advice-smaller-model", "no batch size fits; use a smaller model"));
    const double fixed = (double)fixed_bytes(job) / 1e6, images = (double)images_bytes(job) / 1e6;
    char copy[64] = "";
    const double more = (double)beside(job) / 1e6;
    if (more > 0) snprintf(copy, sizeof copy, ", files %.1f", more);
    dg_job_free(job);
    dg_job_options smaller = *o;
    smaller.batch--;
    int batch;
    e = dg_largest_batch(m, &smaller, b, &r, &batch);
    if (e) return e;
    if (batch)
        snprintf(advice, sizeof advice, DG_MSG("advice-largest-batch", "the largest batch that fits is %d"), batch);
    char reserve[80] = "";
    if (most_mb > 0) snprintf(reserve, sizeof reserve, ", limited to %.1f MB by device-memory", (double)r.have / 1e6);
    else if (r.others) snprintf(reserve, sizeof reserve, " (%.1f MB reserved for the driver)", (double)r.others / 1e6);
    dg_memory_limit l = {0};
    if (b->threads) dg_memory_limit_read(&l);
    return dg_fail(DG_DEVICE,
                   DG_MSG("does-not-fit", "{batch} %d: does not fit on %s: needs %.1f MB (network %.1f, dataset "
                                          "%.1f%s), %.1f of %.1f MB free%s%s%s; %s"),
                   o->batch, b->name, fixed + images + more, fixed, images, copy, (double)r.unused / 1e6,
                   (double)r.total / 1e6, l.name[0] ? ", limited by " : "", l.name, reserve, advice);
}
