/* Pictures in and out, and the step's counters: gather, to_u8, advance, without running them. */
#include "core/plan/limits.h"

/* Values in -1..1. */
static double gather_limit(const dg_op_values *v, const dg_check_operand *o, size_t i, double want)
{
    (void)o, (void)i, (void)want;
    return 4 * v->eps;
}

static dg_err gather_limits(const dg_op_values *v) { return dg_limits_each(v, gather_limit); }

static double gather_flops(const dg_op *op)
{
    const dg_gather_args *a = &op->u.gather;
    return 2.0 * a->N * a->H * a->W * a->C;
}

static double to_u8_flops(const dg_op *op) { return 4.0 * (double)op->u.to_u8.n; }
static double advance_flops(const dg_op *op) { return 0 * op->u.advance.batch; }

/* The permutation says which pictures are read. */
#define PICTURES                                                                                    \
    {                                                                                               \
        "data", offsetof(dg_gather_args, data), DG_IN, DG_BYTE, DG_FIELDS(gather, N, H, W, C), true \
    }
#define PERMUTATION                                                                         \
    {                                                                                       \
        "perm", offsetof(dg_gather_args, perm), DG_IN, DG_INDEX, DG_FIELDS(gather, N), true \
    }

const dg_op_info dg_info_gather = {
    .operand = {DG_OUTPUT(gather, x, N, H, W, C), PICTURES, PERMUTATION, DG_STEP_READ(gather)},
    .shape = {{"N", DG_FIELD(gather, N)},
              {"H", DG_FIELD(gather, H)},
              {"W", DG_FIELD(gather, W)},
              {"C", DG_FIELD(gather, C)}},
    .wide = DG_FIELDS(gather, H, W, C),
    .flops = gather_flops,
    .variants = {&dg_direct, &dg_vector},
    .limits = gather_limits,
};

const dg_op_info dg_info_to_u8 = {
    .operand = {DG_OPERAND(to_u8, out, DG_OUT, DG_BYTE, n), DG_INPUT(to_u8, x, n)},
    .shape = {{"n", DG_FIELD(to_u8, n)}},
    .wide = DG_FIELDS(to_u8, n),
    .flops = to_u8_flops,
    .variants = {&dg_direct, &dg_vector},
    .limits = dg_limits_relative,
};

const dg_op_info dg_info_advance = {
    .operand = {{"state", offsetof(dg_advance_args, state), DG_INOUT, DG_ONE_STEP, {{0, 0}}, false}},
    .shape = {{"batch", DG_FIELD(advance, batch)}},
    .flops = advance_flops,
    .variants = {&dg_direct},
    .limits = dg_limits_relative,
};
