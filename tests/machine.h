/* A training job on a CPU backend, with a dataset on the device and random initial weights. */
#pragma once

#include "core/base/rng.h"
#include "host/net/job.h"
#include "test.h"

typedef struct {
    dg_backend *b;
    dg_model m;
    dg_job g;
    void *data, *perm;
} machine;

static inline void machine_down(machine *x)
{
    dg_job_free(&x->g);
    if (x->data) x->b->release(x->b, x->data);
    if (x->perm) x->b->release(x->b, x->perm);
    if (x->b) x->b->close(x->b);
    memset(x, 0, sizeof *x);
}

static inline void machine_pixels(uint8_t *out, size_t bytes)
{
    unsigned long long s = 5;
    for (size_t i = 0; i < bytes; i++) out[i] = (uint8_t)(127.5 + 127 * dg_test_random(&s));
}

static inline dg_job_options machine_training(int batch, int last_batch, int samples, int rows)
{
    dg_job_options o;
    memset(&o, 0, sizeof o);
    o.batch = batch, o.last_batch = last_batch;
    o.samples = samples, o.rows = rows;
    o.train = o.flip = true;
    o.beta1 = 0.5, o.beta2 = 0.999, o.eps = 1e-8;
    return o;
}

/* Builds a training job of model x->m and permutes its o->rows dataset records. If `records` is NULL, the records are
 * not initialised. Returns false if a check failed. */
static inline bool machine_begin(machine *x, const dg_cpu_options *cpu, const dg_job_options *o, const void *records,
                                 uint64_t seed)
{
    int32_t perm[32];
    bool ok = o->rows <= 32 && !dg_cpu_open(cpu, &x->b) && !dg_job_build(&x->g, &x->m, o, x->b);
    if (ok && o->rows) {
        const size_t bytes = (size_t)o->rows * dg_job_record_bytes(&x->g), places = (size_t)o->rows * sizeof *perm;
        dg_permutation(perm, o->rows, 3, 0);
        ok = !x->b->alloc(x->b, bytes, &x->data) && (!records || !x->b->put(x->b, x->data, records, bytes)) &&
             !x->b->alloc(x->b, places, &x->perm) && !x->b->put(x->b, x->perm, perm, places);
    }
    ok = ok && !dg_job_alloc(&x->g, (const uint8_t *)x->data, (const int32_t *)x->perm) && !dg_job_init(&x->g, seed);
    DG_CHECKF(ok, "%s", dg_message());
    if (!ok) machine_down(x);
    return ok;
}
