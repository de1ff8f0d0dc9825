/* Rows of the op table (core/plan/op_info.h), one row per op kind in DG_OPS. */
#pragma once

#include "core/plan/op_info.h"

#define X(kind, member, cpu) extern const dg_op_info dg_info_##kind;
DG_OPS(X)
#undef X

extern const dg_op_info *const dg_op_table[DG_OP_KINDS];
