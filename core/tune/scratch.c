/* How much memory a variant needs beside its operands: parts of sums, unfolded patches. */
#include <stdbool.h>
#include <string.h>

#include "core/tune/conv_tiles.h"
#include "core/tune/work.h"

size_t dg_conv_scratch(const dg_op *op, dg_type real)
{
    const dg_conv_args *a = &op->u.conv;
    if (strcmp(op->tune.variant, "cublas") == 0) { /* patches, where y is more than a product of x and w as they lie */
        const dg_conv_args f = dg_conv_flat(a);
        if (f.K == 1 && f.S == 1 && f.P == 0) return 0;
        return (size_t)f.N * (size_t)(f.Ho * f.Wo) * (size_t)(f.K * f.K * f.Ci) * sizeof(float);
    }
    if (op->tune.split <= 1) return 0;
    const size_t x = (size_t)a->N * (size_t)a->H * (size_t)a->W * (size_t)a->Ci,
                 w = (size_t)a->Co * (size_t)(a->K * a->K) * (size_t)a->Ci,
                 y = (size_t)a->N * (size_t)a->Ho * (size_t)a->Wo * (size_t)a->Co;
    return (size_t)op->tune.split *
           (op->kind == DG_OP_conv_fwd  ? y
            : op->kind == DG_OP_conv_dx ? x
                                        : w) *
           dg_type_bytes(real);
}

size_t dg_scratch_of(const dg_op *op, dg_type real)
{
    const dg_op_info *info = dg_op_info_of(op->kind);
    return info->scratch ? info->scratch(op, real) : 0;
}
