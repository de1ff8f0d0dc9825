/* Every size of a range for the same time: the curves of time and usage over the batch, and what each rule would choose
 * on them. */
#ifndef DG_BATCH_SWEEP_H
#define DG_BATCH_SWEEP_H

#include "host/measure/batch_rule.h"
#include "host/measure/batch_time.h"
#include "host/options/sweep_range.h"

typedef struct {
    dg_batch_row *row;
    int rows;
    char why_not[160]; /* of the size at which it ended before its last; "" */
} dg_sweep;

/* Time all sizes up to the first that does not fit, each for so many seconds. To be freed after errors, too. */
dg_err dg_sweep_run(dg_batch_bench *b, const dg_sweep_range *range, double seconds, dg_sweep *s);
void dg_sweep_free(dg_sweep *s);

/* What NVML says where it is there, else how busy the machine was, percent. */
double dg_sweep_usage(const dg_batch_row *r);

/* On the curve, straight lines between its sizes: what a published rule does, round by round, and which batch our
 * search chooses. Beyond the last size nothing is known, and none fits. */
void dg_sweep_rule(const dg_sweep *s, dg_batch_rule_kind kind, int from, int pictures, dg_batch_rule *out);
int dg_sweep_search(const dg_sweep *s, const dg_search_limits *l);

/* sweep.csv, rules.csv, time.png and usage.png into a directory that is there. rule: of all DG_RULES. */
dg_err dg_sweep_write(const dg_sweep *s, const dg_search_limits *l, const dg_batch_rule *rule, int ours,
                      const char *title, const char *dir);

/* The size after this one, 0: it was the last. */
int dg_sweep_after(const dg_sweep_range *r, int batch);

#endif
