/* Every size of a range for the same time, and what each rule chooses on the curve of these times. */
#ifndef DG_BATCH_SWEEP_H
#define DG_BATCH_SWEEP_H

#include "host/measure/batch_rule.h"
#include "host/measure/batch_time.h"
#include "host/options/sweep_range.h"

typedef struct {
    dg_batch_row *row;
    int rows;
    char why_not[160]; /* why it ended before its last size; "" */
} dg_sweep;

/* Time all sizes up to the first that does not fit, each for so many seconds. To be freed after errors too. */
dg_err dg_sweep_run(dg_batch_bench *b, const dg_sweep_range *range, double seconds, dg_sweep *s);
void dg_sweep_free(dg_sweep *s);

/* NVML's utilisation where it is known, else how busy the device was, in percent. */
double dg_sweep_usage(const dg_batch_row *r);

/* A row with time and usage of this batch, by a straight line between two sizes of the curve. */
dg_batch_row dg_sweep_at(const dg_sweep *s, int batch);

/* On the curve: what a published rule does, and which batch the search chooses (0: none). Sizes above the last one of
 * the curve do not fit. */
void dg_sweep_rule(const dg_sweep *s, dg_batch_rule_kind kind, int from, int images, dg_batch_rule *out);
int dg_sweep_search(dg_sweep *s, const dg_search_limits *l);

/* The size after this one, 0: it was the last. */
int dg_sweep_after(const dg_sweep_range *r, int batch);

#endif
