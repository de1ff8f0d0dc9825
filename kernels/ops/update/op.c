/* Rows of the op table for optimizers other than Adam. */
#include <math.h>
#include <string.h>

#include "core/plan/limits.h"
#include "kernels/ops/ops.h"

/* Returns |gradient| + |weight decay|, because the signed terms may cancel. */
static double gradient(const dg_op_values *v, size_t i)
{
    const dg_update_args *a = &v->op[0]->u.update;
    const double g = fabs(dg_value_before(v, "g", i));
    return (int64_t)i < a->decayed ? g + a->decay * fabs(dg_value_before(v, "p", i)) : g;
}

static double rate(const dg_op_values *v)
{
    const dg_step_state *state = dg_values_find(v, "state")->before;
    return state->lr[v->op[0]->u.update.net];
}

static double sgd_limit(const dg_op_values *v, const dg_check_operand *o, size_t i, double want)
{
    const double terms = v->op[0]->u.update.momentum * fabs(dg_value_before(v, "m", i)) + gradient(v, i);
    return v->eps * (strcmp(o->name, "m") == 0 ? 8 * terms : 4 * want + 16 * rate(v) * terms);
}

static double adagrad_limit(const dg_op_values *v, const dg_check_operand *o, size_t i, double want)
{
    const double g = gradient(v, i), root = sqrt(dg_value_after(v, "v", i)) + v->op[0]->u.update.eps;
    return v->eps * (strcmp(o->name, "v") == 0 ? 8 * (want + g * g) : 4 * want + 32 * rate(v) * g / root);
}

static double adadelta_limit(const dg_op_values *v, const dg_check_operand *o, size_t i, double want)
{
    const dg_update_args *a = &v->op[0]->u.update;
    const double g = gradient(v, i), m = dg_value_before(v, "m", i);
    const double d = g * sqrt((m + a->eps) / (dg_value_after(v, "v", i) + a->eps));
    if (strcmp(o->name, "v") == 0) return 8 * v->eps * (want + (1 - a->rho) * g * g);
    if (strcmp(o->name, "m") == 0) return v->eps * (8 * want + 64 * (1 - a->rho) * d * d);
    return v->eps * (4 * want + 32 * rate(v) * d);
}

static double sgd_flops(const dg_op *op) { return (op->u.update.momentum > 0 ? 8.0 : 4.0) * (double)op->u.update.n; }

#define P DG_UPDATED(update, p, n)
#define M DG_UPDATED(update, m, n)
#define V DG_UPDATED(update, v, n)
#define REST DG_METRICS_WRITTEN(update), DG_INPUT(update, g, n), DG_STEP_READ(update), DG_COUNTED(update)
#define ROW(name, cost, ...)                   \
    const dg_op_info dg_info_##name = {        \
        .operand = {__VA_ARGS__, REST},        \
        .shape = {{"n", DG_FIELD(update, n)}}, \
        .wide = DG_FIELDS(update, n),          \
        cost,                                  \
        .variants = {&dg_direct, &dg_vector},  \
        .limit = name##_limit,                 \
    }

ROW(sgd, .flops = sgd_flops, P, M);
ROW(adagrad, .flops_each = 9, P, V);
ROW(adadelta, .flops_each = 17, P, M, V);
