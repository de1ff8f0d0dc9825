/* Formulas that predict the times of ops on a CPU. */
#include "core/tune/predict.h"

#include <math.h>

#include "core/base/math.h"
#include "core/tune/conv_tiles.h"

/* Fraction of the peak rate that variant direct reaches. Inner loops of wide layers reach 90 to 95%. */
#define DIRECT 0.85

enum { LANES = 16 };

/* Returns the fraction of vector lanes that compute results; with few channels, lanes also hold phases or taps. */
static double filled(const dg_op *op)
{
    const dg_conv_args *a = &op->u.conv;
    double channels = op->kind == DG_OP_conv_fwd ? a->Co : a->Ci;
    if (channels < LANES && op->kind == DG_OP_conv_dx) channels *= (double)a->S * a->S;
    if (channels < LANES && op->kind == DG_OP_conv_dw) channels *= a->K;
    return channels / (dg_ceil_divf(channels, LANES) * LANES);
}

dg_prediction dg_predict_cpu(const dg_op *op, double bytes, const dg_machine *m)
{
    const dg_variant *v = op->tune.variant;
    dg_prediction r = {.kernels = 1, .launch_us = m->launch_us, .from = DG_FROM_FORMULA};
    if (m->all > 0) {
        if (!dg_is_conv(op->kind)) r.arithmetic_us = dg_op_flops(op) / m->all * 1e-3;
        else if (v && v->arithmetic) r.arithmetic_us = v->arithmetic(op) / m->all * 1e-3;
        else r.arithmetic_us = dg_op_flops(op) / (m->all * DIRECT * filled(op)) * 1e-3;
    }
    const double rate = bytes <= m->cache_mb * 1e6 && m->cache > 0 ? m->cache : m->triad;
    if (rate > 0) r.memory_us = bytes / rate * 1e-3;
    return r;
}
