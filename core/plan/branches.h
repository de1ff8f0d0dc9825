/* Dependencies between the launches of a plan; if the backend does not fuse, each op is a launch. Two launches depend
 * on each other if one of them writes memory that the other uses, or if both are exclusive (dg_variant). A captured
 * CUDA graph runs the branches of a plan concurrently. */
#ifndef DG_BRANCHES_H
#define DG_BRANCHES_H

#include "core/plan/plan.h"

enum { DG_BRANCHES = 8 };

typedef struct {
    int branch; /* the launches of a branch run in plan order */
    /* per branch: the last launch that must end before this launch begins; -1: no wait is needed */
    int after[DG_BRANCHES];
    /* number of kernels in the longest chain of dependent launches that ends with this launch */
    int chain;
} dg_branched;

int dg_plan_pieces(const dg_plan *p);

/* Computes the dependencies of all launches; out: one entry per launch. Requires a placed plan (dg_arena_place). If
 * p->branches is false, the launches form one chain. DG_DEVICE: out of memory. */
dg_err dg_plan_branch(const dg_plan *p, dg_branched *out);

/* Finds, before tensors are placed, which pairs of tensors may share memory. *out: matrix [tensor][tensor], freed by
 * the caller; an entry is true if all launches that use one tensor end before any launch that uses the other begins.
 * DG_DEVICE: out of memory. */
dg_err dg_plan_apart(const dg_plan *p, bool **out);

/* Counts the kernels in the longest chain of dependent launches. DG_DEVICE: out of memory. */
dg_err dg_plan_chain(const dg_plan *p, int *longest);
int dg_plan_kernels(const dg_plan *p);

#endif
