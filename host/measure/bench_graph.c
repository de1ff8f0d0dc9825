/* Times of launches as differences of CUDA graphs. Events between launches would prevent their overlap. */
#include "host/measure/bench.h"
#include "host/measure/trial.h"

enum { WARM = 2, GRAPH_ROUNDS = 5, MOST_LAUNCHES = 4096, GRAPHS = 7 };

/* Returns the number of steps per measurement, which take about 40 ms: short launches need many runs. */
static int steps_of(double ms)
{
    const double n = ms > 0 ? 40 / ms : DG_TRIAL_STEPS;
    return n < 2 ? 2 : n < DG_TRIAL_STEPS ? (int)n : DG_TRIAL_STEPS;
}

/* Returns the shortest time in us of a run of the plan's first n launches. */
static dg_err shortest(dg_trial *t, int n, int steps, int rounds, double *us)
{
    dg_backend *b = t->job.backend;
    const int graphs = steps > GRAPHS ? GRAPHS : 1, most = MOST_LAUNCHES / n;
    int runs = steps / (1 + graphs); /* the first graph is not timed */
    if (runs > most) runs = most > 0 ? most : 1;
    dg_err e = DG_OK;
    for (int i = 0; i < rounds && i < GRAPH_ROUNDS && !e; i++) {
        double ms = 0;
        e = dg_trial_rewind(t);
        if (!e) e = b->time_graph(b, &t->job.plan[DG_PLAN_TRAIN], n, runs, graphs, &ms);
        if (i == 0 || 1e3 * ms < *us) *us = 1e3 * ms;
    }
    return e;
}

dg_err dg_bench_graphs(dg_bench_model *r, const dg_model *model, int rounds, dg_backend *b)
{
    dg_trial t;
    double ms = 0, before = 0;
    dg_err e = dg_trial_open(&t, model, r->batch, b);
    for (int i = 0; i < WARM && !e; i++) e = dg_trial_steps(&t, 1, &ms);
    for (int i = 0; i < r->launches && !e; i++) {
        double us = 0;
        e = shortest(&t, i + 1, steps_of(ms), rounds, &us);
        r->launch[i].graph_us = us - before;
        before = us;
    }
    r->graph_us = before;
    dg_trial_close(&t);
    return e;
}

dg_launch_sum dg_bench_sum(const dg_bench_model *r, const dg_bench_launch *l)
{
    const dg_prediction *p = &r->op[l->op].predicted;
    if (!l->cost.kernels) return (dg_launch_sum){.blocks = p->blocks, .us = p->us};
    dg_launch_sum s = {.us = 0};
    for (int k = 0; k < l->cost.kernels; k++) {
        const dg_cost *c = &l->cost.kernel[k];
        s.blocks += c->blocks;
        s.us += c->us;
        s.instructions += c->instructions;
    }
    return s;
}
