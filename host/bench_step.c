/* Training steps against the clock. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "gan.h"

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* One batch of random bytes is the whole data set; every step reads it from the start. */
static dg_err make_data(dg_backend *b, size_t bytes, int rows, void **data, void **perm)
{
    uint8_t *pixels = malloc(bytes);
    int32_t *order = malloc((size_t)rows * sizeof *order);
    dg_err e = DG_OK;
    if (pixels && order) {
        for (size_t i = 0; i < bytes; i += 16) {
            uint32_t word[4];
            dg_philox(word, 1, dg_subsequence(DG_STREAM_SYNTH, 0), i / 16);
            memcpy(pixels + i, word, bytes - i < 16 ? bytes - i : 16);
        }
        for (int i = 0; i < rows; i++) order[i] = i;
        e = b->alloc(b, bytes, data);
        if (!e) e = b->alloc(b, (size_t)rows * sizeof *order, perm);
        if (!e) e = b->put(b, *data, pixels, bytes);
        if (!e) e = b->put(b, *perm, order, (size_t)rows * sizeof *order);
    } else
        e = dg_fail(DG_DEVICE, "out of memory for a batch of pictures");
    free(pixels);
    free(order);
    return e;
}

static dg_err rewind_to(dg_gan *gan, uint64_t step)
{
    dg_step_state s = {.seed = 1, .step = step, .lr = {2e-4, 2e-4}};
    return dg_gan_put_state(gan, &s);
}

/* A step is worth timing only if it computes. */
static dg_err check(dg_gan *gan, uint64_t step)
{
    dg_metrics m;
    dg_err e = dg_gan_get_metrics(gan, step, 1, &m);
    if (e) return e;
    for (int i = 0; i < DG_METRICS; i++)
        if (!isfinite(m.value[i]) || ((i == DG_BAD_G || i == DG_BAD_D) && m.value[i] != 0))
            return dg_fail(DG_NUMBERS, "%s: step %llu computes numbers that are not finite", gan->model.name,
                           (unsigned long long)step);
    return DG_OK;
}

static dg_err whole_step(dg_gan *gan, uint64_t *step, double *ms)
{
    dg_err e = rewind_to(gan, *step);
    if (e) return e;
    double start = now_ms();
    e = dg_gan_step(gan, gan->o.batch);
    if (!e) e = gan->backend->sync(gan->backend);
    *ms = now_ms() - start;
    return e ? e : check(gan, (*step)++);
}

static dg_err step_by_ops(dg_gan *gan, dg_bench_model *r, uint64_t *step)
{
    dg_err e = rewind_to(gan, *step);
    for (int i = 0; i < r->ops && !e; i++) {
        double ms;
        e = gan->backend->run_op(gan->backend, &gan->train.op[i], &ms);
        if (!e) dg_timing_add(&r->op[i].ms, ms);
    }
    return e ? e : check(gan, (*step)++);
}

static dg_err describe(dg_bench_model *r, const dg_gan *gan)
{
    r->ops = gan->train.ops;
    r->op = calloc((size_t)r->ops, sizeof *r->op);
    if (!r->op) return dg_fail(DG_DEVICE, "out of memory for the table of ops");
    for (int i = 0; i < r->ops; i++) {
        const dg_op *op = &gan->train.op[i];
        dg_bench_op *o = &r->op[i];
        memcpy(o->name, op->name, sizeof o->name);
        o->kind = dg_op_kind_name(op->kind);
        o->variant = op->tune.variant ? op->tune.variant : "";
        o->flops = dg_op_flops(op);
        o->bytes = dg_op_bytes(&gan->train, op);
        r->flops += o->flops;
    }
    return DG_OK;
}

dg_err dg_bench_measure(dg_bench_model *r, dg_machine *m, const dg_model *model, int batch, int rounds, dg_backend *b)
{
    enum { WARM = 2 };
    *r = (dg_bench_model){.batch = batch};
    memcpy(r->model, model->name, sizeof r->model);
    dg_gan_options o = {.batch = batch, .rows = batch, .train = true, .beta1 = 0.5, .beta2 = 0.999, .eps = 1e-8};
    void *data = NULL, *perm = NULL;
    uint64_t step = 0;
    double ms = 0;
    dg_gan gan;
    dg_err e = dg_gan_build(&gan, model, &o, b);
    if (e) return e;
    e = describe(r, &gan);
    if (!e)
        e = make_data(b, (size_t)batch * (size_t)model->size * (size_t)model->size * (size_t)model->channels, batch,
                      &data, &perm);
    if (!e) e = dg_gan_alloc(&gan, data, perm);
    if (!e) e = dg_gan_init(&gan, 1);
    for (int i = 0; i < WARM && !e; i++) e = whole_step(&gan, &step, &ms);
    for (int i = 0; i < rounds && !e; i++) {
        dg_machine_peak(m, b);
        e = whole_step(&gan, &step, &ms);
        if (!e) dg_timing_add(&r->step, ms);
        if (!e) e = step_by_ops(&gan, r, &step);
    }
    dg_gan_free(&gan);
    if (data) b->release(b, data);
    if (perm) b->release(b, perm);
    return e;
}

void dg_bench_free(dg_bench_model *r) { free(r->op); }
