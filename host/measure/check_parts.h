/* Inside the lockstep check: an operand on the host, and its limits. */
#ifndef DG_CHECK_PARTS_H
#define DG_CHECK_PARTS_H

#include "host/measure/check.h"

/* One operand: as the reference had it before the op, and as both backends had it afterwards. Memory is NULL for
 * operands that the op does not have and for those outside the arena. */
typedef struct {
    const char *name;
    dg_role role;
    const dg_row *row[2]; /* of the reference, of the other */
    size_t bytes, count;  /* count: of numbers, 0 for bytes that must be equal */
    void *before, *want, *got;
    double *limit; /* of results: how far apart each number may be */
} dg_check_operand;

double dg_check_value(const dg_check_operand *o, const void *values, size_t i);

/* Where a row of gan lies, and how much of what lies there an op uses. */
void *dg_check_memory(const dg_gan *gan, const dg_row *r);
size_t dg_check_bytes(const dg_op *op, const dg_row *r);

/* The plan of that name, NULL: gan has none. */
const dg_plan *dg_check_find(const dg_gan *gan, const char *name);

/* Fill in the limits of every result of an op that is no convolution. eps: half the distance from 1 to the next
 * number. */
dg_err dg_check_limits(const dg_op *op, dg_check_operand *operand, int operands, double eps);

#endif
