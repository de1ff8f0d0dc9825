/* Predicted times of the ops and launches of a plan: formulas (core/tune/predict.h) or, of fused launches, counts. */
#ifndef DG_PREDICT_PLAN_H
#define DG_PREDICT_PLAN_H

#include "core/tune/predict.h"

/* p is a plan that op lies in. */
dg_prediction dg_predict(const dg_plan *p, const dg_op *op, const dg_machine *m);
const char *dg_bound_name(dg_bound bound); /* "launch", "arithmetic", "memory", "fused" */

/* The kernels of a fused launch of a GPU by their counts, with the parts that they are made of. */
enum { DG_COST_KERNELS = 2 };
typedef struct {
    int parts, kernels; /* kernels 0: something was not counted */
    dg_cost_part part[DG_COST_PARTS];
    dg_cost kernel[DG_COST_KERNELS];
} dg_launch_cost;
void dg_predict_launch(const dg_plan *p, const dg_launch *l, const dg_machine *m, dg_launch_cost *out);

/* The parts of a fused launch of a plan: at most DG_COST_PARTS of them in out; returns how many. */
int dg_launch_parts(const dg_plan *p, const dg_launch *l, dg_cost_part *out);

#endif
