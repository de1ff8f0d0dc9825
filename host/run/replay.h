/* Repeats a recorded training run step by step and compares the results with the record. */
#pragma once

#include "host/infer/oracle.h"

typedef struct {
    /* Called for each compared quantity. `difference` is max |computed - recorded| / max |recorded|, or NaN. `where` is
     * such as "worst step 3", or "". */
    void (*compared)(void *context, const char *name, double difference, const char *where);
    void *context;
} dg_replay_report;

/* Run `steps` steps. Compare gradients of step 0, all metrics m (steps), and the final weights and samples. */
dg_err dg_replay(const dg_oracle *o, dg_backend *b, int steps, const dg_replay_report *report, dg_metrics *m);
