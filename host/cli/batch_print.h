/* What `dcgan batch` found, as tables on stdout. */
#ifndef DG_BATCH_PRINT_H
#define DG_BATCH_PRINT_H

#include "host/measure/batch_rule.h"
#include "host/measure/batch_time.h"

/* Which network on which device, and of how many pictures; whether the times mean anything. */
void dg_batch_print_head(const dg_batch_bench *b);

/* A row for each size, the chosen one (its place, -1: none) with a mark. Columns that nothing is known of are left
 * out. */
void dg_batch_print_rows(const dg_batch_bench *b, const dg_search_limits *l, const dg_batch_row *row, int rows,
                         int chosen);
/* What NVML's number is; and which other programs ran meanwhile. */
void dg_batch_print_notes(const dg_batch_bench *b, const dg_batch_row *row, int rows);

/* The rounds of a published rule, as they end, and what it chose. */
void dg_rule_print_head(const dg_batch_rule *r);
void dg_rule_print_round(const dg_batch_rule *r);
/* "epoch-time: 96 in round 10: an epoch takes 8.5% less than at 32." */
void dg_rule_sentence(const dg_batch_rule *r, char *out, size_t size);

#endif
