#include "kernels/ops/ops.h"

const dg_op_info *const dg_op_table[DG_OP_KINDS] = {
#define X(kind, member, cpu) &dg_info_##kind,
    DG_OPS(X)
#undef X
};
