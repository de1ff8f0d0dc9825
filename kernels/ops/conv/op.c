/* Rows of the op table for convolutions (forward, data gradient, weight gradient): checks, error limits, cost. */
#include <math.h>

#include "core/plan/limits.h"
#include "core/plan/precision.h"
#include "kernels/ops/conv/cuda/conv_rows.h"
#include "kernels/ops/ops.h"

static double terms(const dg_op *op)
{
    const dg_conv_args *a = &op->u.conv;
    if (op->kind == DG_OP_conv_fwd) return (double)a->K * a->K * a->Ci;
    if (op->kind == DG_OP_conv_dx) return (double)a->K * a->K * a->Co;
    return (double)a->N * a->Ho * a->Wo;
}

/* Returns the error of a sum from subnormal fp16 operands. Rounding changes a scaled operand by at most 2^-25. */
static double fp16_steps(const dg_op_values *v)
{
    const dg_conv_args *a = &v->op[1]->u.conv;
    double most[2] = {0, 0}, step[2] = {0, 0};
    int n = 0;
    for (int k = 0; k < v->operands && n < 2; k++) {
        const dg_check_operand *o = &v->operand[k];
        if (o->role != DG_IN || !o->before) continue;
        for (size_t i = 0; i < o->count; i++) most[n] = fmax(most[n], fabs(dg_check_value(o, o->before, i)));
        step[n++] = ldexp(1, -25 - (*o->name == 'x' ? a->shift_x : *o->name == 'y' ? a->shift_y : 0));
    }
    return terms(v->op[0]) * (most[0] * step[1] + most[1] * step[0]);
}

/* Error limits are relative to the sums of |a||b|, because tensor cores round each operand. Winograd mixes neighbouring
 * outputs, so every result has the limit of the largest sum. Winograd's transforms multiply the error by 4. */
static dg_err limits(const dg_op_values *v)
{
    const dg_tune *t = &v->op[1]->tune;
    const bool mixed = t->variant == &dg_conv_variant_winograd;
    const double rounding = dg_math_error(t->math);
    const double factor = sqrt(terms(v->op[0])) * v->eps * (mixed ? 32 : 8) + (2 + rounding) * rounding;
    for (int k = 0; k < v->operands; k++) {
        const dg_check_operand *o = &v->operand[k];
        if (!o->limit) continue;
        double largest = 0;
        /* fabs(): elements that this op does not write keep their values, which may be negative */
        for (size_t i = 0; i < o->count; i++) largest = fmax(largest, fabs(dg_check_value(o, o->weight, i)));
        const double least = t->math == DG_MATH_FP16 ? fp16_steps(v) : 0;
        for (size_t i = 0; i < o->count; i++)
            o->limit[i] = least + factor * (mixed ? largest : fabs(dg_check_value(o, o->weight, i)));
    }
    return DG_OK;
}

/* Fractions of the peak rate that Winograd's products and transforms reach. Loads and stores limit the speed of the
 * transforms. */
#define FILTERED 0.7
#define TRANSFORM 0.25

/* Returns the cost of Winograd on CPUs, in operations at the peak rate. A tile of 4 x 4 outputs needs (3+r)^2
 * products per phase and pair of channels. */
static double winograd_arithmetic(const dg_op *op)
{
    const dg_conv_args *a = &op->u.conv;
    const bool dx = op->kind == DG_OP_conv_dx;
    const int high = dx ? dg_ceil_div(a->H, a->S) : a->Ho, wide = dx ? dg_ceil_div(a->W, a->S) : a->Wo;
    const int taps = a->K / a->S, side = 4;
    const double points = (side + taps - 1.0) * (side + taps - 1.0),
                 tiles = a->N * dg_ceil_divf(high, side) * dg_ceil_divf(wide, side), phases = (double)a->S * a->S;
    const double products = 2 * points * tiles * phases * a->Ci * a->Co;
    /* A transform has about two operations per point and axis. Each phase of x has its own transform. */
    const double transforms = 4 * points * tiles * (phases * a->Ci + a->Co);
    return products / FILTERED + transforms / TRANSFORM;
}

const dg_variant dg_conv_variant_winograd = {.name = "winograd", .arithmetic = winograd_arithmetic};

const dg_variant dg_conv_variant_gemm = {.name = "gemm"};

static double flops(const dg_op *op)
{
    const dg_conv_args *a = &op->u.conv;
    return 2.0 * a->N * a->Ho * a->Wo * a->Co * a->K * a->K * a->Ci;
}

static const char *complete(dg_op *op)
{
    dg_conv_args *a = &op->u.conv;
    if (a->H > 65536 || a->W > 65536 || a->K > 1024 || a->P > 1024 || a->H + 2 * a->P < a->K || a->W + 2 * a->P < a->K)
        return "the K x K kernel does not fit into the image";
    a->Ho = (a->H + 2 * a->P - a->K) / a->S + 1;
    a->Wo = (a->W + 2 * a->P - a->K) / a->S + 1;
    return NULL;
}

#define X_OF(role) DG_OPERAND(conv, x, role, DG_REAL, N, H, W, Ci)
#define Y_OF(role) DG_OPERAND(conv, y, role, DG_REAL, N, Ho, Wo, Co)
#define W_OF(role) DG_OPERAND(conv, w, role, DG_REAL, Co, K, K, Ci)
#define ROW(first, second, third, ...)                                                            \
    {                                                                                             \
        .operand = {first, second, third, DG_WORKSPACE(conv)},                                    \
        .shape = {{"N", DG_FIELD(conv, N)},  {"H", DG_FIELD(conv, H)},  {"W", DG_FIELD(conv, W)}, \
                  {"C", DG_FIELD(conv, Ci)}, {">", DG_FIELD(conv, Co)}, {"K", DG_FIELD(conv, K)}, \
                  {"S", DG_FIELD(conv, S)},  {"P", DG_FIELD(conv, P)}},                           \
        .complete = complete, .flops = flops, .scratch = dg_conv_scratch, .work = dg_conv_work,   \
        .variants = {__VA_ARGS__}, .limits = limits, .weighed = true                              \
    }

#define V(name) &dg_conv_variant_##name
const dg_op_info dg_info_conv_fwd = ROW(Y_OF(DG_OUT), X_OF(DG_IN), W_OF(DG_IN), V(direct), V(tiled), V(mma), V(mma_odd),
                                        V(wgmma), V(thin), V(thin_mma), V(gemv), V(cublas));
const dg_op_info dg_info_conv_dx = ROW(X_OF(DG_OUT), Y_OF(DG_IN), W_OF(DG_IN), V(direct), V(tiled), V(mma), V(mma_odd),
                                       V(wgmma), V(thin), V(thin_mma), V(gemv), V(cublas));
const dg_op_info dg_info_conv_dw = ROW(W_OF(DG_OUT), X_OF(DG_IN), Y_OF(DG_IN), V(direct), V(tiled), V(mma), V(mma_odd),
                                       V(thin), V(thin_mma), V(gemv), V(cublas));
