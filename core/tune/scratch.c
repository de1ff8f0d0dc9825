/* How much memory a variant needs beside its operands: parts of sums, unfolded patches. */
#include <stdbool.h>
#include <string.h>

#include "core/tune/conv_tiles.h"
#include "core/tune/norm_chunks.h"
#include "core/tune/work.h"

static size_t conv_scratch(const dg_op *op, dg_type real)
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

/* Two sums in double for each chunk and channel; backward their totals, too. */
static size_t norm_scratch(int N, int H, int W, int C, int groups, bool totals)
{
    const int chunks = dg_norm_chunk_count((int64_t)(N / groups) * H * W);
    return (size_t)groups * (size_t)(chunks + totals) * 2 * (size_t)C * sizeof(double);
}

size_t dg_scratch_of(const dg_op *op, dg_type real)
{
    const dg_norm_stats_args *s = &op->u.norm_stats;
    const dg_norm_act_args *n = &op->u.norm_act;
    switch (op->kind) {
    case DG_OP_conv_fwd:
    case DG_OP_conv_dx:
    case DG_OP_conv_dw: return conv_scratch(op, real);
    case DG_OP_norm_stats: return norm_scratch(s->N, s->H, s->W, s->C, s->groups, false);
    case DG_OP_norm_act_dx: return norm_scratch(n->N, n->H, n->W, n->C, n->groups, true);
    default: return 0;
    }
}
