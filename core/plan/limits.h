/* Limits for the difference between two backends' results, derived from rounding errors. Each op's description has a
 * function for its limits (op_info.h), which uses the helpers of this file. */
#pragma once

#include "core/plan/op_info.h"
#include "core/plan/plan.h"

/* Values of an operand before the op (reference backend) and after the op (both backends). The pointers are NULL for an
 * operand that is missing or outside of the arena. */
typedef struct dg_check_operand {
    const char *name;
    dg_role role;
    const dg_row *row[2]; /* the operand's tensor in the reference plan and in the tested plan */
    size_t skip;          /* bytes of the tensor before the operand */
    size_t bytes, count;  /* bytes of the operand; number of compared values, 0 if all bytes must be equal */
    void *before, *want, *got;
    void *weight;  /* the op's result for the absolute values of its inputs, for weighed ops (op_info.h) */
    double *limit; /* for results: the allowed difference of each value */
} dg_check_operand;

typedef struct dg_op_values {
    const dg_op *op[2];
    dg_check_operand *operand;
    int operands;
    double eps; /* half the distance from 1 to the next floating-point number */
} dg_op_values;

double dg_check_value(const dg_check_operand *o, const void *values, size_t i);

dg_check_operand *dg_values_find(const dg_op_values *v, const char *name);

/* Return value i of an operand in the reference backend, before or after the op, or 0 for a missing operand. */
double dg_value_before(const dg_op_values *v, const char *name, size_t i);
double dg_value_after(const dg_op_values *v, const char *name, size_t i);

/* Calls `limit` for the limit of each result. */
dg_err dg_limits_each(const dg_op_values *v, dg_limit_of *limit);

/* Sets limits proportional to each result's absolute value and to dg_op_info.roundings. */
dg_err dg_limits_relative(const dg_op_values *v);

/* Computes the limits of all results by dg_op_info.limit or limits. Adds the smallest normal number to each limit,
 * because the CPU flushes denormals to zero. Returns DG_DEVICE if memory runs out. */
dg_err dg_op_limits(const dg_op_values *v);
