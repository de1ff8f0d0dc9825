/* Time every size of a range for an equal time, and apply each rule to the resulting curve. */
#ifndef DG_BATCH_SWEEP_H
#define DG_BATCH_SWEEP_H

#include "host/measure/batch_rule.h"
#include "host/measure/batch_time.h"
#include "host/options/sweep_range.h"

typedef struct {
    dg_batch_row *row;
    int rows;
    char why_not[160]; /* why the range ended early, or "" */
} dg_sweep;

/* Time all sizes up to the first that does not fit, each for `seconds`. Free s after errors too. */
dg_err dg_sweep_run(dg_batch_bench *b, const dg_sweep_range *range, double seconds, dg_sweep *s);
void dg_sweep_free(dg_sweep *s);

/* The GPU utilisation that NVML reports, if known, otherwise the share of time in which the device was busy;
 * percent. */
double dg_sweep_usage(const dg_batch_row *r);

/* Time and utilisation for this batch size, interpolated linearly between two measured sizes. */
dg_batch_row dg_sweep_at(const dg_sweep *s, int batch);

/* Run a published rule (dg_sweep_rule) or the search (dg_sweep_search: returns the chosen batch, 0: none) on the curve.
 * Sizes above the last of the curve are assumed not to fit. */
void dg_sweep_rule(const dg_sweep *s, dg_batch_rule_kind kind, int from, int images, dg_batch_rule *out);
int dg_sweep_search(dg_sweep *s, const dg_search_limits *l);

int dg_sweep_after(const dg_sweep_range *r, int batch);

#endif
