/* Predicts the times of a plan's ops by formulas (core/tune/predict.h), and of fused launches by instruction counts. */
#pragma once

#include "core/tune/predict.h"

dg_prediction dg_predict(const dg_plan *p, const dg_op *op, const dg_machine *m);
const char *dg_bound_name(dg_bound bound);

enum { DG_COST_KERNELS = 2 };
typedef struct {
    int parts, kernels;
    dg_cost_part part[DG_COST_PARTS];
    dg_cost kernel[DG_COST_KERNELS];
} dg_launch_cost;
void dg_predict_launch(const dg_plan *p, const dg_launch *l, const dg_machine *m, dg_launch_cost *out);

/* Writes at most DG_COST_PARTS entries of the cost model for a fused launch to `out`. Returns their number. */
int dg_launch_parts(const dg_plan *p, const dg_launch *l, dg_cost_part *out);
