/* Dependencies between the ops of a plan, for the passes that place tensors, fuse ops and find branches. */
#pragma once

#include "core/plan/plan.h"

/* An operand's access to bytes [from, to) of a tensor. */
typedef struct {
    int op, operand, row;
    size_t from, to;
    bool written;
    bool beyond;  /* the operand begins in an earlier tensor and extends through all tensors of a network */
    bool metrics; /* the op writes metrics of this step, and no other op writes these values */
} dg_access;

typedef struct {
    dg_access *access;
    int *of_op;
    int *by_row;
    int *of_row;
    int *writer;
    int ops, rows;
} dg_deps;

/* Finds the dependencies of the plan's ops, even before tensors are placed. Returns DG_DEVICE if memory runs out. The
 * caller must free d even after an error. */
dg_err dg_deps_find(dg_deps *d, const dg_plan *p);
void dg_deps_free(dg_deps *d);

/* Returns the last earlier op that writes the operand's tensor, or -1. */
int dg_deps_writer(const dg_deps *d, int op, int operand);

bool dg_deps_conflict(const dg_access *a, const dg_access *b);
