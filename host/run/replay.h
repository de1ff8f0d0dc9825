/* A recorded run again, step by step, beside what was recorded. */
#ifndef DG_REPLAY_H
#define DG_REPLAY_H

#include "host/infer/oracle.h"

typedef struct {
    /* Called for each quantity: its largest difference from the recorded one, the largest value as 1; NaN where either
     * is no finite number. where: "worst step 3", or "". */
    void (*compared)(void *context, const char *name, double difference, const char *where);
    void *context;
} dg_replay_report;

/* The first `steps` steps: gradients of the first, every metric, and after all steps weights and samples. m: (steps),
 * the metrics of each. */
dg_err dg_replay(const dg_oracle *o, dg_backend *b, int steps, const dg_replay_report *report, dg_metrics *m);

#endif
