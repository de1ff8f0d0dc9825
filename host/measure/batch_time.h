/* Measures the step times of batch sizes. For each size, a network is built as for training, runs training steps with
 * learning rates of 0, so that its weights stay constant, and is freed. */
#ifndef DG_BATCH_TIME_H
#define DG_BATCH_TIME_H

#include <signal.h>

#include "core/tune/machine.h"
#include "host/data/dataset.h"
#include "host/data/loader.h"
#include "host/measure/batch_rule.h"
#include "host/measure/nvml.h"
#include "host/options/options.h"
#include "host/options/sweep_range.h"
#include "host/trainer/fit.h"
#include "host/trainer/position.h"

/* Shared by all sizes. The caller sets the members above the empty line. */
typedef struct {
    const dg_options *o;
    const dg_model *model;
    dg_backend *backend;
    const dg_dataset *data;
    const volatile sig_atomic_t *stop;          /* if not 0, stop with DG_FAILED after the current step; may be NULL */
    long steps;                                 /* steps per round; 0: measurements have a time limit */
    void (*progress)(void *context, int batch); /* called before a size is timed; may be NULL */
    void *context;

    dg_room room;
    dg_machine machine; /* the peak FLOP/s is measured once per size, and the best value is kept */
    dg_nvml *nvml;      /* NULL: NVML is not available; no_nvml has the reason */
    const char *no_nvml;
    uint8_t *records; /* NULL: the recipe reads no labels */
    dg_busy load;
    double began;
} dg_batch_bench;

dg_err dg_batch_bench_open(dg_batch_bench *b);
/* Keeps `room` and `machine`. */
void dg_batch_bench_close(dg_batch_bench *b);

typedef struct {
    dg_batch_bench *bench;
    dg_job job;
    dg_loader feed;
    dg_position at;
    bool begun;
    int ahead;
    double usage_at, cpu_at; /* dg_clock() and CPU seconds at the last measurement of the usage */
} dg_batch_trial;

/* Build a network for this batch size, and run some steps to warm up. why: "", or the reason why the network does not
 * fit; then there is nothing to close. DG_NUMBERS: values are not finite. */
dg_err dg_batch_open(dg_batch_trial *t, dg_batch_bench *b, int batch, char why[160]);
void dg_batch_close(dg_batch_trial *t);

/* Time one size for most_seconds; DG_DEVICE: the size does not fit. */
dg_err dg_batch_time(dg_batch_bench *b, int batch, double most_seconds, dg_batch_row *row);

/* Returns the limits of the search for these options and this number of images. */
dg_batch_limits dg_batch_limits_of(const dg_options *o, int images);

/* Choose a size by a rule and measurements on the device. DG_DEVICE: not even the first size of the search fits. */
dg_err dg_batch_find(dg_batch_bench *b, dg_batch_rule rule, const dg_batch_limits *limits, dg_batch_table *t);

/* The times of a range of sizes. */
typedef struct {
    dg_batch_row *row;
    int rows;
    char why_not[160]; /* why the range ended early, or "" */
} dg_sweep;

/* Time all sizes up to the first that does not fit, each for `seconds`. The caller frees s->row, after errors too. */
dg_err dg_sweep_run(dg_batch_bench *b, const dg_sweep_range *range, double seconds, dg_sweep *s);

/* Returns the GPU utilisation that NVML reports; if unknown, the percentage of time in which the device was busy. */
double dg_sweep_usage(const dg_batch_row *r);

/* Time and utilisation (busy) for this batch size, interpolated linearly between two measured sizes. */
dg_batch_row dg_sweep_at(const dg_sweep *s, int batch);

/* Choose a size by a rule and the measured curve. Sizes above the curve's last size are assumed not to fit. */
void dg_sweep_choose(dg_sweep *s, dg_batch_rule rule, const dg_batch_limits *l, dg_batch_table *t);

#endif
