/* Compare two backends in lockstep: every op of a plan runs on both with equal inputs, and its outputs are compared. */
#ifndef DG_CHECK_H
#define DG_CHECK_H

#include <stdio.h>

#include "host/net/job.h"

typedef struct {
    int ops;
    double worst; /* largest ratio of a difference to its limit */
    char where[40];
} dg_check_result;

/* Run plan "train", "train-short" or "sample" once, op by op. Before each op the reference's operands are copied to the
 * other backend, so that differences come from this op only. The limit for a sum of n products is 8 sqrt(n) eps times
 * the sum of |a||b| (half of it for the error of each backend), plus the maximum rounding error of operands in
 * bf16 or fp16. The limit for other ops is a few eps times the sum of the magnitudes that the op adds. Unless `to` is
 * NULL, a line per op is printed to this file. Returns DG_FAILED at the first op beyond its limit; the message has op,
 * kind, variant, operand, shape, index and both values. Both jobs must have the same model, options, weights, state,
 * data, permutation and type of real. The reference backend computes convolutions as direct sums. */
dg_err dg_check_plan(dg_job *reference, dg_job *other, const char *plan, FILE *to, dg_check_result *result);

/* Compare two implementations of a plan's op, with the present values in job's memory. *worst: largest ratio of a
 * difference to its limit. Afterwards the op's outputs may be those of either implementation. */
dg_err dg_check_op(dg_job *job, const dg_plan *p, const dg_op *reference, const dg_op *other, double *worst);

/* Compare each fused launch (fused.h) of a plan with the unfused ops that it replaces, which job `plain` runs on the
 * same kind of backend. Before each launch, its inputs in memory are made equal in both jobs, except unfinished results
 * that a fused launch leaves for the next launch. The limit for a tensor is a relative distance of 1e-5 plus the
 * rounding error of one operand. Otherwise like dg_check_plan; result->ops counts launches. */
dg_err dg_check_fused(dg_job *plain, dg_job *fused, const char *plan, FILE *to, dg_check_result *result);

/* Compare |v|^2 with its tangent for each image of a plan with gradient penalties (penalty.h), after a step of a job
 * with o.checked. *worst: largest relative difference. DG_FAILED: above the limit for rounding. No-op for other
 * plans. */
dg_err dg_check_penalty(const dg_job *job, dg_plan_role role, double *worst);

#endif
