/* Dependencies between the launches of a plan. If the backend does not fuse, each op is a launch. Two launches depend
 * on each other if one of them writes memory that the other uses, or if both are exclusive (dg_variant). A branch is a
 * sequence of launches that run in plan order. A captured CUDA graph runs the branches concurrently. */
#pragma once

#include "core/plan/plan.h"

enum { DG_BRANCHES = 8 };

typedef struct {
    int branch;
    /* the last launch of each branch that must end before this launch begins, or -1 */
    int after[DG_BRANCHES];
    /* number of kernels in the longest chain of dependent launches that ends with this launch */
    int chain;
} dg_branched;

int dg_plan_pieces(const dg_plan *p);

/* Computes the dependencies of all launches. `out` has one entry per launch. Requires a placed plan (dg_arena_place).
 * If p->branches is false, the launches form one chain. Returns DG_DEVICE if memory runs out. */
dg_err dg_plan_branch(const dg_plan *p, dg_branched *out);

/* Finds which pairs of tensors may share memory, before tensors are placed. *out is a matrix [tensor][tensor], which
 * the caller frees. An entry is true if all launches that use one tensor end before the launches that use the other
 * tensor begin. Returns DG_DEVICE if memory runs out. */
dg_err dg_plan_apart(const dg_plan *p, bool **out);

/* Counts the kernels in the longest chain of dependent launches. Returns DG_DEVICE if memory runs out. */
dg_err dg_plan_chain(const dg_plan *p, int *longest);
int dg_plan_kernels(const dg_plan *p);
