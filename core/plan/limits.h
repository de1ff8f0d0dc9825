/* How far two backends may be apart in each number that an op writes: what rounding of its inputs' size explains.
 * Each op's row has its limits (op_info.h); these are the values they look at and what several of them share. */
#ifndef DG_LIMITS_H
#define DG_LIMITS_H

#include "core/plan/op_info.h"
#include "core/plan/plan.h"

/* One operand: as the reference had it before the op, and as both backends had it afterwards. Memory is NULL for
 * operands that the op does not have and for those outside the arena. */
typedef struct {
    const char *name;
    dg_role role;
    const dg_row *row[2]; /* of the reference, of the other */
    size_t bytes, count;  /* of the tensor, from its beginning; count: of numbers, 0 for bytes that must be equal */
    void *before, *want, *got;
    void *weight;  /* of results of a weighed op: what the magnitudes of its inputs give */
    double *limit; /* of results: how far apart each number may be */
} dg_check_operand;

typedef struct dg_op_values {
    const dg_op *op[2]; /* of the reference, of the other */
    dg_check_operand *operand;
    int operands;
    double eps; /* half the distance from 1 to the next number */
} dg_op_values;

/* Number i of `values`, which are those of operand o. */
double dg_check_value(const dg_check_operand *o, const void *values, size_t i);

/* The operand of that name, NULL: the op has none here. */
dg_check_operand *dg_values_find(const dg_op_values *v, const char *name);

/* Number i of an operand before the op, and as the reference has it afterwards; 0 where there is no such operand. */
double dg_value_before(const dg_op_values *v, const char *name, size_t i);
double dg_value_after(const dg_op_values *v, const char *name, size_t i);

/* Fills in every limit by a function of one number; want is the magnitude of the reference's. */
typedef double dg_limit_of(const dg_op_values *v, const dg_check_operand *o, size_t i, double want);
dg_err dg_limits_each(const dg_op_values *v, dg_limit_of *limit);

/* Limits of ops whose results are right to their own size: as many roundings of it as the op's row says. */
dg_err dg_limits_relative(const dg_op_values *v);

/* Fills in the limits of all results, as the op's row says, and allows for what a denormal number is worth: the CPU
 * counts it as zero. DG_DEVICE: out of memory. */
dg_err dg_op_limits(const dg_op_values *v);

#endif
