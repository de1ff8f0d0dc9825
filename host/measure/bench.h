/* Measurements of `dcgan bench` and `dcgan profile`: peak rates of the machine, and times of the training step, as a
 * whole and op by op. Percentages are relative to the highest measured peak FLOP/s. */
#pragma once

#include "core/plan/backend.h"
#include "host/net/model.h"
#include "kernels/fused/predict_plan.h"

typedef struct {
    int n;
    double value[64];
    double best;
} dg_timing;
void dg_timing_add(dg_timing *t, double value);
double dg_timing_median(const dg_timing *t);

typedef struct {
    char name[40];
    const char *kind;
    const dg_variant *variant;
    double flops, bytes;
    dg_timing ms;
    dg_prediction predicted;
} dg_bench_op;

typedef struct {
    int op;
    double graph_us; /* measured in CUDA graphs by dg_bench_graphs() */
    dg_launch_cost cost;
} dg_bench_launch;

typedef struct {
    char model[64];
    int batch, ops;
    int kernels, chain; /* number of kernels (CPU: ops) per step, and in the longest dependent chain */
    int in_flight;
    double flops, bytes; /* per step; flops of convolutions include products with padding */
    double predicted_us; /* sum over all ops, ignoring concurrency */
    dg_timing step;
    double graph_us; /* time of a step in a CUDA graph: the sum over the launches; 0: not measured */
    dg_bench_op *op;
    dg_bench_launch *launch; /* in order of execution; without fused launches each op; NULL on a CPU */
    int launches;
} dg_bench_model;

/* Time training steps on random images, as whole steps and op by op. Measure the peak FLOP/s between the steps. Returns
 * DG_NUMBERS if a metric is not finite. */
dg_err dg_bench_measure(dg_bench_model *r, dg_machine *m, const dg_model *model, int batch, int rounds, dg_backend *b);

/* After dg_bench_measure(): times CUDA graphs of the first 1, 2, ... launches of a step, at most GRAPH_ROUNDS times.
 * The time of a launch is the difference of two graphs, so the times of all launches add up to the time of a step. A
 * difference is below 0 if a launch ends before one that is earlier in the plan. The backend must have time_graph. */
dg_err dg_bench_graphs(dg_bench_model *r, const dg_model *model, int rounds, dg_backend *b);

typedef struct {
    double blocks, us;   /* of all kernels of the launch; us: predicted */
    double instructions; /* instructions that a warp slot executes; 0: the launch has no counts */
} dg_launch_sum;
dg_launch_sum dg_bench_sum(const dg_bench_model *r, const dg_bench_launch *l);

dg_err dg_bench_predict(dg_bench_model *r, const dg_machine *m, const dg_plan *p, const char *model, int batch);
void dg_bench_free(dg_bench_model *r);

static inline double dg_percent(double part, double of) { return of > 0 ? 100 * part / of : 0; }
static inline double dg_gflops(double flops, double ms) { return ms > 0 ? flops / ms * 1e-6 : 0; }

dg_err dg_bench_json(const dg_machine *m, const dg_bench_model *r, int n, const char *device);
