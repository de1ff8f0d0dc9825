/* Optional operands of bias_act_dx. */
#ifndef DG_BIAS_H
#define DG_BIAS_H

#include "core/plan/op_info.h"

static inline bool dg_bias_sums(const dg_op *op) { return op->operand[dg_operand_index(op->kind, "db")].row >= 0; }

#endif
