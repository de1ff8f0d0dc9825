/* Compares two backends: each op of a plan runs on both backends with equal inputs, and outputs are compared. */
#pragma once

#include <stdio.h>

#include "host/net/job.h"

typedef struct {
    int ops;
    double worst; /* largest ratio of a difference to its limit */
    char where[40];
} dg_check_result;

/* Run plan "train", "train-short" or "sample" once, op by op, and compare the outputs of two jobs. Before each op, the
 * reference's operands are copied to the other backend, so that errors do not accumulate. A sum of n products a b may
 * differ by 8 sqrt(n) eps times the sum of |a||b|, plus the rounding error of operands in bf16 or fp16. Outputs of ops
 * without products may differ by a few eps times the sum of the magnitudes that the op adds. `to` receives one line per
 * op, or is NULL. Returns DG_FAILED at the first op beyond its limit. The jobs must agree in model, options, weights,
 * step state, data, permutation and floating-point type. The reference backend must compute convolutions as direct
 * sums. */
dg_err dg_check_plan(dg_job *reference, dg_job *other, const char *plan, FILE *to, dg_check_result *result);

/* Compare two implementations of a plan's op on the present values in the job's memory. Set *worst to the largest ratio
 * of a difference to its limit. After the call, the op's outputs may be those of either implementation. */
dg_err dg_check_op(dg_job *job, const dg_plan *p, const dg_op *reference, const dg_op *other, double *worst);

/* Compare each fused launch (fused.h) of a plan with the unfused ops that it replaces. Job `plain` runs the unfused ops
 * on a backend of the same kind. Before each launch, its inputs are copied from `plain` to `fused`, except values that
 * fusion changes (norm_act_dx). The limit for a tensor's relative Euclidean distance is 1e-5 plus the rounding error of
 * one operand. Parameters are those of dg_check_plan, but result->ops counts launches. */
dg_err dg_check_fused(dg_job *plain, dg_job *fused, const char *plan, FILE *to, dg_check_result *result);

/* For each image of a step, compare |v|^2 with the logit's tangent, which equals |v|^2 (penalty.h). The job needs
 * o.checked. Set *worst to the largest relative difference. Returns DG_FAILED if *worst exceeds the limit for
 * rounding. */
dg_err dg_check_penalty(const dg_job *job, dg_plan_role role, double *worst);
