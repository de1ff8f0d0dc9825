/* Dependencies between the launches of a plan. Two launches may run concurrently unless one of them writes memory that
 * the other uses. A captured graph runs the branches concurrently. */
#ifndef DG_BRANCHES_H
#define DG_BRANCHES_H

#include "core/plan/plan.h"

enum { DG_BRANCHES = 8 };

/* A piece: a launch of the plan or, without launches, an op. */
typedef struct {
    int branch; /* the pieces of a branch run in plan order */
    /* per branch: the last piece that must end before this piece begins; -1: no wait, or another wait implies it */
    int after[DG_BRANCHES];
    /* number of kernels in the longest chain of dependent pieces that ends with this piece */
    int chain;
} dg_branched;

int dg_plan_pieces(const dg_plan *p);

/* Computes the dependencies of all pieces; out: one per piece. Requires a placed plan (dg_arena_place). If p->branches
 * is false, the pieces form one chain. DG_DEVICE: out of memory. */
dg_err dg_plan_branch(const dg_plan *p, dg_branched *out);

/* Finds, before placing, which work rows may share memory. *out: [row][row], freed by the caller; an entry is true if
 * the pieces that use the two rows never run concurrently. DG_DEVICE: out of memory. */
dg_err dg_plan_apart(const dg_plan *p, bool **out);

/* Counts the kernels in the longest chain of dependent pieces. DG_DEVICE: out of memory. */
dg_err dg_plan_chain(const dg_plan *p, int *longest);
int dg_plan_kernels(const dg_plan *p);

#endif
