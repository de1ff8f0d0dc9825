#include "core/plan/plan.h"
#include "core/base/grow.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void dg_plan_begin(dg_plan *p, dg_arena *a, const char *name)
{
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "%s", name);
    p->arena = a;
    p->id = ++a->plans;
    p->row_counters = -1;
}

dg_op *dg_plan_add(dg_plan *p, dg_op_kind kind, const char *format, ...)
{
    dg_op *op = &p->nowhere;
    dg_op *more = dg_grow(p->op, p->ops, &p->capacity, sizeof *more);
    p->arena->full |= !more;
    if (more) {
        p->op = more;
        op = &p->op[p->ops++];
    }
    memset(op, 0, sizeof *op);
    op->kind = kind;
    for (int i = 0; i < DG_MAX_OPERANDS; i++) op->operand[i].row = -1;
    char name[sizeof op->name];
    va_list ap;
    va_start(ap, format);
    vsnprintf(name, sizeof name, format, ap);
    va_end(ap);
    dg_shard_name(p->arena, true, op->name, sizeof op->name, name);
    return op;
}

void dg_plan_operand(dg_op *op, const char *member, int row, int64_t skip)
{
    const int k = dg_operand_index(op->kind, member);
    if (k < 0) {
        op->wrong = member;
        return;
    }
    op->operand[k].row = row;
    op->operand[k].offset = skip;
}

const dg_row *dg_plan_row(const dg_plan *p, const dg_op *op, int operand)
{
    int row = op->operand[operand].row;
    return row < 0 ? NULL : &p->arena->row[row];
}

const dg_row *dg_plan_writes_weights(const dg_plan *p, const dg_op *op)
{
    int n;
    const dg_operand *list = dg_operands(op->kind, &n);
    for (int k = 0; k < n; k++) {
        const dg_row *r = list[k].role & DG_OUT ? dg_plan_row(p, op, k) : NULL;
        if (r && r->kind == DG_PARAM) return r;
    }
    return NULL;
}

dg_err dg_plan_bind(dg_plan *p)
{
    for (int i = 0; i < p->ops; i++) {
        dg_op *op = &p->op[i];
        int n;
        const dg_operand *operand = dg_operands(op->kind, &n);
        for (int k = 0; k < n; k++) {
            const dg_row *r = dg_plan_row(p, op, k);
            char *at = NULL;
            if (r && !r->absent) {
                char *base = r->kind == DG_OUTSIDE ? r->outside : (char *)p->arena->base + r->offset;
                if (r->kind == DG_OUTSIDE ? !base : !p->arena->base)
                    return dg_fail(DG_FAILED, "%s: tensor %s has no memory yet", op->name, r->name);
                at = base + op->operand[k].offset * (int64_t)dg_value_bytes(r);
            }
            memcpy((char *)&op->u + operand[k].member, &at, sizeof at);
        }
    }
    return DG_OK;
}

void dg_plan_free(dg_plan *p)
{
    free(p->op);
    free(p->launch);
    memset(p, 0, sizeof *p);
}

double dg_operand_bytes(const dg_plan *p, const dg_op *op, int k)
{
    const dg_row *r = dg_plan_row(p, op, k);
    if (!r || r->kind == DG_STATE) return 0;
    return (double)dg_operand_count(op, k) * (double)dg_value_bytes(r);
}

double dg_op_bytes(const dg_plan *p, const dg_op *op)
{
    int n;
    const dg_operand *operand = dg_operands(op->kind, &n);
    double bytes = 0;
    for (int k = 0; k < n; k++) bytes += (operand[k].role == DG_INOUT ? 2 : 1) * dg_operand_bytes(p, op, k);
    return bytes;
}
