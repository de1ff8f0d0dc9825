/* Which launches of a plan need which. What the plan says one after the other may run side by side where no launch
 * reads or writes memory that the other writes: a captured graph has as many branches as that allows. */
#ifndef DG_BRANCHES_H
#define DG_BRANCHES_H

#include "core/plan/plan.h"

enum { DG_BRANCHES = 8 };

/* Of one piece: a launch of the plan or, where it has none, an op. */
typedef struct {
    int branch; /* the pieces of a branch run in the order of the plan */
    /* the last piece of each branch that has to end first, -1: none, or another one waits for it */
    int after[DG_BRANCHES];
    /* kernels in the longest chain of pieces each of which waits for the one in front, up to this one */
    int chain;
} dg_branched;

int dg_plan_pieces(const dg_plan *p);

/* What piece i needs; out has room for all pieces. p has places (dg_arena_place). Where the plan does not branch
 * (p->branches) they are one chain. DG_DEVICE: out of memory. */
dg_err dg_plan_branch(const dg_plan *p, dg_branched *out);

/* Before work rows have places: which of them may share one. [row][row] of the arena, the caller frees it: no piece
 * that uses the one can run beside a piece that uses the other. DG_DEVICE: out of memory. */
dg_err dg_plan_apart(const dg_plan *p, bool **out);

/* Kernels in the longest chain. DG_DEVICE: out of memory. */
dg_err dg_plan_chain(const dg_plan *p, int *longest);
int dg_plan_kernels(const dg_plan *p);

#endif
