/* Tests the pass that fuses ops into launches. Every op must be in one launch, and no op may run before its inputs. A
 * training step of the published network must have the expected number of kernels. */
#include "core/group/group.h"
#include "core/plan/branches.h"
#include "core/plan/gather.h"
#include "core/plan/ordered.h"
#include "kernels/cuda/planner.h"

#include "kernels/fused/fuse_launch.h"

static void names(void)
{
    unsigned what = 99;
    DG_CHECK(dg_fuse_parse("all", &what) && what == DG_FUSE_ALL);
    DG_CHECK(dg_fuse_parse("none", &what) && what == DG_FUSE_NONE);
    DG_CHECK(dg_fuse_parse("convs,update", &what) && what == (DG_FUSE_convs | DG_FUSE_update));
    DG_CHECK(dg_fuse_parse("all,-update", &what) && what == (DG_FUSE_ALL & ~(unsigned)DG_FUSE_update));
    DG_CHECK(dg_fuse_parse("-convs,-overlap", &what) &&
             what == (DG_FUSE_ALL & ~(unsigned)(DG_FUSE_convs | DG_FUSE_overlap)));
    static const char *const wrong[] = {"",  ",",       "al",    "alll",         "convs,", ",convs",
                                        "-", "--convs", "-none", "convs update", "Convs",  "norm"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        what = 99;
        DG_CHECKF(!dg_fuse_parse(wrong[i], &what) && what == 99, "'%s'", wrong[i]);
    }
    int n = 0;
    while (dg_fusion_name(n)) DG_CHECK(*dg_fusion_help(n++) != 0);
    DG_CHECK(n == DG_FUSE_KINDS);
}

/* ---- Structure of fused plans ---- */

static void check_launches(const dg_plan *p, unsigned what)
{
    int next = 0, fused = 0, counters = 0;
    for (int i = 0; i < p->launches; i++) {
        const dg_launch *l = &p->launch[i];
        DG_CHECKF(l->first == next && l->count > 0 && l->main >= l->first && l->main < l->first + l->count, "launch %d",
                  i);
        next = l->first + l->count;
        if (l->kind == DG_LAUNCH_OP) {
            DG_CHECKF(l->count == 1, "%s", p->op[l->main].name);
            for (int k = 0; k < DG_MAX_OPERANDS; k++) {
                const dg_row *r = dg_plan_row(p, &p->op[l->main], k);
                DG_CHECKF(!r || !r->absent, "%s reads or writes %s, which is not there", p->op[l->main].name,
                          r ? r->name : "");
                DG_CHECK(p->op[l->main].operand[k].from == 0);
            }
            continue;
        }
        fused++;
        DG_CHECKF(l->counter == counters, "%s has counters from %d on, not from %d", p->op[l->main].name, l->counter,
                  counters);
        const dg_fused_size size = dg_fused_size_of(p, l);
        counters += size.counters;
        DG_CHECKF(size.bytes ? l->row >= 0 && p->arena->row[l->row].bytes >= size.bytes : l->row < 0, "scratch of %s",
                  p->op[l->main].name);
    }
    DG_CHECKF(next == p->ops, "launches hold %d of %d ops", next, p->ops);
    DG_CHECK((what == DG_FUSE_NONE) <= (fused == 0));
    if (!counters) return;
    const dg_row *row = p->row_counters < 0 ? NULL : &p->arena->row[p->row_counters];
    DG_CHECKF(row && row->kind == DG_STATE && row->type == DG_I32 && (int)dg_count(row->shape) == counters,
              "%d counters", counters);
}

static bool updates(const dg_plan *p, int launch)
{
    const dg_op *op = launch < 0 ? NULL : &p->op[p->launch[launch].main];
    if (op && op->kind == DG_OP_shard_share && dg_plan_row(p, op, 0)->kind == DG_PARAM) return true;
    for (int i = 0; i < DG_OPTIMIZERS; i++)
        if (launch < 0 || p->op[p->launch[launch].main].kind == dg_optimizers[i].op) return true;
    return false;
}

/* Returns the number of launches that read weights before they wait for the previous launch. Checks that no weights are
 * written by the two launches before an early read. */
static int check_early(const dg_plan *p)
{
    int early = 0;
    for (int i = 0; i < p->launches; i++) {
        if (p->launch[i].kind != DG_LAUNCH_CONV || !dg_fused_conv_of(p, &p->launch[i]).early) continue;
        early++;
        DG_CHECKF(!updates(p, i - 1) && !updates(p, i - 2), "%s reads its weights early",
                  p->op[p->launch[i].main].name);
    }
    return early;
}

/* Checks that all inputs of a recomputed operand are in memory when the launch runs. */
static void check_lives(const dg_plan *p)
{
    for (int i = 0; i < p->ops; i++)
        for (int k = 0; k < DG_MAX_OPERANDS; k++) {
            const int from = p->op[i].operand[k].from - 1;
            for (int j = 0; j < DG_MAX_OPERANDS && from >= 0; j++) {
                const dg_row *r = dg_plan_row(p, &p->op[from], j);
                if (r && r->kind == DG_WORK && !r->absent)
                    DG_CHECKF(r->first <= i && i <= r->last, "%s when %s needs it", r->name, p->op[i].name);
            }
        }
}

/* Numbers of rounded operands of weight gradients, written by fused convolutions (factors) and by the update
 * (missing). */
static int factors, missing;
static void check_factors(const dg_plan *p)
{
    factors = missing = 0;
    for (int i = 0; i < p->ops; i++)
        for (int k = 0; k < DG_MAX_OPERANDS; k++) {
            const int row = p->op[i].operand[k].factors;
            if (!row) continue;
            const dg_row *r = &p->arena->row[row];
            DG_CHECKF(r->first <= i && i <= r->last, "%s when %s needs it", r->name, p->op[i].name);
            if (p->op[i].kind == DG_OP_conv_dw) dg_factors_written(p, row) ? factors++ : missing++;
        }
}

/* Number of tensors that are stored as bf16 and read only by fused launches. */
static int rounded;
static void check_rounded(const dg_plan *p)
{
    rounded = 0;
    for (int i = 0; i < p->arena->rows; i++) rounded += p->arena->row[i].rounded && p->arena->row[i].plan == p->id;
    for (int i = 0; i < p->ops; i++)
        for (int k = 0; k < DG_MAX_OPERANDS; k++) {
            const dg_row *r = dg_plan_row(p, &p->op[i], k);
            if (r && r->rounded)
                DG_CHECKF(dg_plan_fused(p, i) && !r->keep && r->bytes == 2 * dg_count(r->shape), "%s of %s", r->name,
                          p->op[i].name);
        }
}

/* Checks that weight gradients use wgmma on exactly those GPUs that support wgmma. */
static int check_update(const dg_plan *p, bool warpgroups)
{
    int found = 0;
    for (int i = 0; i < p->launches; i++) {
        if (!dg_has_gradients(p->launch[i].kind)) continue;
        const dg_fused_update u = dg_fused_update_of(p, &p->launch[i]);
        for (int k = 0; k < u.jobs; k++) {
            const dg_fused_family kind = u.job[k].kind;
            if (kind != DG_FUSED_MMA && kind != DG_FUSED_WGMMA) continue;
            DG_CHECKF((kind == DG_FUSED_WGMMA) == warpgroups, "%s, job %d: warpgroups %d", p->name, k, !warpgroups);
            found += warpgroups;
        }
    }
    return found;
}

static dg_optimizer optimizer = DG_ADAM;
static int early, warpgroups;
static void plans(const char *name, int batch, dg_math math, const char *arch, unsigned what, int most)
{
    static dg_model m;
    dg_machine machine;
    dg_backend *b;
    dg_job g;
    if (!DG_CHECKF(!dg_model_read(name, &m) && !dg_machine_arch(arch, DG_F32, &machine), "%s", dg_message())) return;
    machine.math = math;
    if (!DG_CHECKF(!dg_planner_open(&machine, NULL, what, &b), "%s", dg_message())) return;
    const dg_job_options o = {.batch = batch,
                              .last_batch = batch > 2 ? batch / 2 : 0,
                              .samples = 9,
                              .rows = 2 * batch,
                              .train = true,
                              .optimizer = optimizer};
    if (DG_CHECKF(!dg_job_build(&g, &m, &o, b), "%s", dg_message())) {
        early += check_early(&g.plan[DG_PLAN_TRAIN]);
        check_factors(&g.plan[DG_PLAN_TRAIN]);
        warpgroups += check_update(&g.plan[DG_PLAN_TRAIN], math == DG_MATH_BF16 && !strcmp(arch, "sm_90"));
        check_rounded(&g.plan[DG_PLAN_TRAIN]);
        const dg_plan *const p[] = {&g.plan[DG_PLAN_TRAIN], &g.plan[DG_PLAN_TRAIN_SHORT], &g.plan[DG_PLAN_SAMPLE]};
        for (int i = 0; i < 3; i++) {
            if (!p[i]->ops) continue;
            check_launches(p[i], what);
            check_lives(p[i]);
        }
        if (most)
            DG_CHECKF(dg_plan_kernels(&g.plan[DG_PLAN_TRAIN]) <= most, "%s has %d dependent kernels, more than %d",
                      name, dg_plan_kernels(&g.plan[DG_PLAN_TRAIN]), most);
        dg_job_free(&g);
    }
    b->close(b);
}

/* ---- Shards ---- */

enum { SHARD_BATCH = 8 };

/* Returns the number of the plan's launches of this kind. */
static int count_kind(const dg_plan *p, dg_launch_kind kind)
{
    int n = 0;
    for (int i = 0; i < p->launches; i++) n += p->launch[i].kind == kind;
    return n;
}

static int count_absent(const dg_plan *p)
{
    int n = 0;
    for (int i = 0; i < p->arena->rows; i++) n += p->arena->row[i].plan == p->id && p->arena->row[i].absent;
    return n;
}

/* True if launch `first` ends before launch `then` begins. */
static bool ends_before(const dg_branched *all, int first, int then)
{
    for (int k = 0; k < DG_BRANCHES; k++)
        if (all[then].after[k] == first || (all[then].after[k] > first && ends_before(all, first, all[then].after[k])))
            return true;
    return false;
}

/* Messages must have one order on all ranks, although independent launches are branches. */
static void check_messages(const dg_plan *p, int messages)
{
    dg_branched *all = calloc((size_t)p->launches + 1, sizeof *all);
    int last = -1;
    if (!DG_CHECK(all && !dg_plan_branch(p, all))) return;
    for (int i = 0; i < p->launches; i++) {
        const dg_op *op = &p->op[p->launch[i].main];
        if (op->kind != DG_OP_shard_exchange && op->kind != DG_OP_shard_share) continue;
        DG_CHECKF(last < 0 || ends_before(all, last, i), "%s may overlap the message before it", op->name);
        last = i;
        messages--;
    }
    DG_CHECKF(!messages, "%d messages are missing", messages);
    free(all);
}

/* Each shard must fuse as much as a whole batch of its size. */
static void check_shards(const dg_plan *p, int shards, bool apart, int absent)
{
    const int networks = 2;
    DG_CHECKF(count_kind(p, DG_LAUNCH_UPDATE) == (apart ? 0 : networks), "%d shards", shards);
    DG_CHECKF(count_kind(p, DG_LAUNCH_GRADIENTS) == (apart ? networks * shards : 0), "%d shards", shards);
    DG_CHECKF(count_absent(p) == shards * absent, "%d shards: %d tensors are not stored, not %d", shards,
              count_absent(p), shards * absent);
    for (int i = 0; i < p->ops; i++)
        if (p->op[i].kind == DG_OP_gather || p->op[i].kind == DG_OP_noise || p->op[i].kind == DG_OP_norm_stats)
            DG_CHECKF(dg_plan_launch(p, i)->count > 1, "%s is a launch", p->op[i].name);
    check_launches(p, DG_FUSE_ALL);
    check_lives(p);
    check_early(p);
    check_factors(p);
    check_rounded(p);
}

static void shards(const char *name, dg_math math, const char *arch, int ranks)
{
    dg_group group = {.rank = ranks - 1, .size = ranks};
    static dg_model m;
    dg_machine machine;
    int absent = 0;
    if (!DG_CHECK(!dg_model_read(name, &m) && !dg_machine_arch(arch, DG_F32, &machine))) return;
    machine.math = math;
    for (int v = ranks; v <= 4; v *= 2) {
        const int own = v / ranks;
        dg_backend *b;
        dg_job g;
        if (!DG_CHECKF(!dg_planner_open(&machine, NULL, DG_FUSE_ALL, &b), "%s", dg_message())) return;
        if (ranks > 1) b->group = &group;
        const dg_job_options o = {.batch = v * SHARD_BATCH, .rows = v * SHARD_BATCH, .train = true, .shards = v};
        if (DG_CHECKF(!dg_job_build(&g, &m, &o, b), "%s", dg_message())) {
            if (v == ranks) absent = count_absent(&g.plan[DG_PLAN_TRAIN]);
            DG_CHECK(absent > 0);
            check_shards(&g.plan[DG_PLAN_TRAIN], own, v > 1, absent);
            check_messages(&g.plan[DG_PLAN_TRAIN], ranks > 1 ? 5 : 0);
            dg_job_free(&g);
        }
        b->close(b);
    }
}

/* ---- Images ---- */

static dg_err (*fuse_as_it_is)(dg_backend *b, struct dg_plan *p);
static void (*changed)(dg_op *gather);

static dg_op *gather_of(const dg_plan *p)
{
    for (int i = 0; i < p->ops; i++)
        if (p->op[i].kind == DG_OP_gather) return &p->op[i];
    return NULL;
}

static dg_err fuse_changed(dg_backend *b, struct dg_plan *p)
{
    dg_op *gather = gather_of(p);
    if (gather) changed(gather);
    return fuse_as_it_is(b, p);
}

static void leave(dg_op *op) { (void)op; }
static void scaled(dg_op *op) { op->u.gather.dev[2] = 255; }
static void shifted(dg_op *op) { op->u.gather.shift[0] = 0; }
static void labelled(dg_op *op) { op->u.gather.record += 4; }
static void prepared(dg_op *op)
{
    op->u.gather.prepared = 1;
    op->u.gather.record = dg_gather_record(&op->u.gather, DG_F32, false);
}

/* Checks that the first convolution's launch gathers the images if `fused` is true, and only then. */
static void check_images(dg_backend *b, const dg_model *m, bool fused)
{
    const dg_job_options o = {.batch = 8, .samples = 8, .rows = 16, .train = true};
    dg_job g;
    if (!DG_CHECKF(!dg_job_build(&g, m, &o, b), "%s", dg_message())) return;
    const dg_plan *p = &g.plan[DG_PLAN_TRAIN];
    const int gather = (int)(gather_of(p) - p->op);
    bool conv = false;
    for (int i = 0; i < p->launches; i++) {
        const dg_launch *l = &p->launch[i];
        if (gather >= l->first && gather < l->first + l->count)
            DG_CHECKF((l->count > 1) == fused, "the gather's launch has %d ops", l->count);
        conv |= !strcmp(p->op[l->main].name, "D.1.conv.fwd") && l->kind == DG_LAUNCH_CONV;
    }
    DG_CHECK(conv);
    check_launches(p, DG_FUSE_ALL);
    dg_job_free(&g);
}

/* Fused kernels gather only images without labels that are scaled to [-1, 1] as they are read. */
static void images(void)
{
    static const struct {
        void (*change)(dg_op *gather);
        bool fused;
    } cases[] = {{leave, true}, {scaled, false}, {shifted, false}, {labelled, false}, {prepared, false}};
    static dg_model m;
    dg_machine machine;
    dg_backend *b;
    if (!DG_CHECK(!dg_model_read("dcgan32", &m) && !dg_machine_arch("sm_90", DG_F32, &machine))) return;
    machine.math = DG_MATH_BF16;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!DG_CHECKF(!dg_planner_open(&machine, NULL, DG_FUSE_ALL, &b), "%s", dg_message())) return;
        fuse_as_it_is = b->fuse;
        changed = cases[i].change;
        b->fuse = fuse_changed;
        check_images(b, &m, cases[i].fused);
        b->close(b);
    }
}

/* ---- Gradient penalties ---- */

static const dg_launch *launch_of(const dg_plan *p, const char *name)
{
    for (int i = 0; i < p->ops; i++)
        if (!strcmp(p->op[i].name, name)) return dg_plan_launch(p, i);
    DG_CHECKF(false, "no op %s", name);
    return p->launch;
}

/* With gradient penalties, each tangent convolution multiplies its results by the slopes of its activation. The update
 * computes all weight gradients. The last layer of D is fused with its loss only in the step of G. */
static void penalties(void)
{
    static dg_model m;
    dg_machine machine;
    dg_backend *b;
    dg_job g;
    if (!DG_CHECK(!dg_model_read("dcgan32-nonorm", &m) && !dg_machine_arch("sm_90", DG_F32, &machine))) return;
    machine.math = DG_MATH_BF16;
    const dg_job_options o = {.batch = 8, .samples = 8, .rows = 16, .train = true, .r1 = 1, .r2 = 1};
    for (unsigned what = 0; what <= DG_FUSE_OPS; what++) {
        if (!DG_CHECKF(!dg_planner_open(&machine, NULL, what, &b), "%s", dg_message())) return;
        if (DG_CHECKF(!dg_job_build(&g, &m, &o, b), "%s", dg_message())) {
            const dg_plan *p = &g.plan[DG_PLAN_TRAIN];
            const bool convs = what & DG_FUSE_convs, update = what & DG_FUSE_update;
            check_launches(p, what);
            check_lives(p);
            check_factors(p);
            check_rounded(p);
            static const struct {
                const char *op;
                int ops;
            } of[] = {{"D.1.conv.tangent", 2}, {"D.2.conv.tangent", 2}, {"D.3.conv.tangent", 2},
                      {"D.3.conv.dx", 2},      {"D.4.conv.fwd", 1},     {"D.4.conv.fwd.g", 4},
                      {"D.ones", 1},           {"D.2.mix", 1},          {"D.2.bias.dw", 1}};
            for (size_t i = 0; i < sizeof of / sizeof *of; i++)
                DG_CHECKF(launch_of(p, of[i].op)->count == (convs ? of[i].ops : 1), "%s: %d ops", of[i].op,
                          launch_of(p, of[i].op)->count);
            DG_CHECKF(launch_of(p, "D.2.conv.dw")->count == (update ? 5 : 1), "%d ops in the update",
                      launch_of(p, "D.2.conv.dw")->count);
            dg_job_free(&g);
        }
        b->close(b);
    }
}

/* ---- Order ---- */

static dg_err only_order(dg_backend *b, struct dg_plan *p)
{
    ordered *me = (ordered *)b;
    dg_err e = dg_fuse_plan(p, me->what, DG_F32, &ordered_gpu);
    for (int i = 0; i < p->launches; i++) me->fused += p->launch[i].kind != DG_LAUNCH_OP;
    free(p->launch);
    p->launch = NULL;
    p->launches = 0;
    for (int i = 0; i < p->arena->rows; i++) {
        dg_row *r = &p->arena->row[i];
        r->absent = false;
        if (!r->rounded) continue; /* CPU plans have no rounded tensors */
        r->rounded = false;
        r->bytes = dg_count(r->shape) * dg_value_bytes(r);
    }
    for (int i = 0; i < p->ops && !e; i++) {
        int n;
        const dg_operand *list = dg_operands(p->op[i].kind, &n);
        for (int k = 0; k < n; k++) {
            p->op[i].operand[k].from = 0;
            if (list[k].role == DG_SCRATCH) p->op[i].operand[k].row = -1;
        }
    }
    return e ? e : ordered_for_cpu(me, p);
}

static void order(bool penalised)
{
    ordered o = {.fuse = only_order, .penalised = penalised};
    int most = 0;
    if (!ordered_open(&o)) return;
    const uint64_t want = ordered_train(&o);
    DG_CHECK(o.fused == 0);
    for (o.what = 1; o.what <= DG_FUSE_OPS; o.what++) {
        o.fused = 0;
        DG_CHECKF(ordered_train(&o) == want, "fusions %#x put an op before one that it needs", o.what);
        if (o.fused > most) most = o.fused;
    }
    DG_CHECKF(most > 12, "at most %d fused launches: the network does not try the pass", most);
    o.cpu->close(o.cpu);
}

int main(void)
{
    names();
    for (unsigned what = 0; what <= DG_FUSE_OPS; what++) {
        plans("dcgan64-paper", 64, DG_MATH_BF16, "sm_90", what, 0);
        DG_CHECKF(factors + missing == (what & DG_FUSE_update ? 12 : 0), "%d and %d factors", factors, missing);
        /* bf16 tensors are the activations and gradients of G and of both passes of D */
        DG_CHECKF(rounded == (!(what & DG_FUSE_convs) ? 0 : what & DG_FUSE_update ? 24 : 8), "%d rounded", rounded);
    }
    plans("dcgan64-paper", 64, DG_MATH_BF16, "sm_90", DG_FUSE_ALL, 30);
    DG_CHECKF(factors == 12 && !missing, "%d factors of six layers on tensor cores", factors);
    DG_CHECK(warpgroups > 0);
    plans("dcgan64-paper", 37, DG_MATH_BF16, "sm_86", DG_FUSE_ALL, 30);
    plans("dcgan64", 128, DG_MATH_BF16, "sm_90", DG_FUSE_ALL, 30);
    plans("dcgan128", 64, DG_MATH_BF16, "sm_90", DG_FUSE_ALL, 36);
    /* this tile fits into shared memory only without its prologue, so the update rounds the operand */
    plans("dcgan128", 64, DG_MATH_BF16, "sm_120", DG_FUSE_ALL, 40);
    DG_CHECKF(factors == 15 && missing == 1, "%d and %d factors", factors, missing);
    plans("dcgan32", 64, DG_MATH_BF16, "sm_89", DG_FUSE_ALL, 24);
    plans("dcgan64-paper", 64, DG_MATH_FP32, "sm_75", DG_FUSE_ALL, 126);
    plans("dcgan64-paper", 64, DG_MATH_FP16, "sm_75", DG_FUSE_ALL, 30);
    DG_CHECKF(!rounded, "%d rounded for fp16", rounded);
    plans("dcgan64", 128, DG_MATH_FP16, "sm_75", DG_FUSE_ALL, 30);
    plans("dcgan32", 1, DG_MATH_BF16, "sm_90", DG_FUSE_ALL, 0);
    DG_CHECK(early > 0);
    for (early = 0, optimizer = DG_SGD; optimizer < DG_OPTIMIZERS; optimizer++)
        plans("dcgan64-paper", 64, DG_MATH_BF16, "sm_90", DG_FUSE_ALL, 0);
    DG_CHECK(early > 0);
    shards("dcgan64-paper", DG_MATH_BF16, "sm_90", 1);
    shards("dcgan64-paper", DG_MATH_BF16, "sm_90", 2);
    shards("dcgan64", DG_MATH_FP16, "sm_75", 1);
    images();
    penalties();
    order(false);
    order(true);
    return dg_test_report();
}
