/* Dependencies between the launches of a plan. Launches may run concurrently unless one writes memory that the other
 * uses; a captured graph has these branches. */
#ifndef DG_BRANCHES_H
#define DG_BRANCHES_H

#include "core/plan/plan.h"

enum { DG_BRANCHES = 8 };

/* A piece: a launch of the plan or, without launches, an op. */
typedef struct {
    int branch; /* the pieces of a branch run in plan order */
    /* per branch: the last piece that must end before this one begins; -1: none, or implied by another wait */
    int after[DG_BRANCHES];
    /* kernels in the longest chain of dependent pieces up to this one */
    int chain;
} dg_branched;

int dg_plan_pieces(const dg_plan *p);

/* Computes the dependencies of all pieces; out: one per piece. Requires a placed plan (dg_arena_place). If p->branches
 * is false, the pieces form one chain. DG_DEVICE: out of memory. */
dg_err dg_plan_branch(const dg_plan *p, dg_branched *out);

/* Finds, before placing, which work rows may share memory. *out: [row][row] of the arena, freed by the caller, true if
 * the pieces that use the two rows never run concurrently. DG_DEVICE: out of memory. */
dg_err dg_plan_apart(const dg_plan *p, bool **out);

/* Counts the kernels in the longest chain of dependent pieces. DG_DEVICE: out of memory. */
dg_err dg_plan_chain(const dg_plan *p, int *longest);
int dg_plan_kernels(const dg_plan *p);

#endif
