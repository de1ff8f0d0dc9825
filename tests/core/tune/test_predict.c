/* Compares predicted times for an invented machine with values computed by hand. Also checks the plausibility of
 * predictions for known GPUs, and the output of `dcgan profile`. */
#include "kernels/fused/predict_plan.h"

#include "core/tune/evidence.h"
#include "host/net/recipe.h"
#include "host/measure/bench.h"
#include "host/net/job.h"
#include "kernels/cuda/planner.h"
#include "program.h"
#include "tests/all_ops.h"
#include "test.h"
#include "core/tune/tune.h"
#include "core/plan/work.h"
#include "kernels/ops/conv/variants.h"

static dg_op conv_op(dg_op_kind kind, int N, int H, int Ci, int Co)
{
    dg_op op = {.kind = kind, .tune = {.variant = &dg_conv_variant_direct}};
    op.u.conv =
        (dg_conv_args){.N = N, .H = H, .W = H, .Ci = Ci, .Ho = H / 2, .Wo = H / 2, .Co = Co, .K = 4, .S = 2, .P = 1};
    return op;
}

static void check_cpu(void)
{
    const dg_machine m = {.all = 100, .triad = 10, .cache = 50, .cache_mb = 1, .launch_us = 3, .units = 2};
    dg_op op = conv_op(DG_OP_conv_fwd, 8, 32, 32, 64);
    const double flops = dg_op_flops(&op);
    dg_prediction p = dg_predict_cpu(&op, 4e6, &m);
    DG_NEAR(p.arithmetic_us, flops / 85e3, 1e-9 * flops);
    DG_NEAR(p.memory_us, 400, 1e-9);
    DG_NEAR(p.launch_us, 3, 0);
    DG_NEAR(dg_predict_cpu(&op, 5e5, &m).memory_us, 10, 1e-9);
    op.tune.variant = &dg_conv_variant_winograd; /* needs 25 products instead of 64, plus the transforms */
    const double filtered = dg_predict_cpu(&op, 4e6, &m).arithmetic_us;
    DG_CHECKF(filtered > 0.4 * p.arithmetic_us && filtered < 0.8 * p.arithmetic_us, "%g us, direct %g us", filtered,
              p.arithmetic_us);
    /* For 3x3 kernels, Winograd's method needs 36 products instead of 144, plus the transforms. */
    op.u.conv.K = 3, op.u.conv.S = 1, op.u.conv.Ho = op.u.conv.Wo = 32;
    const double three = dg_predict_cpu(&op, 4e6, &m).arithmetic_us * 85e3 / dg_op_flops(&op);
    DG_CHECKF(three > 0.3 && three < 0.55, "%g of direct", three);
    /* 4 output phases of 3 channels each fill 12 of the 16 lanes of a vector. */
    dg_op thin = conv_op(DG_OP_conv_dx, 8, 32, 3, 64), wide = conv_op(DG_OP_conv_dx, 8, 32, 16, 64);
    const double each = dg_predict_cpu(&wide, 0, &m).arithmetic_us / dg_op_flops(&wide);
    DG_NEAR(dg_predict_cpu(&thin, 0, &m).arithmetic_us / dg_op_flops(&thin), each * 16 / 12, 1e-9 * each);
    static const struct {
        dg_op_kind kind;
        int Ci, Co;
        double reached; /* fraction of the peak rate */
    } grouped[] = {{DG_OP_group_fwd, 64, 64, 0.9},   {DG_OP_group_dx, 64, 64, 0.9},   {DG_OP_group_dw, 64, 64, 0.6},
                   {DG_OP_group_fwd, 64, 16, 0.225}, {DG_OP_group_dx, 16, 64, 0.225}, {DG_OP_group_dw, 80, 64, 0.375}};
    for (size_t i = 0; i < sizeof grouped / sizeof *grouped; i++) {
        dg_op part = {.kind = grouped[i].kind};
        part.u.group = (dg_group_args){
            .N = 8, .H = 7, .W = 7, .Ci = grouped[i].Ci, .Co = grouped[i].Co, .K = 3, .P = 1, .groups = 4};
        DG_CHECK(!dg_op_info_of(part.kind)->complete(&part));
        DG_NEAR(dg_predict_cpu(&part, 0, &m).arithmetic_us * 1e5 / dg_op_flops(&part), 1 / grouped[i].reached, 1e-9);
    }
}

static void check_gpu(void)
{
    const dg_machine m = {.gpu = true,
                          .arch = 90,
                          .units = 10,
                          .shared = 200 << 10,
                          .all = 1000,
                          .triad = 100,
                          .cache = 400,
                          .cache_mb = 1,
                          .launch_us = 2};
    dg_op op = conv_op(DG_OP_conv_fwd, 10, 16, 32, 64); /* 640 pixels are 10 tiles of 64 pixels */
    op.tune =
        (dg_tune){.variant = &dg_conv_variant_tiled, .tile_m = 64, .tile_n = 64, .stages = 3, .split = 1, .block = 128};
    const dg_prediction ten = dg_predict_gpu(&op, 1e5, &m);
    DG_CHECKF(ten.blocks == 10 && ten.kernels == 1 && ten.launch_us == 2, "%g blocks, %d kernels", ten.blocks,
              ten.kernels);
    /* with one block per multiprocessor, the rate is at least a quarter of the peak rate */
    const double least = dg_op_flops(&op) / 1000 * 1e-3;
    DG_CHECKF(ten.arithmetic_us > least && ten.arithmetic_us < 4 * least, "%g us, %g at the peak", ten.arithmetic_us,
              least);
    op.u.conv.N = 11; /* one multiprocessor gets two blocks, which takes nearly twice the time */
    const dg_prediction eleven = dg_predict_gpu(&op, 1e5, &m);
    DG_CHECKF(eleven.blocks == 11 && eleven.arithmetic_us > 1.5 * ten.arithmetic_us, "%g and %g us",
              eleven.arithmetic_us, ten.arithmetic_us);
    op.u.conv.N = 10;
    op.tune.split = 2;
    DG_CHECK(dg_predict_gpu(&op, 1e5, &m).kernels == 2);
    DG_NEAR(dg_predict_gpu(&op, 9e6, &m).memory_us, (9e6 + dg_work_of(&op, DG_F32).moved) / 1e5, 1e-6);
    op = (dg_op){.kind = DG_OP_act, .tune = {.variant = &dg_vector, .block = 256}};
    op.u.act.n = 1000;
    DG_NEAR(dg_predict_gpu(&op, 5e5, &m).memory_us, 5e5 / 400e3, 1e-9);
    DG_NEAR(dg_predict_gpu(&op, 5e6, &m).memory_us, 5e6 / 100e3, 1e-9);
}

/* The predicted time is 1 to 3 times the time at the peak rate for wgmma, and 3 to 6 times for mma.sync. */
static void check_warpgroups(void)
{
    dg_machine m;
    DG_CHECK(!dg_machine_find("h100", DG_F32, &m));
    static const struct {
        const dg_variant *variant;
        dg_op_kind kind;
        int tile_m, tile_n;
        double least, most; /* bounds of the predicted time divided by the time at the peak rate */
    } tries[] = {{&dg_conv_variant_wgmma, DG_OP_conv_fwd, 128, 64, 1, 2},
                 {&dg_conv_variant_wgmma, DG_OP_conv_dx, 64, 32, 1.6, 3},
                 {&dg_conv_variant_mma, DG_OP_conv_fwd, 128, 64, 3, 6},
                 {&dg_conv_variant_mma, DG_OP_conv_dx, 64, 32, 3, 6}};
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        dg_op op = conv_op(tries[i].kind, 132 * 16, 16, 64, 64);
        op.tune =
            (dg_tune){.variant = tries[i].variant, .tile_m = tries[i].tile_m, .tile_n = tries[i].tile_n, .split = 1};
        const dg_gpu gpu = {90, m.shared, DG_MATH_BF16, tries[i].variant == &dg_conv_variant_wgmma};
        const char *const why = dg_variant_check(&op, &op.tune, DG_F32, &gpu);
        if (!DG_CHECKF(!why, "%s: %s", tries[i].variant->name, why)) continue;
        const double peak = dg_op_flops(&op) / 989e6, us = dg_predict_gpu(&op, 1e5, &m).arithmetic_us;
        DG_CHECKF(us > tries[i].least * peak && us < tries[i].most * peak, "%s %dx%d: %g us, %g at the peak",
                  tries[i].variant->name, tries[i].tile_m, tries[i].tile_n, us, peak);
    }
}

static void check_known(void)
{
    dg_machine m;
    DG_CHECK(!dg_machine_find("h200", DG_F32, &m) && !strcmp(m.name, "NVIDIA H200") && m.arch == 90 && m.units == 132);
    DG_CHECK(!dg_machine_find("RTX-4090", DG_F32, &m) && m.arch == 89);
    DG_CHECK(!dg_machine_find("NVIDIA GeForce RTX 5090", DG_F32, &m) && m.arch == 120);
    DG_CHECK(dg_machine_find("0", DG_F32, &m) == DG_USAGE && strstr(dg_message(), "H200") &&
             strstr(dg_message(), "RTX 5090"));
    DG_CHECK(dg_machine_find("", DG_F32, &m) == DG_USAGE && dg_machine_find("RTX", DG_F32, &m) == DG_USAGE);
    dg_machine twice;
    DG_CHECK(!dg_machine_find("a100", DG_F32, &m) && !dg_machine_find("a100", DG_F64, &twice));
    DG_NEAR(m.all, 2 * twice.all, 1e-6); /* the A100's published rates are 19.5 and 9.7 TFLOP/s */
    DG_NEAR(m.all, 19500, 60);
}

/* Each kind of prediction names its constants and the last prediction that was compared with a measurement. */
static void check_evidence(void)
{
    dg_machine m;
    DG_CHECK(!dg_machine_find("t4", DG_F32, &m) && !strncmp(dg_evidence_of(&m)->measured, "none on this GPU", 16));
    DG_CHECK(!dg_machine_find("h100", DG_F32, &m));
    const dg_evidence *h100 = dg_evidence_of(&m);
    DG_CHECK(strstr(h100->measured, "10 clocks") && h100->fitted && h100->published && h100->assumed);
    for (int i = 0; i < DG_COMPARED; i++) DG_CHECK(h100->compared[i].measured_ms > h100->compared[i].predicted_ms);
    m.source = "measured";
    DG_CHECK(dg_evidence_of(&m) != h100 && !dg_evidence_of(&m)->assumed);
    m.gpu = false;
    DG_CHECK(dg_evidence_of(&m)->compared[0].model && !dg_evidence_of(&m)->fitted);
}

static bool is_trained(const char *name)
{
    static dg_model model;
    return DG_CHECK(dg_model_read(name, &model) == DG_OK) && dg_recipe_find(&model);
}

/* Returns the predicted time of a training step in microseconds. Checks every op's prediction. */
static double step_us(const char *gpu, const char *name, int batch, int *kernels)
{
    static dg_model model;
    dg_machine m;
    dg_backend *b;
    dg_job job;
    dg_bench_model r;
    const dg_job_options o = {.batch = batch, .rows = batch, .train = true};
    if (!DG_CHECKF(!dg_model_read(name, &model) && !dg_machine_find(gpu, DG_F32, &m) &&
                       !dg_planner_open(&m, NULL, 0, &b),
                   "%s", dg_message()))
        return 0;
    if (!DG_CHECKF(!dg_job_build(&job, &model, &o, b), "%s on %s: %s", name, gpu, dg_message())) return 0;
    DG_CHECK(!dg_bench_predict(&r, &m, &job.plan[DG_PLAN_TRAIN], model.name, batch));
    for (int i = 0; i < r.ops; i++) {
        const dg_prediction *p = &r.op[i].predicted;
        DG_CHECKF(p->us >= p->launch_us && p->us < 1e6 && p->launch_us >= m.launch_us && p->kernels >= 1 &&
                      p->memory_us >= 0,
                  "%s on %s: %s: %g us", name, gpu, r.op[i].name, p->us);
    }
    const double us = r.predicted_us;
    *kernels = r.kernels;
    dg_bench_free(&r);
    dg_job_free(&job);
    b->close(b);
    return us;
}

static void check_models(void)
{
    int kernels, more;
    const double w1 = step_us("h200", "dcgan64-paper", 64, &kernels), w2 = step_us("h200", "dcgan64", 128, &more);
    DG_CHECKF(kernels > 82 && kernels < 250, "%d kernels", kernels);
    DG_CHECKF(w1 > 300 && w1 < 5000 && w2 > 4 * w1, "W1 %g us, W2 %g us", w1, w2);
    DG_CHECK(step_us("quadro rtx 6000", "dcgan64-paper", 64, &more) > 2 * w1);
    dg_machine m;
    for (int i = 0; dg_machine_known(i, DG_F32, &m); i++)
        for (int k = 0; dg_model_builtin(k); k++)
            if (is_trained(dg_model_builtin(k))) DG_CHECK(step_us(m.name, dg_model_builtin(k), 32, &more) > 0);
}

static void check_json(const char *program, bool measured)
{
    static char text[1 << 18];
    const char *const here[] = {"profile", "--json", "-q", "--device=cpu", "--repeats=2", "--batch=2", "dcgan32", NULL};
    const char *const there[] = {"profile", "--json", "--predict", "h200", "--batch=2", "dcgan32", NULL};
    DG_CHECK(dg_test_run(program, measured ? here : there, text, sizeof text) == 0);
    cJSON *j = cJSON_Parse(text), *model = cJSON_GetArrayItem(cJSON_GetObjectItem(j, "models"), 0), *op;
    double sum = 0, kernels = 0, all_ms = 0;
    cJSON_ArrayForEach(op, cJSON_GetObjectItem(model, "ops"))
    {
        const cJSON *p = cJSON_GetObjectItem(op, "predicted"), *bound = cJSON_GetObjectItem(p, "bound");
        const double a = dg_test_number(p, "arithmetic_us"), m = dg_test_number(p, "memory_us");
        DG_CHECK(dg_test_number(p, "us") >= dg_test_number(p, "launch_us") + (a > m ? a : m) - 1e-9);
        DG_CHECK(dg_test_number(p, "us") >= dg_test_number(p, "bound_us"));
        DG_CHECK(cJSON_IsString(bound));
        sum += dg_test_number(p, "us");
        kernels += dg_test_number(p, "kernels");
        DG_CHECK(cJSON_HasObjectItem(op, "median_ms") == measured);
        if (measured) all_ms += dg_test_number(op, "median_ms");
    }
    DG_NEAR(dg_test_number(model, "predicted_us"), sum, 1e-6 * sum);
    DG_CHECK(cJSON_HasObjectItem(cJSON_GetObjectItem(j, "constants"), "measured"));
    DG_CHECK(dg_test_number(cJSON_GetArrayItem(cJSON_GetObjectItem(j, "last_predictions"), 0), "measured_ms") > 0);
    DG_CHECK(dg_test_number(model, "kernels") == kernels && sum > 0);
    DG_CHECK(cJSON_HasObjectItem(model, "median_ms") == measured && (!measured || all_ms > 0));
    cJSON_Delete(j);
}

static void check_table(const char *program)
{
    static char text[1 << 18];
    const char *const here[] = {"profile", "-q", "--device=cpu", "--repeats=1", "--batch=2", "dcgan32", NULL};
    DG_CHECK(dg_test_run(program, here, text, sizeof text) == 0);
    DG_CHECK(strstr(text, "bound by") && strstr(text, "D.adam") && strstr(text, "sum of ops") &&
             strstr(text, "the cost model predicts"));
    const char *const there[] = {"profile", "--predict=a100", "dcgan32", NULL};
    DG_CHECK(dg_test_run(program, there, text, sizeof text) == 0);
    DG_CHECK(strstr(text, "bound us") && strstr(text, "all launches") && strstr(text, "by formula"));
    DG_CHECK(strstr(text, "NVIDIA A100") && strstr(text, "dependent kernels") &&
             strstr(text, "nothing was measured on this machine") && !strstr(text, "median us"));
    const char *const unknown[] = {"profile", "--predict=abacus", "dcgan32", NULL};
    DG_CHECK(dg_test_run(program, unknown, text, sizeof text) == DG_USAGE);
}

int main(void)
{
    check_cpu();
    check_gpu();
    check_warpgroups();
    check_known();
    check_evidence();
    check_models();
    const char *program = getenv("DCGAN");
    if (program) {
        check_json(program, true);
        check_json(program, false);
        check_table(program);
    } else dg_test_skip("the program itself: DCGAN is not set to its path");
    return dg_test_report();
}
