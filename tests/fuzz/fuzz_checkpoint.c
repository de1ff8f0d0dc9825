/* libFuzzer: checkpoint files. A checkpoint that is accepted generates images, trains for one step and is saved
 * again. */
#include "fuzz.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/precision.h"
#include "host/checkpoint/checkpoint.h"

enum { ROWS = 3, BATCH = 2, MOST_BYTES = 32 << 20 };

FUZZ_MUTATOR(fuzz_mutate_safetensors)

typedef struct {
    const char *path;
    dg_st *st;
    dg_model model;
    dg_checkpoint_info info;
    dg_backend *backend;
    dg_job job;
    void *data, *perm;
} checkpoint;

static dg_backend *backend_of(const char *precision)
{
    static dg_backend *cpu[2];
    const dg_precision *p = dg_precision_find(precision);
    const int wide = p && p->real == DG_F64;
    if (!cpu[wide] && dg_cpu_open(&(dg_cpu_options){.threads = 1, .real = wide ? DG_F64 : DG_F32}, &cpu[wide])) abort();
    return cpu[wide];
}

static dg_err build(checkpoint *c)
{
    static const int32_t order[ROWS] = {2, 0, 1};
    const char *name = dg_st_get(c->st, "optimizer");
    const dg_optimizer k = name ? dg_optimizer_find(name) : DG_ADAM;
    const dg_job_options o = {.batch = BATCH,
                              .last_batch = 1,
                              .samples = 2,
                              .rows = ROWS,
                              .train = true,
                              .beta1 = 0.5,
                              .beta2 = 0.999,
                              .eps = 1e-8,
                              .rho = 0.9,
                              .momentum = k == DG_SGD ? 0.9 : 0,
                              .optimizer = k == DG_OPTIMIZERS ? DG_ADAM : k,
                              .input = c->info.input};
    dg_err e = dg_job_build(&c->job, &c->model, &o, c->backend);
    if (!e && c->info.class_images) e = dg_job_set_classes(&c->job, c->info.class_images);
    if (!e && c->job.arena.bytes > MOST_BYTES) e = DG_FAILED; /* too slow for a fuzz target */
    uint8_t *pixels = NULL, *records = NULL;
    const size_t image = dg_size_values(c->model.size, c->model.channels);
    if (!e && (pixels = malloc(ROWS * image))) memset(pixels, 77, ROWS * image);
    if (!e) e = dg_job_records(&c->job, pixels, NULL, ROWS, &records);
    const size_t bytes = e ? 0 : ROWS * dg_job_record_bytes(&c->job);
    if (!e) e = c->backend->alloc(c->backend, bytes, &c->data);
    if (!e) e = c->backend->put(c->backend, c->data, records, bytes);
    if (!e) e = c->backend->alloc(c->backend, sizeof order, &c->perm);
    if (!e) e = c->backend->put(c->backend, c->perm, order, sizeof order);
    if (!e) e = dg_job_alloc(&c->job, c->data, c->perm);
    if (!e) e = dg_job_init(&c->job, 1);
    free(pixels);
    free(records);
    return e;
}

static void images(checkpoint *c)
{
    const size_t values = 2 * dg_size_values(c->model.size, c->model.channels);
    const int inputs = dg_job_inputs(&c->job);
    float *in = calloc((size_t)inputs * 2, sizeof *in);
    uint8_t *pixels = malloc(values);
    double *x = malloc(values * sizeof *x);
    for (int i = 0; i < 2 * inputs; i++) in[i] = (float)(i % 5 - 2) / 2;
    for (uint64_t i = 0; i < 9 && c->job.class_images; i++)
        FUZZ_HOLDS(c->job.class_images[dg_job_class_of(&c->job, i)] > 0);
    FUZZ_HOLDS(dg_job_generate(&c->job, in, 2, pixels, x) == DG_OK);
    for (size_t i = 0; i < values; i++) FUZZ_HOLDS(isnan(x[i]) || (x[i] >= -1 && x[i] <= 1));
    free(in);
    free(pixels);
    free(x);
}

static void step(checkpoint *c)
{
    dg_step_state s = {.seed = c->info.seed, .step = c->info.step};
    dg_metrics m;
    for (int i = 0; i < DG_NETS_MAX; i++) s.lr[i] = 2e-4;
    FUZZ_HOLDS(dg_job_put_state(&c->job, &s) == DG_OK && dg_job_step(&c->job, BATCH) == DG_OK);
    FUZZ_HOLDS(dg_job_get_metrics(&c->job, c->info.step, 1, &m) == DG_OK);
}

/* True if all values of the job are finite, so that its saved file must be accepted. */
static bool finite_job(checkpoint *c)
{
    bool finite = true;
    for (int i = 0; i < c->job.tensors && finite; i++) {
        const dg_job_tensor *t = &c->job.tensor[i];
        const size_t n = dg_job_tensor_count(t);
        double *v = malloc(n * sizeof *v);
        const int rows[] = {t->row, t->moment1, t->moment2};
        for (int k = 0; k < 3; k++) {
            if (rows[k] < 0) continue;
            FUZZ_HOLDS(v && dg_job_read(&c->job, t, rows[k], DG_F64, v) == DG_OK);
            for (size_t j = 0; j < n; j++) finite &= isfinite(v[j]) != 0;
        }
        free(v);
    }
    return finite;
}

static void save(checkpoint *c)
{
    char path[600];
    static dg_model model;
    dg_snapshot *s = NULL;
    dg_st *st;
    dg_checkpoint_info again;
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", fuzz_folder());
    if (c->info.step >= (uint64_t)1 << 53) return; /* a checkpoint cannot store larger steps */
    c->info.step++;
    const bool whole = finite_job(c);
    FUZZ_HOLDS(dg_snapshot_take(&c->job, &c->info, &s) == DG_OK && dg_snapshot_write(s, NULL, path) == DG_OK);
    const dg_err e = dg_checkpoint_open(path, &st, &model, &again);
    FUZZ_HOLDS(!e == whole);
    if (e) return;
    FUZZ_HOLDS(again.step == c->info.step && !strcmp(model.text, c->model.text));
    FUZZ_HOLDS(!strcmp(again.config, c->info.config));
    dg_checkpoint_info_free(&again);
    dg_st_free(st);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static checkpoint c;
    memset(&c, 0, sizeof c);
    c.path = fuzz_file(0, data, size);
    if (dg_checkpoint_open(c.path, &c.st, &c.model, &c.info)) {
        FUZZ_HOLDS(!c.st && !c.info.config && !strncmp(dg_message(), c.path, strlen(c.path)));
        return 0;
    }
    c.backend = backend_of(c.info.precision);
    if (build(&c) == DG_OK && dg_checkpoint_load(c.st, c.path, &c.job) == DG_OK) {
        if (c.job.plan[DG_PLAN_SAMPLE].ops) images(&c);
        step(&c);
        save(&c);
    }
    dg_job_free(&c.job);
    if (c.data) c.backend->release(c.backend, c.data);
    if (c.perm) c.backend->release(c.backend, c.perm);
    dg_checkpoint_info_free(&c.info);
    dg_st_free(c.st);
    return 0;
}
