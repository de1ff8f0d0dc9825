/* Uses the cost model to divide a fused update among its blocks. */
#include "kernels/fused/fused_update.h"

#include "core/base/math.h"
#include "core/tune/cost.h"

static bool is_divided(dg_fused_family kind)
{
    return dg_update_has_factors(kind) || kind == DG_FUSED_THIN_MMA || kind == DG_FUSED_THIN;
}

typedef struct {
    double begin, unit;
} block_ns;

/* Costs of a fused update. If `counted`, the instruction counts of every job's kernel are known. */
typedef struct {
    bool counted;
    dg_machine machine; /* always an H100, so that all GPUs divide and order sums equally */
    const dg_counted *counts[DG_UPDATE_JOBS];
    block_ns job[DG_UPDATE_JOBS];
} update_costs;

/* Only the time of DG_FUSED_MMA was measured (on an H100). */
static block_ns assumed_ns(const dg_update_work *w, dg_math math)
{
    const bool bf16 = math == DG_MATH_BF16;
    const double thin = !bf16 ? 1100 : w->y.kind == DG_PROLOGUE_PLAIN ? 270 : 660;
    const double unit[] = {[DG_FUSED_NONE] = 0,
                           [DG_FUSED_MMA] = 1200,
                           [DG_FUSED_WGMMA] = 500,
                           [DG_FUSED_THIN] = 1000 * w->conv.Ci,
                           [DG_FUSED_THIN_MMA] = thin * w->conv.Ci,
                           [DG_FUSED_GEMV] = 80,
                           [DG_FUSED_DENSE] = 1000};
    return (block_ns){4000, unit[w->kind]};
}

static void costs_of(const dg_fused_update *u, const dg_update_work *work, update_costs *c)
{
    const dg_math math = dg_update_math(u);
    c->counted = !dg_machine_find("h100", DG_F32, &c->machine);
    for (int i = 0; i < u->jobs && c->counted; i++) {
        bool near = false;
        dg_cost_part part;
        dg_update_part(&work[i], math, &part);
        const dg_counted *row = c->counts[i] = dg_counted_find(part.kind, &near);
        c->counted = row && !near;
        if (!c->counted) break;
        c->job[i].begin = dg_block_ns(row, 0, &c->machine);
        c->job[i].unit = dg_block_ns(row, 1, &c->machine) - c->job[i].begin;
    }
    for (int i = 0; i < u->jobs && !c->counted; i++) c->job[i] = assumed_ns(&work[i], math);
}

static double each_ns(block_ns b, const dg_update_work *w)
{
    return b.begin + b.unit * dg_ceil_div(w->units, w->parts);
}

static void sort_jobs(const dg_fused_update *u, const update_costs *c, const dg_update_work *work, int *place)
{
    double each[DG_UPDATE_JOBS];
    for (int i = 0; i < u->jobs; i++) {
        int at = i;
        each[i] = each_ns(c->job[i], &work[i]);
        for (; at > 0 && each[place[at - 1]] < each[i]; at--) place[at] = place[at - 1];
        place[at] = i;
    }
}

void dg_update_order(const dg_fused_update *u, const dg_update_work *work, int *place)
{
    update_costs costs;
    costs_of(u, work, &costs);
    sort_jobs(u, &costs, work, place);
}

enum { UNITS = 132 };

/* Returns the time in ns of an update whose kernels have no counts. */
static double assumed_update_ns(const dg_fused_update *u, const update_costs *c, const dg_update_work *work)
{
    int place[DG_UPDATE_JOBS];
    dg_cost_run run[DG_UPDATE_JOBS];
    double parts = 0;
    sort_jobs(u, c, work, place);
    for (int i = 0; i < u->jobs; i++) {
        const dg_update_work *w = &work[place[i]];
        run[i] = (dg_cost_run){each_ns(c->job[place[i]], w), w->producers};
        if (w->parts > 1) parts += 4.0 * w->parts * (double)w->count;
    }
    return dg_cost_makespan(run, u->jobs, UNITS) + parts / 2000;
}

static double estimated(const dg_fused_update *u, const update_costs *c, const dg_update_work *work)
{
    int place[DG_UPDATE_JOBS];
    dg_cost_part part[DG_UPDATE_JOBS], adam;
    dg_cost first, second;
    sort_jobs(u, c, work, place);
    for (int i = 0; i < u->jobs; i++) {
        dg_update_part(&work[place[i]], dg_update_math(u), &part[i]);
        part[i].counted = c->counts[place[i]];
    }
    dg_update_adam_part(work, u->jobs, u->adam.n, dg_update_math(u), &adam);
    if (!dg_cost_of(part, u->jobs, 0, &c->machine, &first) || !dg_cost_of(&adam, 1, 0, &c->machine, &second)) return 0;
    return (first.us + second.us) * 1e3;
}

void dg_fused_update_split(dg_fused_update *u)
{
    enum { TRIED = 60 };
    dg_update_work work[DG_UPDATE_JOBS];
    update_costs costs;
    int best[DG_UPDATE_JOBS] = {0};
    double least = -1, longest = 5e3;
    for (int i = 0; i < u->jobs; i++) work[i] = dg_update_work_of(&u->job[i]);
    costs_of(u, work, &costs);
    for (int t = 0; t < TRIED; t++) {
        bool same = t > 0;
        for (int i = 0; i < u->jobs; i++) {
            if (!is_divided((dg_fused_family)work[i].kind)) continue;
            const int before = work[i].parts;
            work[i].parts = 1;
            const double all = each_ns(costs.job[i], &work[i]);
            work[i].parts = dg_min(dg_min((int)(all / longest) + 1, work[i].units), DG_UPDATE_PARTS);
            work[i].producers = work[i].rows * work[i].cols * work[i].parts;
            same = same && work[i].parts == before;
        }
        longest *= 1.12;
        if (same) continue;
        const double ns = costs.counted ? estimated(u, &costs, work) : assumed_update_ns(u, &costs, work);
        if (least >= 0 && ns > (costs.counted ? 1.002 : 1.01) * least) continue;
        if (least < 0 || ns < least) least = ns;
        for (int i = 0; i < u->jobs; i++) best[i] = work[i].parts;
    }
    for (int i = 0; i < u->jobs; i++)
        if (is_divided((dg_fused_family)work[i].kind)) u->job[i].tune.split = best[i];
}
