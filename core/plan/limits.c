#include "core/plan/limits.h"

#include <float.h>
#include <math.h>
#include <string.h>

double dg_check_value(const dg_check_operand *o, const void *values, size_t i)
{
    return o->row[0]->type == DG_F32 ? (double)((const float *)values)[i] : ((const double *)values)[i];
}

dg_check_operand *dg_values_find(const dg_op_values *v, const char *name)
{
    for (int i = 0; i < v->operands; i++)
        if (!strcmp(v->operand[i].name, name) && v->operand[i].before) return &v->operand[i];
    return NULL;
}

double dg_value_before(const dg_op_values *v, const char *name, size_t i)
{
    const dg_check_operand *o = dg_values_find(v, name);
    return o ? dg_check_value(o, o->before, i) : 0;
}

double dg_value_after(const dg_op_values *v, const char *name, size_t i)
{
    const dg_check_operand *o = dg_values_find(v, name);
    return o ? dg_check_value(o, o->want, i) : 0;
}

dg_err dg_limits_each(const dg_op_values *v, dg_limit_of *limit)
{
    for (int k = 0; k < v->operands; k++) {
        const dg_check_operand *o = &v->operand[k];
        for (size_t i = 0; o->limit && i < o->count; i++) {
            const double want = fabs(dg_check_value(o, o->want, i));
            o->limit[i] = o->row[0]->kind == DG_STATE ? 1e-12 * want : limit(v, o, i, want);
        }
    }
    return DG_OK;
}

static double relative(const dg_op_values *v, const dg_check_operand *o, size_t i, double want)
{
    (void)o, (void)i;
    return dg_op_info_of(v->op[0]->kind)->roundings * v->eps * want;
}

dg_err dg_limits_relative(const dg_op_values *v) { return dg_limits_each(v, relative); }

dg_err dg_op_limits(const dg_op_values *v)
{
    const dg_op_info *info = dg_op_info_of(v->op[0]->kind);
    const dg_err e = info->limit ? dg_limits_each(v, info->limit) : info->limits(v);
    for (int k = 0; k < v->operands && !e; k++) {
        const dg_check_operand *o = &v->operand[k];
        for (size_t i = 0; o->limit && i < o->count; i++)
            o->limit[i] += o->row[0]->type == DG_F32 ? (double)FLT_MIN : DBL_MIN;
    }
    return e;
}
