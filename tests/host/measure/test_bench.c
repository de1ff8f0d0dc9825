/* Tests numbers and output of `dcgan bench` and `dcgan profile`. */
#include "host/measure/bench.h"

#include "core/plan/plan.h"
#include "program.h"
#include "reference.h"
#include "test.h"

static void check_timing(void)
{
    dg_timing t = {0};
    DG_CHECK(dg_timing_median(&t) == 0);
    dg_timing_add(&t, 5);
    DG_CHECK(dg_timing_median(&t) == 5 && t.best == 5);
    dg_timing_add(&t, 1);
    DG_CHECK(dg_timing_median(&t) == 3 && t.best == 1);
    dg_timing_add(&t, 100);
    DG_CHECK(dg_timing_median(&t) == 5 && t.n == 3);
    for (int i = 0; i < 200; i++) dg_timing_add(&t, 7); /* old times do not affect the median */
    DG_CHECK(dg_timing_median(&t) == 7 && t.best == 1 && t.n == 203);
}

/* The backend's own functions, which the test replaces by functions that make the loss NaN. */
static dg_err (*right_run)(dg_backend *, struct dg_plan *);
static dg_err (*right_time)(dg_backend *, struct dg_plan *, double *);

static void spoil(const dg_plan *p)
{
    for (int i = 0; i < p->ops; i++) {
        const dg_gan_loss_args *a = &p->op[i].u.gan_loss;
        /* op `advance` has already incremented the step */
        if (p->op[i].kind == DG_OP_gan_loss) a->ring[(a->state->step - 1) % DG_RING].value[a->loss] = NAN;
    }
}

static dg_err wrong_run(dg_backend *b, struct dg_plan *p)
{
    dg_err e = right_run(b, p);
    spoil(p);
    return e;
}

static dg_err wrong_time(dg_backend *b, struct dg_plan *p, double *ms)
{
    dg_err e = right_time(b, p, ms);
    spoil(p);
    return e;
}

static void check_numbers(dg_backend *b, const dg_model *model)
{
    dg_machine m = {0};
    dg_bench_model r;
    right_run = b->run;
    right_time = b->time_plan;
    b->run = wrong_run;
    DG_CHECK(dg_bench_measure(&r, &m, model, 2, 1, b) == DG_NUMBERS);
    dg_bench_free(&r);
    b->run = right_run;
    b->time_plan = wrong_time;
    DG_CHECK(dg_bench_measure(&r, &m, model, 2, 1, b) == DG_NUMBERS);
    dg_bench_free(&r);
    b->time_plan = right_time;
}

static void check_step(dg_backend *b)
{
    dg_model *model = malloc(sizeof *model);
    dg_machine m = {0};
    dg_bench_model r;
    if (!model || dg_model_read("dcgan32", model)) exit(1);
    dg_busy load;
    dg_busy_start(&load);
    DG_WORKS(dg_bench_measure(&r, &m, model, 2, 3, b));
    DG_CHECKF(m.all > 0.1 && m.all < 1e6, "peak %g", m.all);
    DG_CHECK(r.batch == 2 && r.step.n == 3 && r.step.best > 0 && r.step.best <= dg_timing_median(&r.step));
    double flops = 0, convolutions = 0;
    for (int i = 0; i < r.ops; i++) {
        DG_CHECKF(r.op[i].ms.n == 3 && r.op[i].ms.best >= 0 && *r.op[i].name, "op %d", i);
        flops += r.op[i].flops;
        if (!strncmp(r.op[i].kind, "conv", 4)) convolutions += r.op[i].flops;
    }
    DG_CHECK(r.ops > 40 && flops == r.flops && convolutions > 0.9 * flops && r.kernels == r.ops && r.in_flight >= 1);
    DG_CHECK(dg_machine_measure(&m, b, 1) == DG_OK);
    DG_CHECKF(m.one > 0 && m.triad > 0 && m.cache > 0 && m.launch_us > 0 && m.cache_mb > 0 && m.units == b->threads &&
                  !m.gpu,
              "one %g, triad %g, cache %g in %g MB, launch %g us", m.one, m.triad, m.cache, m.cache_mb, m.launch_us);
    double foreign = dg_busy_foreign(&load);
    DG_CHECKF(foreign == -1 || (foreign >= 0 && foreign < 4096), "%g cores", foreign);
    dg_bench_free(&r);
    DG_CHECK(dg_bench_measure(&r, &m, model, 1 << 20, 1, b) == DG_USAGE);
    dg_bench_free(&r);
    check_numbers(b, model);
    free(model);
}

static void check_json(const char *program)
{
    static char text[1 << 18];
    const char *const json[] = {"bench",   "--json",        "-q", "--repeats=2", "--batch=2", "--threads=2",
                                "dcgan32", "dcgan64-paper", NULL};
    const char *const names[] = {"dcgan32", "dcgan64-paper"};
    int which = 0;
    DG_CHECK(dg_test_run(program, json, text, sizeof text) == 0);
    cJSON *j = cJSON_Parse(text), *model;
    DG_CHECK(j != NULL);
    double peak = dg_test_number(cJSON_GetObjectItem(j, "fma_peak_gflops"), "all_threads");
    DG_CHECK(peak > 0 && dg_test_number(cJSON_GetObjectItem(j, "memory_gb_per_s"), "triad") > 0);
    DG_CHECK(dg_test_number(cJSON_GetObjectItem(j, "memory_gb_per_s"), "read") > 0 &&
             dg_test_number(j, "threads") == 2);
    cJSON *models = cJSON_GetObjectItem(j, "models");
    DG_CHECK(cJSON_GetArraySize(models) == 2);
    cJSON_ArrayForEach(model, models)
    {
        const cJSON *name = cJSON_GetObjectItem(model, "model");
        DG_CHECK(cJSON_IsString(name) && strcmp(name->valuestring, names[which++ & 1]) == 0);
        double ms = dg_test_number(model, "median_ms"), gflops = dg_test_number(model, "gflops"), parts = 0;
        DG_NEAR(dg_test_number(model, "images_per_s") * ms / 2000, 1, 1e-9);
        DG_NEAR(dg_test_number(model, "gflop") / ms * 1e3 / gflops, 1, 1e-9);
        DG_NEAR(dg_test_number(model, "percent_of_peak") * peak / 100 / gflops, 1, 1e-9);
        cJSON *op;
        cJSON_ArrayForEach(op, cJSON_GetObjectItem(model, "ops")) parts += dg_test_number(op, "gflop");
        DG_NEAR(parts / dg_test_number(model, "gflop"), 1, 1e-9);
    }
    cJSON_Delete(j);
    const char *const table[] = {"bench", "-q", "--repeats=2", "--batch=2", "dcgan32", NULL};
    DG_CHECK(dg_test_run(program, table, text, sizeof text) == 0);
    DG_CHECK(strstr(text, "FMA peak") && strstr(text, "GB/s triad"));
    /* the table has one row per kind of op */
    DG_CHECK(strstr(text, "\nconv_dw ") && strstr(text, "\nadam ") && !strstr(text, "D.adam"));
    DG_CHECK(strstr(text, "% of the FMA peak above") && strstr(text, "images/s"));
    const char *const unknown[] = {"bench", "-q", "--repeats=1", "no-such-model", NULL};
    DG_CHECK(dg_test_run(program, unknown, text, sizeof text) == DG_USAGE);
}

int main(void)
{
    dg_backend *b;
    check_timing();
    DG_CHECK(dg_case_open(0, 2, &b));
    check_step(b);
    b->close(b);
    const char *program = getenv("DCGAN");
    if (program) check_json(program);
    else dg_test_skip("the program itself: DCGAN is not set to its path");
    return dg_test_report();
}
