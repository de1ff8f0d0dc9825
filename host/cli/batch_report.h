/* Output of `dcgan batch`: tables and JSON on stdout, and the files of --sweep. */
#ifndef DG_BATCH_REPORT_H
#define DG_BATCH_REPORT_H

#include "host/measure/batch_sweep.h"

typedef struct {
    const dg_batch_bench *bench;
    const dg_search_limits *limits;
    dg_batch_row *row;
    int rows, chosen; /* chosen: index into row, -1: none */
    const char *why;
    const dg_batch_rule *rule; /* NULL: no rule was run */
    double seconds;
} dg_batch_found;

void dg_batch_print_head(const dg_batch_bench *b);
/* Print one row per batch size, and notes on what disturbed the times. Columns without values are omitted. */
void dg_batch_print(const dg_batch_found *f);
dg_err dg_batch_json(const dg_batch_found *f);

/* Print the last round of a rule. The call for round 0 prints the table head first. */
void dg_rule_print_round(const dg_batch_rule *r);
/* Describe a rule's choice: "epoch-time: 96 in round 10: ...". */
void dg_rule_sentence(const dg_batch_rule *r, char *out, size_t size);

/* Write sweep.csv, rules.csv, time.png and usage.png to dir. rule: the results of all DG_RULES rules. ours: the size
 * that the search chooses on the curve, 0: none. */
dg_err dg_sweep_write(const dg_batch_found *f, const dg_sweep *s, const dg_batch_rule *rule, int ours, const char *dir);

#endif
