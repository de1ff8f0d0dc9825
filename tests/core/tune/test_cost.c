/* Tests the cost model. The time of each launch differs by at most 10% from counted.h. Other times are compared with
 * values computed by hand. */
#include "core/tune/cost.h"

#include "core/plan/fusions.h"
#include "core/plan/precision.h"
#include "kernels/cuda/planner.h"
#include "kernels/fused/predict_plan.h"
#include "host/net/job.h"
#include "counted.h"
#include "test.h"

static const char renew[] = "scripts/ptx-count --renew counts again";
enum { COUNTED = sizeof counted / sizeof *counted };

/* Compares the launches of one step with counted.h, starting at index `row`. Returns the next index. */
static int check_step(int row)
{
    static dg_model model;
    dg_machine m;
    dg_backend *b;
    dg_job job;
    const int batch = counted[row].batch;
    const char *const name = counted[row].model;
    const dg_job_options o = {.batch = batch, .rows = batch, .train = true, .beta1 = 0.5, .beta2 = 0.999, .eps = 1e-8};
    if (!DG_CHECKF(!dg_model_read(name, &model) && !dg_machine_find("h200", DG_F32, &m), "%s", dg_message()))
        return COUNTED;
    m.math = DG_MATH_BF16;
    m.cache = 5500; /* GB/s of L2 in the PTX executor */
    if (!DG_WORKS(dg_planner_open(&m, NULL, DG_FUSE_ALL, &b))) return COUNTED;
    if (!DG_WORKS(dg_job_build(&job, &model, &o, b))) return COUNTED;
    const dg_plan *p = &job.plan[DG_PLAN_TRAIN];
    for (int i = 0; i < p->launches; i++) {
        dg_launch_cost c;
        dg_predict_launch(p, &p->launch[i], &m, &c);
        const char *const op = p->op[p->launch[i].main].name;
        if (!DG_CHECKF(c.kernels, "%s: not counted; %s", op, renew)) continue;
        for (int k = 0; k < c.kernels; k++, row++) {
            if (!DG_CHECKF(row < COUNTED && !strcmp(op, counted[row].op), "%s: no such row; %s", op, renew)) break;
            const dg_cost *one = &c.kernel[k];
            /* the division of a fused update may differ */
            const bool divided = p->launch[i].kind == DG_LAUNCH_UPDATE;
            DG_CHECKF((divided || one->blocks == counted[row].blocks) && !one->near, "%s: %g blocks, %g counted; %s",
                      op, one->blocks, counted[row].blocks, renew);
            /* the rule avoids clusters whose last ones run after the others */
            DG_CHECKF(c.part[0].cluster < 4 || one->waves == 1, "%s: clusters of %d blocks in %g waves", op,
                      c.part[0].cluster, one->waves);
            DG_CHECKF(fabs(one->bound_us / counted[row].bound_us - 1) <= (divided ? 0.2 : 0.1),
                      "%s: bound %g us, %g by counts; %s", op, one->bound_us, counted[row].bound_us, renew);
        }
    }
    dg_job_free(&job);
    b->close(b);
    return row;
}

static void check_counted(void)
{
    int steps = 0;
    for (int row = 0, end; row < COUNTED; row = end, steps++) {
        for (end = row; end < COUNTED && !strcmp(counted[end].model, counted[row].model); end++) {}
        DG_CHECKF(check_step(row) == end, "%s: other launches than rows; %s", counted[row].model, renew);
    }
    DG_CHECKF(steps == 2, "%d steps", steps);
}

static dg_cost cost_of(const char *kind, double blocks, double steps, const dg_machine *m)
{
    dg_cost c;
    dg_cost_part part = {.blocks = blocks, .steps = steps, .most = steps};
    snprintf(part.kind, sizeof part.kind, "%s", kind);
    DG_CHECK(dg_cost_of(&part, 1, 0, m, &c));
    return c;
}

static void check_by_hand(void)
{
    const dg_machine m = {.gpu = true,
                          .arch = 90,
                          .units = 10,
                          .cache = 1e9,
                          .bf16 = 1e12,
                          .costs = {.ghz = 1,
                                    .after_us = 2,
                                    .wave_us = 3,
                                    .update = 0.5,
                                    .join = 2,
                                    .l1 = 1,
                                    .l2 = 1,
                                    .tensor = 1,
                                    .issued = {0.5, 0.5, 0.5, 0.5}}};
    const dg_counted *row = dg_counts;
    bool near = false;
    DG_CHECK(dg_counted_find(row->kind, &near) == row && !near);
    const double one = row->block[DG_COUNT_instructions] + 3 * row->step[DG_COUNT_instructions];
    dg_cost c = cost_of(row->kind, 1000, 3, &m);
    DG_NEAR(c.bound_us, one * 100 / 4 * 1e-3, 1e-3 * c.bound_us);
    DG_CHECK(c.limit == DG_LIMIT_ISSUE && c.blocks == 1000);
    DG_CHECK(c.waves == 25); /* 100 blocks per multiprocessor, 4 at once: 8 warps per scheduler */
    DG_NEAR(c.instructions, 25 * one * 32 / row->threads, 1e-6 * c.instructions);
    DG_NEAR(c.us, 2 + 25 * 3 + c.bound_us, 1e-6 * c.us);
    DG_NEAR(cost_of(row->kind, 1001, 3, &m).bound_us, one * 101 / 4 * 1e-3, 1e-3 * c.bound_us);
    const double longest = row->longest[0] + 300 * row->longest[1];
    dg_cost_part tail = {.blocks = 10, .steps = 3, .most = 300};
    snprintf(tail.kind, sizeof tail.kind, "%s", row->kind);
    DG_CHECK(dg_cost_of(&tail, 1, 0, &m, &c) && c.limit == DG_LIMIT_BLOCK);
    DG_NEAR(c.bound_us, longest / 4 * 1e-3, 1e-6 * longest);
    DG_NEAR(c.instructions, longest * 32 / row->threads, 1e-6 * longest);
    dg_cost_part part = {.blocks = 10, .steps = 4, .most = 4};
    char first[3][40];
    DG_CHECK(sscanf(row->kind, "%39s %39s %39s", first[0], first[1], first[2]) == 3);
    snprintf(part.kind, sizeof part.kind, "%.20s %.20s %.20s by-hand", first[0], first[1], first[2]);
    DG_CHECK(dg_cost_of(&part, 1, 0, &m, &c) && c.near);
    dg_machine narrow = m;
    narrow.cache_mb = 1, narrow.triad = 1000;
    DG_CHECK(dg_cost_of(&part, 1, 5e8, &narrow, &c) && c.limit == DG_LIMIT_MEMORY);
    DG_NEAR(c.bound_us, 499, 1e-6);
    /* without a measured clock rate, the peak rate gives it; 2 x 10 x 128 flops per clock are 1 GHz */
    dg_machine plain = m;
    plain.arch = 100, plain.cache = 0, plain.costs.ghz = 0, plain.all = 2560;
    DG_NEAR(cost_of(row->kind, 1000, 3, &plain).bound_us, one * 100 / 4 * 1e-3, 1e-3 * one);
    plain.units = 0;
    DG_CHECK(!dg_cost_of(&part, 1, 0, &plain, &c));
    const dg_counted wide = {.threads = 256, .resident = 1, .longest = {300, 20}}; /* two warps per scheduler */
    DG_NEAR(dg_block_ns(&wide, 5, &m), 3000 + 0.5 * 400 / 4 / 0.5, 1e-9);
    /* a multiprocessor of arch 75 has 1024 threads: 4 of 5 blocks */
    dg_machine small = m;
    small.arch = 75;
    const dg_counted five = {.threads = 256, .resident = 5, .block = {400}, .longest = {400}};
    dg_cost_part some = {.blocks = 50, .counted = &five};
    DG_CHECK(dg_cost_of(&some, 1, 0, &m, &c) && c.waves == 1 && dg_cost_of(&some, 1, 0, &small, &c) && c.waves == 2);
    snprintf(part.kind, sizeof part.kind, "fwd wgmma_bf16 64x17 norm>stats");
    DG_CHECK(!dg_cost_of(&part, 1, 0, &m, &c));
    snprintf(part.kind, sizeof part.kind, "fwd");
    DG_CHECK(!dg_cost_of(&part, 1, 0, &m, &c) && !dg_cost_of(&part, 0, 0, &m, &c));
}

/* 16 clusters of 8 blocks need two waves on 132 multiprocessors, because 15 of them run at once. */
static void check_clusters(void)
{
    dg_machine m;
    const dg_counted row = {.threads = 256, .resident = 1, .block = {80000}, .longest = {80000}};
    dg_cost_part part = {.blocks = 128, .counted = &row};
    dg_cost c;
    DG_CHECK(!dg_machine_find("h100", DG_F32, &m));
    DG_CHECK(dg_cost_of(&part, 1, 0, &m, &c) && c.waves == 1);
    const double one = m.costs.wave_us + 80000 / 8 * 10 / 1755.; /* 8 warps, 10 clocks per instruction */
    DG_NEAR(c.us, 0.75 + one, 1e-3 * one);
    static const struct {
        int cluster, waves;
    } tries[] = {{2, 1}, {4, 2}, {8, 2}};
    for (int i = 0; i < 3; i++) {
        part.cluster = tries[i].cluster, part.joined = 14e3;
        DG_CHECK(dg_cost_of(&part, 1, 0, &m, &c) && c.waves == tries[i].waves);
        DG_NEAR(c.us, 0.75 + c.waves * (one + 1e3 / 1755.), 1e-3 * c.us);
    }
}

static void check_makespan(void)
{
    const dg_cost_run run[] = {{5, 1}, {2, 3}};
    DG_NEAR(dg_cost_makespan(run, 2, 1), 11, 0);
    DG_NEAR(dg_cost_makespan(run, 2, 2), 6, 0);
    DG_NEAR(dg_cost_makespan(run, 2, 9), 5, 0);
}

static void check_table(void)
{
    for (const dg_counted *c = dg_counts; c->kind; c++) {
        bool near = false;
        DG_CHECKF(dg_counted_find(c->kind, &near) == c && !near, "%s is there twice", c->kind);
        DG_CHECKF(c->threads > 0 && c->threads <= 1024 && c->resident > 0, "%s: %d threads", c->kind, c->threads);
        DG_CHECKF(c->longest[0] + c->longest[1] + c->longest[2] > 0, "%s does nothing", c->kind);
    }
}

DG_TESTS(check_table, check_by_hand, check_clusters, check_makespan, check_counted)
