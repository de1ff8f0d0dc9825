/* `dcgan bench` and `dcgan profile`: what the machine can do at most, and how near the training step comes, whole and
 * op by op, measured in one run. bench shows the step and the kinds of ops, profile every op with its prediction; the
 * JSON object is the same.
 *
 * The arithmetic peak is taken again in every round, between the steps, so that both see the same machine: clocks
 * move, and other programs come and go. Percentages are of the best peak of the run. */
#ifndef DG_BENCH_H
#define DG_BENCH_H

#include "core/plan/backend.h"
#include "host/net/model.h"
#include "kernels/fused/predict_plan.h"

/* Medians and bests of one quantity over the rounds. */
typedef struct {
    int n;
    double value[64]; /* the last 64 */
    double best;      /* the smallest */
} dg_timing;
void dg_timing_add(dg_timing *t, double value);
double dg_timing_median(const dg_timing *t);

typedef struct {
    char name[40];
    const char *kind;
    const dg_variant *variant; /* NULL: not chosen */
    double flops, bytes;
    dg_timing ms; /* n is 0 where nothing was measured */
    dg_prediction predicted;
} dg_bench_op;

/* A launch of a GPU; of one that is not fused the numbers are the op's. */
typedef struct {
    int op; /* its main one */
    dg_launch_cost cost;
} dg_bench_launch;

typedef struct {
    char model[64];
    int batch, ops;
    int kernels, chain;  /* in all; in the longest chain of those that wait for one another. Of a CPU the ops */
    int in_flight;       /* steps that were enqueued together to be timed */
    double flops, bytes; /* of a step; convolutions counted as direct ones, padding taps included */
    double predicted_us; /* all ops, one after another: what runs side by side is counted as if it did not */
    dg_timing step;      /* ms of whole steps */
    dg_bench_op *op;
    dg_bench_launch *launch; /* in order; of a CPU there are none */
    int launches;
} dg_bench_model;

/* Train `rounds` times on random images, whole and op by op; the peak is taken between them. DG_NUMBERS when
 * the step did not compute finite numbers: then its time means nothing. */
dg_err dg_bench_measure(dg_bench_model *r, dg_machine *m, const dg_model *model, int batch, int rounds, dg_backend *b);

/* The table without a time: what this plan should take on m. */
dg_err dg_bench_predict(dg_bench_model *r, const dg_machine *m, const dg_plan *p, const char *model, int batch);
void dg_bench_free(dg_bench_model *r);

/* device is the backend's name. */
dg_err dg_bench_json(const dg_machine *m, const dg_bench_model *r, int n, const char *device);

#endif
