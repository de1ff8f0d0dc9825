/* What `dcgan batch` found, as JSON on stdout. */
#ifndef DG_BATCH_JSON_H
#define DG_BATCH_JSON_H

#include "host/measure/batch_rule.h"
#include "host/measure/batch_time.h"

/* One object: what was timed, with all samples, what was chosen and why (NULL: nothing was), and the rounds of a rule
 * (NULL: none), which took so many seconds. */
dg_err dg_batch_json(const dg_batch_bench *b, const dg_search_limits *l, const dg_batch_row *row, int rows, int chosen,
                     const char *why, const dg_batch_rule *rule, double seconds);

#endif
