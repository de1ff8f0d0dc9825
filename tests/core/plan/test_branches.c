/* Tests the branches of a plan: the waits between branches are sufficient, and none is superfluous. */
#include "core/plan/branches.h"
#include "ordered.h"
#include "core/tune/conv_tiles.h"
#include "kernels/cuda/planner.h"
#include "machine.h"

/* ---- A step gives equal bits in every order of launches that the waits allow ---- */

static int runs, swaps;

static bool ready(const dg_branched *at, const bool *done, int i)
{
    for (int k = 0; k < DG_BRANCHES; k++)
        if (at[i].after[k] >= 0 && !done[at[i].after[k]]) return false;
    return !done[i];
}

/* Runs all launches of a plan. Among the launches that can run next, takes the last one if `random` is 0, else a
 * random one. */
static dg_err in_any_order(dg_backend *b, dg_plan *p)
{
    ordered *o = (ordered *)b;
    const int n = dg_plan_pieces(p);
    dg_branched *at = malloc((size_t)n * sizeof *at);
    bool *done = calloc((size_t)n, sizeof *done);
    dg_err e = at && done ? dg_plan_branch(p, at) : dg_fail(DG_DEVICE, "out of memory");
    for (int left = n, last = -1; left > 0 && !e; left--) {
        int pick = -1, choices = 0;
        for (int i = n; i-- > 0;) {
            if (!ready(at, done, i)) continue;
            choices++;
            if (pick < 0 || (o->random && dg_test_random(&o->random) * choices > choices - 2)) pick = i;
        }
        if (!DG_CHECKF(pick >= 0, "%s: %d pieces wait for one another", p->name, left)) e = DG_FAILED;
        if (!e) e = o->cpu->run_op(o->cpu, &p->op[pick], NULL);
        if (pick >= 0) done[pick] = true;
        swaps += pick < last;
        last = pick;
    }
    runs++;
    free(at);
    free(done);
    return e;
}

static dg_err branching(dg_backend *b, dg_plan *p)
{
    p->branches = ((ordered *)b)->run != NULL;
    return ordered_for_cpu((ordered *)b, p);
}

static void same_bits(bool penalised)
{
    ordered plain = {.fuse = branching, .penalised = penalised},
            any = {.fuse = branching, .run = in_any_order, .penalised = penalised};
    if (!ordered_open(&plain)) return;
    any.cpu = plain.cpu;
    const uint64_t want = ordered_train(&plain);
    DG_CHECK(want != 0);
    int all = 0;
    for (unsigned long long seed = 0; seed < 24; seed++) {
        any.random = seed;
        swaps = runs = 0;
        DG_CHECKF(ordered_train(&any) == want, "order %llu: an op ran before one that it needs", seed);
        DG_CHECKF(runs == 2, "order %llu: %d runs", seed, runs);
        all += swaps;
    }
    DG_CHECKF(all > 48, "only %d ops ran before an earlier op of the plan", all);
    plain.cpu->close(plain.cpu);
}

/* ---- No wait is superfluous ---- */

static bool planned(machine *x, const char *model, dg_math math, unsigned what, const dg_job_options *o)
{
    dg_machine gpu;
    bool ok = !dg_model_read(model, &x->m) && !dg_machine_arch("sm_90", DG_F32, &gpu);
    if (ok) gpu.math = math;
    ok = ok && !dg_planner_open(&gpu, NULL, what, &x->b) && !dg_job_build(&x->g, &x->m, o, x->b);
    DG_CHECKF(ok, "%s", dg_message());
    if (!ok) machine_down(x);
    return ok;
}

/* Checks the number of kernels of model W1 and the longest chain of dependent kernels. */
static void chains(unsigned what, int kernels, int most, int least)
{
    static machine x;
    int chain;
    const dg_job_options o = {.batch = 64, .samples = 9, .rows = 128, .train = true};
    if (!planned(&x, "dcgan64-paper", DG_MATH_BF16, what, &o)) return;
    const int all = dg_plan_kernels(&x.g.plan[DG_PLAN_TRAIN]);
    DG_CHECK(dg_plan_chain(&x.g.plan[DG_PLAN_TRAIN], &chain) == DG_OK);
    DG_CHECKF(all == kernels, "%d kernels, not %d", all, kernels);
    DG_CHECKF(chain >= least && chain <= most, "%d kernels in the longest chain, not %d to %d", chain, least, most);
    machine_down(&x);
}

/* Each branch keeps the order of the plan, and launches wait only for earlier launches. Without branches, each
 * launch waits for the previous one. */
static void well_formed(void)
{
    static machine x;
    static dg_branched at[400];
    const dg_job_options o = {.batch = 37, .last_batch = 5, .samples = 9, .rows = 79, .train = true};
    if (!planned(&x, "dcgan64", DG_MATH_FP32, DG_FUSE_branches, &o)) return;
    dg_plan *const plan[] = {&x.g.plan[DG_PLAN_TRAIN], &x.g.plan[DG_PLAN_TRAIN_SHORT], &x.g.plan[DG_PLAN_SAMPLE]};
    for (int i = 0; i < 3; i++) {
        const int n = dg_plan_pieces(plan[i]);
        int tail[DG_BRANCHES], used = 0;
        for (int k = 0; k < DG_BRANCHES; k++) tail[k] = -1;
        if (!DG_CHECK(n > 0 && n < 400 && !dg_plan_branch(plan[i], at))) continue;
        for (int j = 0; j < n; j++) {
            DG_CHECK(at[j].after[at[j].branch] == tail[at[j].branch] && at[j].chain > 0);
            for (int k = 0; k < DG_BRANCHES; k++)
                DG_CHECK(at[j].after[k] < j && (at[j].after[k] < 0 || at[at[j].after[k]].branch == k));
            tail[at[j].branch] = j;
        }
        for (int k = 0; k < DG_BRANCHES; k++) used += tail[k] >= 0;
        DG_CHECKF(used > 1, "plan %s does not branch", plan[i]->name);
        plan[i]->branches = false;
        DG_CHECK(!dg_plan_branch(plan[i], at));
        for (int j = 0; j < n; j++) DG_CHECK(at[j].branch == 0 && at[j].after[0] == j - 1);
        int chain;
        DG_CHECK(dg_plan_chain(plan[i], &chain) == DG_OK && chain == dg_plan_kernels(plan[i]));
    }
    machine_down(&x);
}

static bool in_turn(const dg_plan *p)
{
    static dg_branched at[400];
    int last = 0;
    if (!DG_CHECK(p->ops <= 400 && dg_plan_pieces(p) == p->ops && !dg_plan_branch(p, at))) return false;
    for (int i = 0; i < p->ops; i++) {
        if (!dg_is_conv(p->op[i].kind)) continue;
        if (at[i].chain <= last) return false;
        last = at[i].chain;
    }
    return true;
}

static void exclusive(void)
{
    static machine x;
    const dg_job_options o = {.batch = 37, .rows = 74, .train = true};
    if (!planned(&x, "dcgan64", DG_MATH_FP32, DG_FUSE_branches, &o)) return;
    dg_plan *p = &x.g.plan[DG_PLAN_TRAIN];
    for (int i = 0; i < p->ops; i++)
        if (dg_is_conv(p->op[i].kind)) p->op[i].tune.variant = &dg_conv_variant_tiled;
    DG_CHECKF(!in_turn(p), "all convolutions wait for one another");
    for (int i = 0; i < p->ops; i++)
        if (dg_is_conv(p->op[i].kind)) p->op[i].tune.variant = &dg_conv_variant_cublas;
    DG_CHECKF(in_turn(p), "two of an exclusive variant may run side by side");
    machine_down(&x);
}

int main(void)
{
    same_bits(false);
    same_bits(true);
    well_formed();
    exclusive();
    chains(DG_FUSE_ALL, 30, 30, 30);
    chains(DG_FUSE_NONE, 136, 136, 136);
    chains(DG_FUSE_branches, 136, 120, 100);
    return dg_test_report();
}
