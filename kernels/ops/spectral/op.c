/* Rows of the op table for spectral norm: checks, error limits, cost. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/plan/limits.h"
#include "core/plan/work.h"
#include "kernels/ops/values.h"
#include "kernels/ops/ops.h"

static double values(const dg_op *op) { return (double)op->u.spectral.rows * op->u.spectral.cols; }

static double flops(const dg_op *op)
{
    const dg_spectral_args *a = &op->u.spectral;
    return (a->iterate ? 5 : 3) * values(op) + 2.0 * a->rows + (a->iterate ? 3.0 * a->rows + 3.0 * a->cols : 0);
}

static double dw_flops(const dg_op *op) { return 5 * values(op) + op->u.spectral.rows; }

/* Scratch memory stores W^T u and W v before they are divided by their lengths. */
static size_t scratch(const dg_op *op, dg_type real)
{
    (void)real;
    return ((size_t)op->u.spectral.rows + (size_t)op->u.spectral.cols) * sizeof(double);
}

static size_t dw_scratch(const dg_op *op, dg_type real)
{
    (void)real;
    return (size_t)dg_spectral_parts(&op->u.spectral) * sizeof(double);
}

static void work(const dg_op *op, dg_type real, dg_work *w)
{
    const int products = op->u.spectral.iterate ? 2 : 1;
    w->kernels = products + 1;
    w->moved = products * values(op) * (double)dg_type_bytes(real);
}

static void dw_work(const dg_op *op, dg_type real, dg_work *w)
{
    w->kernels = 2;
    w->moved = 2 * values(op) * (double)dg_type_bytes(real);
}

static double length_of(const dg_op_values *v, const char *name, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += dg_value_before(v, name, i) * dg_value_before(v, name, i);
    return sqrt(sum);
}

/* Returns |W^T u|, with the value of u before the op. */
static double length_behind(const dg_op_values *v, const dg_spectral_args *a)
{
    double squares = 0;
    for (size_t c = 0; c < (size_t)a->cols; c++) {
        double sum = 0;
        for (size_t r = 0; r < (size_t)a->rows; r++)
            sum += dg_value_before(v, "w", r * (size_t)a->cols + c) * dg_value_before(v, "u", r);
        squares += sum * sum;
    }
    return sqrt(squares);
}

/* Errors of the sums in double are relative to |W|. Normalising divides these errors by a length, which may be smaller
 * than |W|. Unlike CUDA, the CPU rounds v and W v before it uses them. */
static dg_err limits(const dg_op_values *v)
{
    const dg_spectral_args *a = &v->op[0]->u.spectral;
    const double whole = length_of(v, "w", (size_t)a->rows * (size_t)a->cols),
                 of_sum = (a->rows + a->cols) * DBL_EPSILON;
    const double sigma = fabs(dg_value_after(v, "sigma", 0)), behind = a->iterate ? length_behind(v, a) : whole;
    const double of_v = of_sum * whole / behind, of_u = (4 * v->eps + of_sum + of_v) * whole / sigma;
    for (int k = 0; k < v->operands; k++) {
        const dg_check_operand *o = &v->operand[k];
        const bool is_v = strcmp(o->name, "v") == 0, is_u = strcmp(o->name, "u") == 0;
        for (size_t i = 0; o->limit && i < o->count; i++) {
            const double want = fabs(dg_check_value(o, o->want, i));
            o->limit[i] = is_v   ? 4 * v->eps * want + of_v
                          : is_u ? 4 * v->eps * want + of_u
                                 : (6 * v->eps + of_u) * want;
        }
    }
    return DG_OK;
}

/* The error limit of sum(dwn wn) is relative to |dwn| |wn|. */
static dg_err dw_limits(const dg_op_values *v)
{
    const dg_spectral_args *a = &v->op[0]->u.spectral;
    const size_t n = (size_t)a->rows * (size_t)a->cols;
    const dg_check_operand *o = dg_values_find(v, "dw");
    const double sum = length_of(v, "dwn", n) * length_of(v, "wn", n), sigma = fabs(dg_value_before(v, "sigma", 0));
    for (size_t i = 0; i < n; i++) {
        const double uv = fabs(dg_value_before(v, "u", i / (size_t)a->cols) *
                               dg_value_before(v, "v", i % (size_t)a->cols));
        o->limit[i] = ((4 * v->eps + (double)n * DBL_EPSILON) * sum * uv +
                       4 * v->eps * fabs(dg_value_before(v, "dwn", i))) /
                      sigma;
    }
    return DG_OK;
}

#define SHAPE                                                              \
    {                                                                      \
        {"N", DG_FIELD(spectral, rows)}, { "C", DG_FIELD(spectral, cols) } \
    }

const dg_op_info dg_info_spectral = {
    .operand = {DG_OUTPUT(spectral, wn, rows, cols), DG_SINGLE(spectral, sigma, DG_OUT), DG_UPDATED(spectral, u, rows),
                DG_UPDATED(spectral, v, cols), DG_INPUT(spectral, w, rows, cols), DG_WORKSPACE(spectral)},
    .shape = SHAPE,
    .flops = flops,
    .scratch = scratch,
    .work = work,
    .variants = {&dg_direct},
    .limits = limits,
};

const dg_op_info dg_info_spectral_dw = {
    .operand = {DG_OUTPUT(spectral, dw, rows, cols), DG_INPUT(spectral, dwn, rows, cols),
                DG_INPUT(spectral, wn, rows, cols), DG_INPUT(spectral, u, rows), DG_INPUT(spectral, v, cols),
                DG_SINGLE(spectral, sigma, DG_IN), DG_WORKSPACE(spectral)},
    .shape = SHAPE,
    .flops = dw_flops,
    .scratch = dw_scratch,
    .work = dw_work,
    .variants = {&dg_direct},
    .limits = dw_limits,
};
