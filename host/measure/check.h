/* Two backends in lockstep: every op of a plan runs on both from equal inputs, and what it wrote is compared. */
#ifndef DG_CHECK_H
#define DG_CHECK_H

#include <stdio.h>

#include "host/net/job.h"

/* What agreed so far: add up over several plans. */
typedef struct {
    int ops;
    double worst;   /* the largest difference, as part of its limit */
    char where[40]; /* the op that has it */
} dg_check_result;

/* Run a plan ("train", "train-short", "sample") of both op by op, once. Before each op the reference's operands are
 * copied to the other backend, so that a difference is of this op alone. Limits: of a convolution, a sum of n products,
 * 8 sqrt(n) eps of the sum of |a||b| (each backend may be half of that away from the truth), and where an op rounds
 * its factors to tf32, bf16 or fp16, what that can make of the sum at most; of the others a few eps of
 * what was added.
 *
 * Prints a line an op to `to` unless it is NULL. DG_FAILED at the first op out of tolerance: its name, kind, variant,
 * the operand, its shape, the index and both values. Both jobs are built from the same model and options, with
 * memory, weights, state, data and permutation; their backends have the same type of real, and the reference runs its
 * convolutions as direct sums. */
dg_err dg_check_plan(dg_job *reference, dg_job *other, const char *plan, FILE *to, dg_check_result *result);

/* The same for one op of a plan of job and another way to run it, both in job's memory, from the numbers that lie
 * there; *worst: the largest difference as part of its limit. Afterwards the op's results are of either way. */
dg_err dg_check_op(dg_job *job, const dg_plan *p, const dg_op *reference, const dg_op *other, double *worst);

/* A plan of which `fused` has fused launches (fused.h), launch by launch beside the ops that they stand for in `plain`,
 * which is of the same kind of backend and fuses nothing. Before each, what it reads from memory is made equal, but for
 * what a fused launch left half done for the next one. Limit: each tensor as a whole is at most 1e-5 and once the
 * rounding of a factor apart. Otherwise as dg_check_plan; ops of the result are launches. */
dg_err dg_check_fused(dg_job *plain, dg_job *fused, const char *plan, FILE *to, dg_check_result *result);

#endif
