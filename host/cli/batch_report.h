/* The results of `dcgan batch` as tables and JSON on stdout, and those of a sweep as files. */
#ifndef DG_BATCH_REPORT_H
#define DG_BATCH_REPORT_H

#include "host/measure/batch_sweep.h"

typedef struct {
    const dg_batch_bench *bench;
    const dg_search_limits *limits;
    dg_batch_row *row;
    int rows, chosen;          /* chosen: index, -1: none */
    const char *why;           /* NULL: nothing was chosen */
    const dg_batch_rule *rule; /* NULL: none ran */
    double seconds;            /* of the command */
} dg_batch_found;

/* The network, the device, the number of images. */
void dg_batch_print_head(const dg_batch_bench *b);
/* A row for each size, without the columns of which nothing is known, and what disturbed the times. */
void dg_batch_print(const dg_batch_found *f);
dg_err dg_batch_json(const dg_batch_found *f);

/* A round of a rule that has ended, with a head before the first, and what the rule chose:
 * "epoch-time: 96 in round 10: an epoch takes 8.5% less than at 32." */
void dg_rule_print_round(const dg_batch_rule *r);
void dg_rule_sentence(const dg_batch_rule *r, char *out, size_t size);

/* sweep.csv, rules.csv, time.png and usage.png into an existing directory. rule: of all DG_RULES; ours: the search's
 * choice on the curve, 0: none. */
dg_err dg_sweep_write(const dg_batch_found *f, const dg_sweep *s, const dg_batch_rule *rule, int ours, const char *dir);

#endif
