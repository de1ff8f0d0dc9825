/* `dcgan bench`: what this machine can do at most, and how near the training step comes, measured in one run.
 *
 * The FMA peak is taken again in every round, between the steps, so that both see the same machine: clocks move,
 * and other programs come and go. Percentages are of the best peak of the run. */
#ifndef DG_BENCH_H
#define DG_BENCH_H

#include "backend.h"
#include "model.h"

/* Medians and bests of one quantity over the rounds. */
typedef struct {
    int n;
    double value[64]; /* the last 64 */
    double best;      /* the smallest */
} dg_timing;
void dg_timing_add(dg_timing *t, double value);
double dg_timing_median(const dg_timing *t);

typedef struct {
    char machine[128];       /* "AMD EPYC"; "" where the system does not say */
    double one, all;         /* GFLOP/s of one thread, of all: the best of the rounds; 0 not measured */
    double triad, read;      /* GB/s, all threads, best of the rounds; triad counts three arrays */
    double array_mb;         /* of one array */
    int rounds;
    double foreign;          /* cores that other programs used meanwhile; -1 unknown */
} dg_machine;

/* Memory bandwidth and the one-thread peak, `rounds` times each; and one more look at the peak of all threads. */
dg_err dg_machine_measure(dg_machine *m, dg_backend *b, int rounds);
void dg_machine_peak(dg_machine *m, dg_backend *b);

/* How busy the machine is apart from this process: call before and after. */
typedef struct {
    double wall, busy, own; /* seconds; busy < 0: unknown */
} dg_load;
void dg_load_start(dg_load *l);
double dg_load_foreign(const dg_load *start); /* cores, -1 unknown */

typedef struct {
    char name[40];
    const char *kind, *variant;
    double flops, bytes;
    dg_timing ms;
} dg_bench_op;

typedef struct {
    char model[64];
    int batch, ops;
    double flops;            /* of a step; convolutions counted as direct ones, padding taps included */
    dg_timing step;          /* ms of whole steps */
    dg_bench_op *op;
} dg_bench_model;

/* Train `rounds` steps on random pictures, whole and op by op; the peak is taken between them. DG_NUMBERS when
 * the step did not compute finite numbers: then its time means nothing. */
dg_err dg_bench_measure(dg_bench_model *r, dg_machine *m, const dg_model *model, int batch, int rounds, dg_backend *b);
void dg_bench_free(dg_bench_model *r);

void dg_bench_print(const dg_machine *m, const dg_bench_model *r, int n, const dg_backend *b);
dg_err dg_bench_json(const dg_machine *m, const dg_bench_model *r, int n, const dg_backend *b);

#endif
