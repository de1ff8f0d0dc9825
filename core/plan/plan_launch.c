/* Counts the kernels and the bytes of each launch of a plan. */
#include "core/plan/plan.h"
#include "core/plan/work.h"

const dg_launch *dg_plan_launch(const dg_plan *p, int op)
{
    for (int i = 0; i < p->launches; i++)
        if (p->launch[i].first <= op && op < p->launch[i].first + p->launch[i].count) return &p->launch[i];
    return NULL;
}

bool dg_plan_fused(const dg_plan *p, int op)
{
    const dg_launch *l = dg_plan_launch(p, op);
    return l && l->kind != DG_LAUNCH_OP;
}

bool dg_factors_written(const dg_plan *p, int row)
{
    if (p->arena->row[row].rounded) return true;
    for (int i = 0; i < p->ops; i++)
        for (int k = 0; k < DG_MAX_OPERANDS; k++)
            if (p->op[i].operand[k].factors == row && p->op[i].kind != DG_OP_conv_dw) return true;
    return false;
}

/* A fused update has two kernels and one kernel per operand that must be rounded. The first of the two computes partial
 * sums of all weight gradients. The second adds the partial sums and runs Adam. A launch of gradients without partial
 * sums, which are in the launch's row, has no second kernel. */
int dg_launch_kernels(const dg_plan *p, const dg_launch *l)
{
    int kernels = l->kind == DG_LAUNCH_UPDATE || (l->kind == DG_LAUNCH_GRADIENTS && l->row >= 0) ? 2 : 1;
    for (int i = l->first; i < l->first + l->count && dg_has_gradients(l->kind); i++)
        for (int k = 0; k < DG_MAX_OPERANDS; k++) {
            const int factors = p->op[i].operand[k].factors;
            kernels += factors && !dg_factors_written(p, factors);
        }
    return kernels;
}

int dg_op_kernels(const dg_plan *p, int op)
{
    const dg_launch *l = dg_plan_launch(p, op);
    if (!l || l->kind == DG_LAUNCH_OP) return dg_work_of(&p->op[op], DG_F32).kernels;
    return l->main == op ? dg_launch_kernels(p, l) : 0;
}

/* True if a weight gradient reads an operand that a convolution has rounded and stored. */
static bool reads_factors(const dg_plan *p, const dg_op *op, int k)
{
    return op->kind == DG_OP_conv_dw && op->operand[k].factors && dg_factors_written(p, op->operand[k].factors);
}

/* True if operand k of op i is the launch's first operand that writes (DG_OUT) or uses (DG_IN) its tensor. */
static bool first_of_row(const dg_plan *p, const dg_launch *l, int i, int k, int role)
{
    const int row = p->op[i].operand[k].row;
    for (int j = l->first; j <= i; j++) {
        int n;
        const dg_operand *list = dg_operands(p->op[j].kind, &n);
        for (int o = 0; o < n && (j < i || o < k); o++)
            if (p->op[j].operand[o].row == row && (role & DG_OUT ? list[o].role & DG_OUT : 1)) return false;
    }
    return true;
}

double dg_launch_bytes(const dg_plan *p, const dg_launch *l)
{
    double bytes = 0;
    for (int i = l->first; i < l->first + l->count; i++) {
        int n;
        const dg_op *op = &p->op[i];
        const dg_operand *list = dg_operands(op->kind, &n);
        for (int k = 0; k < n; k++) {
            const dg_row *r = dg_plan_row(p, op, k);
            if (op->operand[k].factors) bytes += (double)p->arena->row[op->operand[k].factors].bytes;
            if (reads_factors(p, op, k)) continue;
            if (!r || r->absent || r->kind == DG_STATE || list[k].role == DG_SCRATCH) continue;
            const double each = dg_operand_bytes(p, op, k);
            if (list[k].role & DG_IN && first_of_row(p, l, i, k, DG_IN)) bytes += each;
            if (list[k].role & DG_OUT && first_of_row(p, l, i, k, DG_OUT)) bytes += each;
        }
    }
    for (int i = l->first; i < l->first + l->count; i++) /* a launch reads the inputs of recomputed operands */
        for (int k = 0; k < DG_MAX_OPERANDS; k++) {
            const int from = p->op[i].operand[k].from - 1;
            if (from < 0 || (from >= l->first && from < l->first + l->count)) continue;
            if (reads_factors(p, &p->op[i], k)) continue;
            int n;
            const dg_op *op = &p->op[from];
            const dg_operand *list = dg_operands(op->kind, &n);
            for (int o = 0; o < n; o++)
                if (list[o].role == DG_IN && op->operand[o].row != p->op[i].operand[k].row)
                    bytes += dg_operand_bytes(p, op, o);
        }
    return bytes;
}
