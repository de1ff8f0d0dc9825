/* Allowed difference between two backends in each number that an op writes, derived from rounding errors. Each op's row
 * has a function for its limits (op_info.h); this file has the helpers. */
#ifndef DG_LIMITS_H
#define DG_LIMITS_H

#include "core/plan/op_info.h"
#include "core/plan/plan.h"

/* An operand's values: before the op in the reference, and after the op in both backends. The pointers are NULL for an
 * operand that is missing or outside of the arena. */
typedef struct {
    const char *name;
    dg_role role;
    const dg_row *row[2]; /* the operand's row in the reference's plan and in the other plan */
    size_t bytes, count;  /* size of the tensor; number of values to compare, or 0 if the bytes must be equal */
    void *before, *want, *got;
    void *weight;  /* weighed ops (op_info.h): the result for the absolute values of the inputs */
    double *limit; /* results: the allowed difference of each value */
} dg_check_operand;

typedef struct dg_op_values {
    const dg_op *op[2];
    dg_check_operand *operand;
    int operands;
    double eps; /* half the distance from 1 to the next floating-point number */
} dg_op_values;

double dg_check_value(const dg_check_operand *o, const void *values, size_t i);

dg_check_operand *dg_values_find(const dg_op_values *v, const char *name);

/* Return value i of an operand in the reference, before or after the op, or 0 if the op has no such operand. */
double dg_value_before(const dg_op_values *v, const char *name, size_t i);
double dg_value_after(const dg_op_values *v, const char *name, size_t i);

/* Computes every limit by a call of `limit`, whose last argument is the absolute value of the reference's number. */
typedef double dg_limit_of(const dg_op_values *v, const dg_check_operand *o, size_t i, double want);
dg_err dg_limits_each(const dg_op_values *v, dg_limit_of *limit);

/* Sets limits proportional to each result's absolute value and to the number of roundings in the op's row. */
dg_err dg_limits_relative(const dg_op_values *v);

/* Fills in the limits of all results by the op's row. Adds the smallest normal number to each limit, because the CPU
 * flushes denormals to zero. DG_DEVICE: out of memory. */
dg_err dg_op_limits(const dg_op_values *v);

#endif
