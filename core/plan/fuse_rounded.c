/* Tensors that all who read them round to bf16: memory has them so (fuse.h). */
#include "core/plan/fuse_launch.h"

static bool is(const dg_op *op, int operand, const char *name) { return operand == dg_fuse_operand(op, name); }

/* Does a fused convolution have operand k of its op i as bf16? */
static bool conv_takes(const dg_plan *p, const dg_launch *l, int i, int k)
{
    const dg_op *conv = &p->op[l->main], *op = &p->op[i];
    const bool forward = conv->kind == DG_OP_conv_fwd;
    const dg_fused_family family = dg_fused_family_of(conv->kind, &conv->u.conv, &conv->tune);
    const bool mma = family == DG_FUSED_MMA || family == DG_FUSED_WGMMA, thin = family == DG_FUSED_THIN_MMA;
    const dg_epilogue_kind out = dg_fused_conv_of(p, l).out.kind;
    if (op == conv && is(op, k, dg_fuse_input(op))) return forward ? mma : thin;
    if (op->kind == DG_OP_act_dx && is(op, k, "y")) return mma; /* on which side of 0 it is */
    if (op != conv && op->kind != DG_OP_act && op->kind != DG_OP_act_dx) return false;
    return mma ? out == DG_EPILOGUE_PLAIN || out == DG_EPILOGUE_ACT_DX
               : thin && forward && (out == DG_EPILOGUE_PLAIN || out == DG_EPILOGUE_ACT);
}

static bool takes(const dg_plan *p, int i, int k)
{
    const dg_launch *l = dg_plan_launch(p, i);
    const dg_op *op = &p->op[i];
    if (op->operand[k].offset || op->operand[k].from) return false;
    if (l->kind == DG_LAUNCH_CONV) return p->op[l->main].tune.math == DG_MATH_BF16 && conv_takes(p, l, i, k);
    if (l->kind != DG_LAUNCH_UPDATE || op->kind != DG_OP_conv_dw) return false;
    return op->tune.math == DG_MATH_BF16 && (op->tune.variant->fused == DG_FUSED_MMA ||
                                             (op->tune.variant->fused == DG_FUSED_THIN_MMA && is(op, k, "y")));
}

static bool all_take(const dg_plan *p, int row)
{
    bool any = false;
    for (int i = 0; i < p->ops; i++)
        for (int k = 0; k < DG_MAX_OPERANDS; k++) {
            if (p->op[i].operand[k].row != row) continue;
            if (!takes(p, i, k)) return false;
            any = true;
        }
    return any;
}

void dg_round_rows(dg_plan *p)
{
    for (int row = 0; row < p->arena->rows; row++) {
        dg_row *r = &p->arena->row[row];
        if (r->kind != DG_WORK || r->plan != p->id || r->type != DG_F32 || r->keep || !all_take(p, row)) continue;
        r->rounded = true;
        r->bytes = dg_count(r->shape) * dg_value_bytes(r);
        for (int i = 0; i < p->ops; i++)
            for (int k = 0; k < DG_MAX_OPERANDS && p->op[i].kind == DG_OP_conv_dw; k++)
                if (p->op[i].operand[k].row == row && p->op[i].tune.variant->fused == DG_FUSED_MMA)
                    p->op[i].operand[k].factors = row;
    }
}
