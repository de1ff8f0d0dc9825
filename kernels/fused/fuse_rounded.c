/* Selects the tensors that are stored as bf16 (fused.h). All writers and readers of a bf16 tensor must support bf16. */
#include "kernels/fused/fuse_launch.h"

static bool is(const dg_op *op, int operand, const char *name) { return operand == dg_operand_index(op->kind, name); }

static bool by_products(dg_fused_family family) { return family == DG_FUSED_MMA || family == DG_FUSED_WGMMA; }

/* True if launch l, a fused convolution or head, can store its results and read its epilogue's input as bf16. */
static bool takes_results(const dg_plan *p, const dg_launch *l)
{
    const dg_op *main = &p->op[l->main];
    if (l->kind == DG_LAUNCH_HEAD) return p->op[l->first + l->count - 1].kind == DG_OP_norm_act_dx;
    const bool forward = main->kind == DG_OP_conv_fwd;
    const dg_epilogue_kind out = dg_fused_conv_of(p, l).out.kind;
    const dg_fused_family family = dg_fused_family_of(main->kind, &main->u.conv, &main->tune);
    if (family == DG_FUSED_THIN_MMA) return forward && out != DG_EPILOGUE_ACT_DX;
    return by_products(family) || family == DG_FUSED_DENSE;
}

/* True if op i of a fused launch can read operand k as bf16. */
static bool takes_input(const dg_plan *p, int i, int k)
{
    const dg_launch *l = dg_plan_launch(p, i);
    const dg_op *op = &p->op[i];
    const bool x = is(op, k, "x"), made = op->operand[k].from != 0;
    if (l->kind == DG_LAUNCH_HEAD) return i == l->main && x && made;
    if (l->kind == DG_LAUNCH_CONV) {
        const bool forward = op->kind == DG_OP_conv_fwd;
        const dg_fused_family family = dg_fused_family_of(op->kind, &op->u.conv, &op->tune);
        if (i != l->main || !is(op, k, dg_fuse_input(op))) return false;
        if (by_products(family)) return forward || made;
        return family == DG_FUSED_THIN_MMA && !forward;
    }
    if (l->kind != DG_LAUNCH_UPDATE || op->kind != DG_OP_conv_dw) return false;
    const dg_fused_family family = dg_update_family(l, op);
    if (x) return by_products(family) || family == DG_FUSED_GEMV || family == DG_FUSED_DENSE;
    return is(op, k, "y") && (by_products(family) || family == DG_FUSED_THIN_MMA);
}

/* True if all launches that recompute the result of op i can read its inputs as bf16. */
static bool makers_take(const dg_plan *p, int i)
{
    for (int j = 0; j < p->ops; j++)
        for (int k = 0; k < DG_MAX_OPERANDS; k++)
            if (p->op[j].operand[k].from == i + 1 && !takes_input(p, j, k)) return false;
    return true;
}

static bool takes(const dg_plan *p, int i, int k)
{
    const dg_launch *l = dg_plan_launch(p, i);
    const dg_op *op = &p->op[i];
    if (op->operand[k].offset || l->kind == DG_LAUNCH_OP) return false;
    switch (op->kind) {
    case DG_OP_conv_fwd:
    case DG_OP_conv_dx:
        if (!is(op, k, "w") && !is(op, k, dg_fuse_input(op)))
            return takes_results(p, l) && (l->kind == DG_LAUNCH_CONV || op->kind == DG_OP_conv_dx);
        return takes_input(p, i, k);
    case DG_OP_conv_dw: return takes_input(p, i, k);
    case DG_OP_norm_stats: return is(op, k, "x") && takes_results(p, l);
    case DG_OP_act:
    case DG_OP_act_dx: return takes_results(p, l); /* act_dx reads only the sign of y */
    case DG_OP_norm_act: return is(op, k, "x") && makers_take(p, i);
    case DG_OP_norm_act_dx:
        return (is(op, k, "x") || is(op, k, "dx") || is(op, k, "dy")) && takes_results(p, l) && makers_take(p, i);
    default: return false;
    }
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

static void set(dg_row *r, bool rounded)
{
    if (r->rounded == rounded) return;
    r->rounded = rounded;
    r->bytes = dg_count(r->shape) * dg_value_bytes(r);
}

/* Kernels that recompute a norm's gradient load x and dx in one format. If only one of x and dx is bf16, makes both
 * fp32. */
static bool part_pairs(dg_plan *p)
{
    bool changed = false;
    for (int i = 0; i < p->ops; i++) {
        const dg_op *op = &p->op[i];
        if (op->kind != DG_OP_norm_act_dx) continue;
        dg_row *const x = &p->arena->row[op->operand[dg_operand_index(op->kind, "x")].row],
                      *const dx = &p->arena->row[op->operand[dg_operand_index(op->kind, "dx")].row];
        if (x->rounded == dx->rounded) continue;
        set(x, false);
        set(dx, false);
        changed = true;
    }
    return changed;
}

void dg_round_rows(dg_plan *p, dg_math math)
{
    dg_row *const row = p->arena->row;
    for (int r = 0; r < p->arena->rows; r++)
        if (row[r].plan == p->id && row[r].kind == DG_WORK && row[r].type == DG_F32 && !row[r].keep)
            set(&row[r], math == DG_MATH_BF16 && all_take(p, r));
    while (part_pairs(p)) {}
    for (int i = 0; i < p->ops; i++)
        for (int k = 0; k < DG_MAX_OPERANDS && p->op[i].kind == DG_OP_conv_dw; k++) {
            const int r = p->op[i].operand[k].row;
            if (r >= 0 && row[r].rounded && !p->op[i].operand[k].from && p->op[i].tune.variant->fused == DG_FUSED_MMA)
                p->op[i].operand[k].factors = r;
        }
}
