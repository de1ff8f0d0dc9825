/* Formulas that predict the times of ops on a CPU. */
#include "core/tune/predict.h"

#include "core/base/math.h"
#include "core/tune/conv_tiles.h"

/* Fraction of the peak rate that CPU variant `direct` reaches. Inner loops of wide layers reach 0.90 to 0.95. */
#define DIRECT 0.85
/* Fraction of the peak rate that grouped convolutions reach. With AVX-512, 16 channels per group and batch size 16, the
 * measured fractions are 0.82 to 0.98. Weight gradients, which add partial sums, reach 0.35 to 0.74. */
#define GROUPED 0.9
#define GROUPED_DW 0.6

enum { LANES = 16 };

/* Returns the fraction of vector lanes in use. Below 16 channels, lanes also hold phases (dx) or taps (dw). */
static double filled(const dg_op *op)
{
    const dg_conv_args *a = &op->u.conv;
    double channels = op->kind == DG_OP_conv_fwd ? a->Co : a->Ci;
    if (channels < LANES && op->kind == DG_OP_conv_dx) channels *= (double)a->S * a->S;
    if (channels < LANES && op->kind == DG_OP_conv_dw) channels *= a->K;
    return channels / (dg_ceil_divf(channels, LANES) * LANES);
}

static double reached(const dg_op *op)
{
    const dg_group_args *a = &op->u.group;
    if (dg_is_conv(op->kind)) return DIRECT * filled(op);
    if (op->kind != DG_OP_group_fwd && op->kind != DG_OP_group_dx && op->kind != DG_OP_group_dw) return 1;
    const double channels = op->kind == DG_OP_group_fwd ? (double)a->Co / a->groups : a->Cg;
    const double lanes = channels / (dg_ceil_divf(channels, LANES) * LANES);
    return lanes * (op->kind == DG_OP_group_dw ? GROUPED_DW : GROUPED);
}

dg_prediction dg_predict_cpu(const dg_op *op, double bytes, const dg_machine *m)
{
    const dg_variant *v = op->tune.variant;
    dg_prediction r = {.kernels = 1, .launch_us = m->launch_us, .from = DG_FROM_FORMULA};
    if (m->all > 0) {
        const bool own = dg_is_conv(op->kind) && v && v->arithmetic;
        r.arithmetic_us = (own ? v->arithmetic(op) : dg_op_flops(op) / reached(op)) / m->all * 1e-3;
    }
    const double rate = bytes <= m->cache_mb * 1e6 && m->cache > 0 ? m->cache : m->triad;
    if (rate > 0) r.memory_us = bytes / rate * 1e-3;
    return r;
}
