/* Calls every launcher that nvcc compiled, without a GPU. Every variant of each op with every tile, and every fused
 * launch, must return an error that names its op. In templates, nvcc silently turns a host function's call of a device
 * function into exit(1). Only running the code detects such calls. */
#include <set>
#include <string>

#include "kernels/cuda/cuda_internal.cuh"
#include "kernels/fused/fuse.cuh"
#include "tests/op_shape.h"
#include "tests/test.h"
extern "C" {
#include "host/net/job.h"
#include "host/net/model.h"
#include "kernels/cuda/planner.h"
#include "core/plan/precision.h"
#include "kernels/ops/conv/variants.h"
}

static gpu nowhere; /* a CUDA backend with only the members that launches use */
static std::string doing;
static std::set<std::string> done; /* launches that have returned, such as "conv_fwd mma bf16" */
static std::set<std::string> seen;
static int calls;

static void say_where()
{
    if (!doing.empty()) printf("FAILED: the process was ended by %s\n", doing.c_str());
}

static std::string precision(dg_math math) { return dg_precision_name(nowhere.base.real, math); }

static std::string text_of(const dg_op *op, const dg_gpu *g)
{
    char row[240];
    dg_tune_text(row, sizeof row, op, &op->tune);
    return row + (", " + precision(op->tune.math)) + ", sm_" + std::to_string(g->arch);
}

static void must_refuse(dg_err e, const char *op)
{
    calls++;
    const char *said = e ? dg_message() : "";
    DG_CHECKF(e == DG_DEVICE && strstr(said, op), "%s came back with %d: %s", doing.c_str(), (int)e, said);
    doing.clear();
}

static void every_choice(const dg_op *shape, const dg_gpu *g)
{
    static dg_tune list[DG_VARIANT_LIST];
    dg_op op = *shape;
    op.tune = dg_tune();
    if (!seen.insert(text_of(&op, g) + precision(g->math)).second) return;
    const int n = dg_variant_list(&op, list, DG_VARIANT_LIST, nowhere.base.real, g);
    DG_CHECKF(n > 0 && n < DG_VARIANT_LIST, "%s: %d choices", op.name, n);
    for (int i = 0; i < n; i++) {
        op.tune = list[i];
        if (op.tune.split > 4) continue; /* larger splits run the same code */
        doing = text_of(&op, g);
        if (!seen.insert(doing).second) continue;
        must_refuse(dg_gpu_enqueue(&nowhere, &op, nullptr), op.name);
        done.insert(dg_op_kind_name(op.kind) + (" " + std::string(op.tune.variant->name)) + " " +
                    precision(op.tune.math));
    }
}

static void fused_piece(dg_plan *p, int i, const dg_gpu *g)
{
    const dg_launch *l = &p->launch[i];
    const dg_op *op = &p->op[l->main];
    const std::string math = precision(g->math), kind = std::string("fused ") + dg_op_kind_name(op->kind) + " ";
    doing = "fused " + text_of(op, g) + ", launch " + std::to_string(i) + " of " + p->name;
    must_refuse(dg_gpu_enqueue_piece(&nowhere, p, i, nullptr), op->name);
    if (l->kind == DG_LAUNCH_HEAD) done.insert("fused head");
    if (l->kind == DG_LAUNCH_UPDATE) done.insert("fused update " + math);
    if (l->kind != DG_LAUNCH_CONV) return;
    const bool dense = dg_fused_family_of(op->kind, &op->u.conv, &op->tune) == DG_FUSED_DENSE;
    done.insert(dense ? kind + "dense" : kind + op->tune.variant->name + " " + math);
}

static void every_fused_choice(dg_plan *p, int i, const dg_gpu *g)
{
    static dg_tune list[DG_VARIANT_LIST];
    const dg_launch *l = &p->launch[i];
    dg_op *op = &p->op[l->main];
    fused_piece(p, i, g);
    if (l->kind != DG_LAUNCH_CONV) return;
    const dg_tune chosen = op->tune;
    const dg_fused_conv f = dg_fused_conv_of(p, l);
    const int n = dg_variant_list(op, list, DG_VARIANT_LIST, DG_F32, g);
    for (int k = 0; k < n; k++) {
        if (list[k].split > 2 || dg_fused_conv_refuses(op->kind, &f, &list[k], g)) continue;
        op->tune = list[k];
        fused_piece(p, i, g);
    }
    op->tune = chosen;
}

/* Launches all ops of a model's plans, unfused and fused, as planned for GPU m. */
static void every_plan(const dg_model *model, const dg_machine *m)
{
    const dg_gpu g = {m->arch, m->shared, m->math, m->arch == 90};
    dg_job_options o = {};
    o.batch = o.rows = 6;
    o.last_batch = 2;
    o.samples = 4;
    o.train = o.flip = true;
    o.beta1 = 0.5;
    o.beta2 = 0.999;
    o.eps = 1e-8;
    for (unsigned fuse : {(unsigned)DG_FUSE_NONE, (unsigned)DG_FUSE_ALL}) {
        dg_backend *b;
        dg_job job;
        if (!DG_CHECKF(!dg_planner_open(m, nullptr, fuse, &b), "%s", dg_message())) return;
        if (!DG_CHECKF(!dg_job_build(&job, model, &o, b), "%s", dg_message())) return b->close(b);
        nowhere.base.real = m->real;
        dg_plan *const plans[] = {&job.plan[DG_PLAN_TRAIN], &job.plan[DG_PLAN_TRAIN_SHORT], &job.plan[DG_PLAN_SAMPLE]};
        for (dg_plan *p : plans) {
            for (int i = 0; i < p->ops && !fuse; i++) every_choice(&p->op[i], &g);
            for (int i = 0; i < p->launches && fuse; i++) every_fused_choice(p, i, &g);
        }
        dg_job_free(&job);
        b->close(b);
    }
}

static void every_precision(const dg_model *model)
{
    static const struct {
        const char *arch;
        dg_type real;
        dg_math math;
    } on[] = {{"sm_90", DG_F32, DG_MATH_FP32}, {"sm_90", DG_F32, DG_MATH_BF16}, {"sm_90", DG_F32, DG_MATH_FP16},
              {"sm_80", DG_F32, DG_MATH_BF16}, {"sm_75", DG_F32, DG_MATH_FP16}, {"sm_90", DG_F64, DG_MATH_FP32}};
    for (const auto &p : on) {
        dg_machine m;
        if (!DG_CHECKF(!dg_machine_arch(p.arch, p.real, &m), "%s", dg_message())) continue;
        m.math = p.math;
        every_plan(model, &m);
    }
}

/* Launches each op except convolutions, including ops that the tested models do not use. */
static void every_op()
{
    const dg_gpu g = {90, 232448, DG_MATH_FP32, true};
    for (dg_type real : {DG_F32, DG_F64})
        for (int kind = DG_OP_conv_dw + 1; kind < DG_OP_KINDS; kind++) {
            dg_op op;
            nowhere.base.real = real;
            DG_CHECK(!shape_any(&op, (dg_op_kind)kind, &op));
            snprintf(op.name, sizeof op.name, "op %d", kind);
            every_choice(&op, &g);
        }
}

static void odd_kernel(dg_op_kind kind, int K, int S, int split, const dg_gpu *g)
{
    const int side = (8 - 1) / S + 1;
    dg_op op = {};
    op.kind = kind;
    op.u.conv = dg_conv_args{&op, &op, &op, &op, 9, 8, 8, 32, side, side, 48, K, S, K / 2, 0, 0, 0};
    op.tune.variant = &dg_conv_variant_mma_odd;
    op.tune.split = split;
    snprintf(op.name, sizeof op.name, "kernel of %d", K);
    const char *why = dg_variant_check(&op, &op.tune, DG_F32, g);
    if (!DG_CHECKF(!why, "%s", why)) return;
    doing = text_of(&op, g);
    must_refuse(dg_gpu_enqueue(&nowhere, &op, nullptr), op.name);
    done.insert(dg_op_kind_name(kind) + std::string(" mma_odd ") + precision(g->math));
}

static void odd_kernels()
{
    nowhere.base.real = DG_F32;
    const dg_gpu g = {90, 232448, DG_MATH_BF16, true};
    for (int kind = DG_OP_conv_fwd; kind <= DG_OP_conv_dw; kind++)
        for (int which = 0; which < 8; which++)
            odd_kernel((dg_op_kind)kind, which & 4 ? 3 : 1, which & 2 ? 2 : 1, which & 1 ? 2 : 1, &g);
}

static void was_called(const std::string &what) { DG_CHECKF(done.count(what), "no model here calls %s", what.c_str()); }

static void all_were_called()
{
    for (int k = 0; k < DG_OP_KINDS; k++)
        for (const dg_variant *variant : dg_op_info_of((dg_op_kind)k)->variants) {
            if (!variant) break;
            const std::string v = variant->name, name = std::string(dg_op_kind_name((dg_op_kind)k)) + " " + v + " ";
            const bool mma = v == "mma", rounds = mma || v == "thin_mma" || v == "mma_odd" || v == "wgmma";
            if (mma) was_called(name + "fp16");
            was_called(name + (rounds ? "bf16" : "fp32"));
            if (v == "direct") was_called(name + "fp64");
        }
    for (const char *kind : {"fused conv_fwd ", "fused conv_dx "}) {
        for (const char *how : {"mma bf16", "mma fp16", "wgmma bf16"}) was_called(std::string(kind) + how);
        for (const char *how : {"thin fp32", "thin_mma bf16"}) was_called(std::string(kind) + how);
    }
    for (const char *math : {"bf16", "fp16"}) was_called(std::string("fused update ") + math);
    was_called("fused conv_dx dense");
    was_called("fused head");
}

int main()
{
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    atexit(say_where);
    static dg_model model;
    static const struct {
        int size, channels, wide;
    } stock[] = {{16, 3, 64}, {32, 1, 16}, {32, 3, 24}};
    for (const auto &s : stock) {
        static char text[DG_MODEL_TEXT_MAX];
        dg_err e = dg_model_stock(text, "stock", dg_square(s.size), s.channels, 20, s.wide, s.wide);
        if (!e) e = dg_model_parse(text, "stock", &model);
        if (DG_CHECKF(!e, "%s", dg_message())) every_precision(&model);
    }
    every_op();
    odd_kernels();
    all_were_called();
    printf("%d launches refused\n", calls);
    return dg_test_report();
}
