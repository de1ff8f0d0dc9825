#include <string.h>

#include "core/plan/op_info.h"

static _Atomic(const dg_op_info *const *) table;

void dg_ops_use(const dg_op_info *const info[DG_OP_KINDS]) { table = info; }

const dg_op_info *dg_op_info_of(dg_op_kind kind)
{
    static const dg_op_info none;
    const dg_op_info *const *all = table;
    return all && kind >= 0 && kind < DG_OP_KINDS ? all[kind] : &none;
}

const char *dg_op_kind_name(dg_op_kind kind)
{
    static const char *const name[DG_OP_KINDS] = {
#define X(kind, member, cpu) #kind,
        DG_OPS(X)
#undef X
    };
    return kind >= 0 && kind < DG_OP_KINDS ? name[kind] : "?";
}

const dg_operand *dg_operands(dg_op_kind kind, int *count)
{
    const dg_operand *list = dg_op_info_of(kind)->operand;
    for (*count = 0; list[*count].name;) ++*count;
    return list;
}

int dg_operand_index(dg_op_kind kind, const char *name)
{
    const dg_operand *list = dg_op_info_of(kind)->operand;
    for (int k = 0; list[k].name; k++)
        if (strcmp(list[k].name, name) == 0) return k;
    return -1;
}

int64_t dg_field_get(const dg_op *op, const dg_field *f)
{
    const char *at = (const char *)&op->u + f->at;
    int64_t wide;
    int narrow;
    if (f->bytes == sizeof wide) {
        memcpy(&wide, at, sizeof wide);
        return wide;
    }
    memcpy(&narrow, at, sizeof narrow);
    return narrow;
}

void dg_field_set(dg_op *op, const dg_field *f, int64_t value)
{
    char *at = (char *)&op->u + f->at;
    const int narrow = (int)value;
    if (f->bytes == sizeof value) memcpy(at, &value, sizeof value);
    else memcpy(at, &narrow, sizeof narrow);
}

static int64_t product(const dg_op *op, const dg_field *f, int most)
{
    int64_t n = 1;
    for (int i = 0; i < most && f[i].bytes; i++) n *= dg_field_get(op, &f[i]);
    return n;
}

int64_t dg_operand_count(const dg_op *op, int k)
{
    const dg_operand *o = &dg_op_info_of(op->kind)->operand[k];
    if (o->role == DG_SCRATCH) return 0;
    if (o->element == DG_COUNTERS) return DG_OP_COUNTERS;
    return o->element == DG_ALL_STEPS ? DG_RING : product(op, o->dim, 4);
}

int64_t dg_op_wide(const dg_op *op) { return product(op, dg_op_info_of(op->kind)->wide, 3); }

double dg_op_flops(const dg_op *op)
{
    const dg_op_info *info = dg_op_info_of(op->kind);
    return info->flops ? info->flops(op) : info->flops_each * (double)dg_operand_count(op, 0);
}
