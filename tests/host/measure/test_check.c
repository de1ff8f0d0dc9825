/* Tests the lockstep check, which runs two CPU backends op by op. If an element of a result is wrong or NaN, the
 * check must stop at this op and name the element. */
#include "failing.h"

#include "host/measure/check.h"
#include "host/measure/tuner.h"
#include "kernels/ops/conv/variants.h"
#include "machine.h"

enum { ROWS = 9, BATCH = 5, SIDE = 16, FAILURES = 100 };

static const dg_step_state state = {.seed = 3, .lr = {2e-4, 1e-3}};
static dg_model model;
static machine m[2];

static bool up(machine *x, dg_cpu_options cpu)
{
    const dg_job_options training = machine_training(BATCH, ROWS - BATCH, 4, ROWS);
    uint8_t pixels[ROWS * SIDE * SIDE * 3];
    machine_pixels(pixels, sizeof pixels);
    memset(x, 0, sizeof *x);
    x->m = model;
    return machine_begin(x, &cpu, &training, pixels, 7) && DG_CHECK(!dg_job_put_state(&x->g, &state));
}

static struct {
    dg_err (*run_op)(dg_backend *, const dg_op *, double *);
    const dg_op *op;
    int operand;
    size_t at; /* index of the changed element */
    bool nan;
} wrong;

static dg_err run_wrongly(dg_backend *b, const dg_op *op, double *ms)
{
    dg_err e = wrong.run_op(b, op, ms);
    if (e || op != wrong.op) return e;
    const dg_row *r = dg_plan_row(&m[1].g.plan[DG_PLAN_TRAIN], op, wrong.operand);
    unsigned char *row = (unsigned char *)m[1].g.arena.base + r->offset;
    if (r->type == DG_F32) {
        float *v = (float *)(void *)row + wrong.at;
        *v = wrong.nan ? NAN : *v + 1e-4f * fmaxf(fabsf(*v), 1);
    } else if (r->type == DG_F64) {
        double *v = (double *)(void *)row + wrong.at;
        *v = wrong.nan ? (double)NAN : *v + 1e-6;
    } else row[wrong.at] ^= 1;
    return e;
}

/* Returns the index of an element in the middle of the last image, or of a metric of this op. */
static size_t victim(const dg_op *op, const dg_row *r)
{
    if (op->kind == DG_OP_gan_loss && r->kind == DG_STATE) return (size_t)op->u.gan_loss.loss;
    if (op->kind == DG_OP_adam && r->kind == DG_STATE) return (size_t)op->u.adam.bad;
    return dg_count(r->shape) - (dg_count(r->shape) + 2) / 3;
}

/* Writes the name of an element, such as "y[2,3,7,1]". */
static void element_text(char out[128], const char *operand, const dg_row *r, size_t at)
{
    const size_t C = (size_t)r->shape.C, W = (size_t)r->shape.W, H = (size_t)r->shape.H;
    if (r->type != DG_F32 && r->type != DG_F64) snprintf(out, 128, "%s differs", operand);
    else snprintf(out, 128, "%s[%zu,%zu,%zu,%zu]", operand, at / C / W / H, at / C / W % H, at / C % W, at % C);
}

/* Changes element `at` of operand k of op i. The check must report this element. */
static void is_found(int i, int k, size_t at)
{
    const dg_op *op = &m[1].g.plan[DG_PLAN_TRAIN].op[i];
    const dg_row *r = dg_plan_row(&m[1].g.plan[DG_PLAN_TRAIN], op, k);
    dg_check_result result = {.ops = 0};
    char where[128];
    int n;
    element_text(where, dg_operands(op->kind, &n)[k].name, r, at);
    wrong.op = op;
    wrong.operand = k;
    wrong.at = at;
    DG_CHECK(dg_job_put_state(&m[0].g, &state) == DG_OK);
    dg_err e = dg_check_plan(&m[0].g, &m[1].g, "train", NULL, &result);
    DG_CHECKF(e == DG_FAILED, "%s: %s was not noticed", op->name, where);
    DG_CHECKF(strstr(dg_message(), op->name) == dg_message() && strstr(dg_message(), where), "wanted %s, %s: %s",
              op->name, where, dg_message());
    DG_CHECKF(result.ops == i, "%s is op %d of the plan, %d agreed", op->name, i, result.ops);
}

static void wrong_ops_are_found(bool nan)
{
    int tried = 0;
    const dg_plan *p = &m[1].g.plan[DG_PLAN_TRAIN];
    wrong.run_op = m[1].b->run_op;
    wrong.nan = nan;
    m[1].b->run_op = run_wrongly;
    for (int i = 0; i < p->ops; i++) {
        int n;
        const dg_op *op = &p->op[i];
        const dg_operand *list = dg_operands(op->kind, &n);
        for (int k = 0; k < n; k++) {
            const dg_row *r = dg_plan_row(p, op, k);
            if (!r || list[k].role == DG_SCRATCH || !(list[k].role & DG_OUT)) continue;
            if (nan && r->type != DG_F32) continue;
            is_found(i, k, victim(op, r));
            tried++;
        }
    }
    m[1].b->run_op = wrong.run_op;
    DG_CHECKF(tried > (nan ? 60 : 70), "only %d results tried", tried);
}

static dg_err run_nothing(dg_backend *b, const dg_op *op, double *ms)
{
    return op->kind == DG_OP_advance ? DG_OK : wrong.run_op(b, op, ms);
}

/* Each of the first allocations fails once. */
static void memory_runs_out(void)
{
#if DG_FAILING
    dg_check_result result = {.ops = 0};
    for (long k = 1; k <= FAILURES; k++) {
        DG_CHECK(dg_job_put_state(&m[0].g, &state) == DG_OK);
        arm(MEMORY, k, false);
        const dg_err e = dg_check_plan(&m[0].g, &m[1].g, "train", NULL, &result);
        DG_CHECKF(disarm() && e == DG_DEVICE && strstr(dg_message(), "out of memory"), "allocation %ld: %d", k, (int)e);
    }
#endif
}

static void equal_backends_agree(dg_type real)
{
    const dg_cpu_options reference = {.threads = 1, .real = real, .conv = &dg_conv_variant_direct, .isa = "base"};
    const dg_cpu_options best = {.threads = 3, .real = real};
    if (!up(&m[0], reference) || !up(&m[1], best)) return;
    static const char *const plan[] = {"train", "train-short", "sample"};
    dg_check_result result = {.ops = 0};
    for (int i = 0; i < 3; i++)
        DG_CHECKF(dg_check_plan(&m[0].g, &m[1].g, plan[i], NULL, &result) == DG_OK, "%s: %s", plan[i], dg_message());
    DG_CHECK(result.ops == 2 * m[0].g.plan[DG_PLAN_TRAIN].ops + m[0].g.plan[DG_PLAN_SAMPLE].ops);
    /* with only the base instruction set, both backends run the same kernels */
    const bool same = strstr(m[1].b->name, "base") != NULL;
    DG_CHECK(result.worst < 0.75 && (same || (result.worst > 0 && *result.where)));
    DG_CHECK(dg_check_plan(&m[0].g, &m[1].g, "none", NULL, &result) == DG_FAILED);

    /* both jobs are now at step 1 */
    dg_step_state s[2];
    for (int i = 0; i < 2; i++)
        DG_CHECK(m[i].b->get(m[i].b, &s[i], dg_job_memory(&m[i].g, m[i].g.row[DG_ROW_STATE]), sizeof s[i]) == DG_OK);
    DG_CHECK(s[0].step == 2 && s[0].cursor == ROWS && !memcmp(&s[0], &s[1], sizeof s[0]));
    if (real == DG_F32) {
        wrong_ops_are_found(false);
        wrong_ops_are_found(true);
        DG_CHECK(dg_job_put_state(&m[0].g, &state) == DG_OK);
        m[1].b->run_op = run_nothing;
        DG_CHECK(dg_check_plan(&m[0].g, &m[1].g, "train", NULL, &result) == DG_FAILED);
        DG_CHECK(strstr(dg_message(), "advance") == dg_message());
        m[1].b->run_op = wrong.run_op;
        memory_runs_out();
    }
    machine_down(&m[0]);
    machine_down(&m[1]);
}

/* For each image, the derivative of D along its own gradient must equal the gradient's squared norm. */
static void penalty_identity(void)
{
    static machine x;
    static char text[DG_MODEL_TEXT_MAX], none[DG_MODEL_TEXT_MAX];
    uint8_t pixels[ROWS * SIDE * SIDE * 3];
    dg_job_options o = machine_training(BATCH, ROWS - BATCH, 4, ROWS);
    double worst;
    o.r1 = 1, o.apart = true;
    machine_pixels(pixels, sizeof pixels);
    for (int k = 0; k < 2; k++) {
        memset(&x, 0, sizeof x);
        if (!DG_CHECK(!dg_model_stock(text, "tiny", dg_square(SIDE), 3, 10, 5, 3) &&
                      !dg_model_norm_d(text, "tiny", DG_NORM_NONE, none) && !dg_model_parse(none, "tiny", &x.m)))
            return;
        const dg_cpu_options cpu = {.threads = 2, .real = k ? DG_F64 : DG_F32};
        if (!machine_begin(&x, &cpu, &o, pixels, 7)) return;
        DG_CHECK(!dg_job_put_state(&x.g, &state) && !dg_job_step(&x.g, BATCH));
        DG_CHECKF(!dg_check_penalty(&x.g, DG_PLAN_TRAIN, &worst) && worst > 0, "%s", dg_message());
#if DG_FAILING
        arm(MEMORY, 1, false);
        DG_CHECKF(dg_check_penalty(&x.g, DG_PLAN_TRAIN, &worst) == DG_DEVICE && disarm(), "%s", dg_message());
#endif
        void *squares = dg_job_memory(&x.g, x.g.squares[DG_PLAN_TRAIN]);
        if (k) ((double *)squares)[2 * BATCH - 1] *= 1 + 1e-11;
        else ((float *)squares)[2 * BATCH - 1] *= 1.001f;
        DG_CHECK(dg_check_penalty(&x.g, DG_PLAN_TRAIN, &worst) == DG_FAILED);
        DG_CHECKF(strstr(dg_message(), "squared norm"), "%s", dg_message());
        if (k) ((double *)squares)[2 * BATCH - 1] = (double)NAN;
        else ((float *)squares)[2 * BATCH - 1] = NAN;
        DG_CHECK(dg_check_penalty(&x.g, DG_PLAN_TRAIN, &worst) == DG_FAILED && isinf(worst));
        machine_down(&x);
    }
}

/* `dcgan tune` refuses a CPU before it builds a job; the tuner does, too. */
static void cpu_is_not_tuned(void)
{
    dg_backend *b;
    dg_trial t;
    dg_tuner_result result;
    if (!DG_WORKS(dg_cpu_open(&(dg_cpu_options){.threads = 1}, &b))) return;
    DG_WORKS(dg_trial_open(&t, &model, 2, b));
    DG_REFUSED(dg_tuner_run(&t, &(dg_tuner_options){.repeats = 1}, &result), DG_USAGE, "CUDA");
    dg_trial_close(&t);
    b->close(b);
}

int main(void)
{
    penalty_identity();
    static char text[DG_MODEL_TEXT_MAX];
    dg_err e = dg_model_stock(text, "tiny", dg_square(SIDE), 3, 10, 5, 3);
    if (!e) e = dg_model_parse(text, "tiny", &model);
    if (!DG_WORKS(e)) return dg_test_report();
    equal_backends_agree(DG_F32);
    equal_backends_agree(DG_F64);
    cpu_is_not_tuned();
    return dg_test_report();
}
