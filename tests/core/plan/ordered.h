/* A CPU backend that plans for a GPU and runs the ops in an order that the test selects. Training must give equal
 * bits in every order that the plan permits. */
#pragma once

#include "core/plan/fusions.h"
#include "core/tune/tune.h"
#include "kernels/ops/conv/variants.h"
#include "host/net/job.h"
#include "core/base/rng.h"
#include "test.h"

typedef struct {
    dg_backend b; /* first member, because a dg_backend pointer is cast to this struct */
    dg_backend *cpu;
    dg_err (*fuse)(dg_backend *, dg_plan *);
    dg_err (*run)(dg_backend *, dg_plan *); /* runs the ops of a plan, or NULL for plan order */
    unsigned what;                          /* DG_FUSE_... flags */
    int fused;
    unsigned long long random;
    bool penalised; /* trains a discriminator without norm and with gradient penalties */
} ordered;

enum { ORDERED_ROWS = 8, ORDERED_BATCH = 4 };
static const dg_gpu ordered_gpu = {.arch = 90, .shared = 227 * 1024, .math = DG_MATH_BF16};

static const char *ordered_choose(dg_backend *b, dg_op *op)
{
    (void)b;
    return dg_variant_choose(op, &op->tune, DG_F32, &ordered_gpu);
}
static dg_backend *its_cpu(dg_backend *b) { return ((ordered *)b)->cpu; }
static size_t ordered_scratch(dg_backend *b, const dg_op *op) { return its_cpu(b)->scratch(its_cpu(b), op); }
static dg_err ordered_alloc(dg_backend *b, size_t n, void **mem) { return its_cpu(b)->alloc(its_cpu(b), n, mem); }
static void ordered_release(dg_backend *b, void *mem) { its_cpu(b)->release(its_cpu(b), mem); }
static dg_err ordered_put(dg_backend *b, void *to, const void *from, size_t n)
{
    return its_cpu(b)->put(its_cpu(b), to, from, n);
}
static dg_err ordered_get(dg_backend *b, void *to, const void *from, size_t n)
{
    return its_cpu(b)->get(its_cpu(b), to, from, n);
}
static dg_err ordered_run(dg_backend *b, dg_plan *p) { return its_cpu(b)->run(its_cpu(b), p); }

/* Checks that the CPU can run every op of a plan for a GPU. */
static dg_err ordered_for_cpu(ordered *o, dg_plan *p)
{
    for (int i = 0; i < p->ops; i++)
        if (o->cpu->refuses(o->cpu, &p->op[i])) return dg_fail(DG_FAILED, "%s", p->op[i].name);
    return DG_OK;
}

static bool ordered_open(ordered *o)
{
    return DG_WORKS(
        dg_cpu_open(&(dg_cpu_options){.threads = 1, .real = DG_F32, .conv = &dg_conv_variant_direct}, &o->cpu));
}

/* Returns a checksum of all persistent tensors after two training steps. */
static uint64_t ordered_train(ordered *o)
{
    static char text[DG_MODEL_TEXT_MAX], none[DG_MODEL_TEXT_MAX];
    static dg_model m;
    static uint8_t pixels[ORDERED_ROWS * 16 * 16 * 3];
    int32_t perm[ORDERED_ROWS];
    unsigned long long seed = 5;
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(127.5 + 127 * dg_test_random(&seed));
    dg_permutation(perm, ORDERED_ROWS, 3, 0);
    o->b = (dg_backend){.real = DG_F32,
                        .threads = 1,
                        .alloc = ordered_alloc,
                        .release = ordered_release,
                        .put = ordered_put,
                        .get = ordered_get,
                        .refuses = ordered_choose,
                        .scratch = ordered_scratch,
                        .fuse = o->fuse,
                        .run = o->run ? o->run : ordered_run};
    dg_job g;
    const dg_job_options options = {.batch = ORDERED_BATCH,
                                    .samples = 2,
                                    .rows = ORDERED_ROWS,
                                    .train = true,
                                    .flip = true,
                                    .r1 = o->penalised ? 2 : 0,
                                    .beta1 = 0.5,
                                    .beta2 = 0.9,
                                    .eps = 1e-8};
    uint64_t sum = 14695981039346656037u;
    bool ok = !dg_model_stock(text, "wide", dg_square(16), 3, 10, 16, 16) &&
              !dg_model_norm_d(text, "wide", DG_NORM_NONE, none) &&
              !dg_model_parse(o->penalised ? none : text, "wide", &m) && !dg_job_build(&g, &m, &options, &o->b);
    if (!DG_CHECKF(ok, "%s", dg_message())) return 0;
    DG_CHECK(!dg_job_alloc(&g, pixels, perm) && !dg_job_init(&g, 7));
    const dg_step_state s = {.seed = 3, .lr = {2e-4, 2e-4}};
    DG_CHECK(!dg_job_put_state(&g, &s) && !dg_job_step(&g, ORDERED_BATCH) && !dg_job_step(&g, ORDERED_BATCH));
    for (int i = 0; i < g.arena.rows; i++) {
        const dg_row *r = &g.arena.row[i];
        if (r->kind > DG_BUFFER && strcmp(r->name, "metrics") != 0) continue;
        const uint8_t *byte = (const uint8_t *)g.arena.base + r->offset;
        for (size_t k = 0; k < r->bytes; k++) sum = (sum ^ byte[k]) * 1099511628211u;
    }
    dg_job_free(&g);
    return sum;
}
