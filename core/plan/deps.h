/* Who needs whom among the ops of a plan: the one analysis that placing, fusing and branching ask. Linear in the ops.
 */
#ifndef DG_DEPS_H
#define DG_DEPS_H

#include "core/plan/plan.h"

/* Bytes [from, to) of a row that an op reads or writes through one of its operands. */
typedef struct {
    int op, operand, row;
    size_t from, to;
    bool written;
    bool beyond;  /* the operand's own row is one before: it goes on through all rows of a network */
    bool metrics; /* some values of the ring's row of this step, which no other op writes */
} dg_access;

typedef struct {
    dg_access *access; /* by op, in the order of its operands */
    int *of_op;        /* [ops + 1]: where those of each begin */
    int *by_row;       /* numbers of accesses, by row, in the order of the ops */
    int *of_row;       /* [rows + 1]: where those of each begin */
    int *writer;       /* [ops * DG_MAX_OPERANDS] */
    int ops, rows;
} dg_deps;

/* Looks at the plan as it is: its ops, their operands, the rows of its arena, wherever they lie. DG_DEVICE: out of
 * memory. Free it after errors, too. */
dg_err dg_deps_find(dg_deps *d, const dg_plan *p);
void dg_deps_free(dg_deps *d);

/* The op that wrote the row of this operand last before op number `op`; -1: none of this plan. */
int dg_deps_writer(const dg_deps *d, int op, int operand);

/* Must these two keep their order? One of them writes what the other one touches. Only of accesses to the same row. */
bool dg_deps_conflict(const dg_access *a, const dg_access *b);

#endif
