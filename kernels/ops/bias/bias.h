/* Optional operands of bias_act_dx. */
#ifndef DG_BIAS_H
#define DG_BIAS_H

#include "core/plan/op_info.h"

/* True if db is an operand; it needs scratch for sums. */
static inline bool dg_bias_sums(const dg_op *op) { return op->operand[dg_operand_index(op->kind, "db")].row >= 0; }

#endif
