/* Rows of the op table for gather, to_u8 and advance: checks, error limits, cost. */
#include <math.h>

#include "core/plan/gather.h"
#include "core/plan/limits.h"
#include "kernels/ops/ops.h"

/* Error limit of one rounded division and one rounded subtraction. Copied values must have equal bits. */
static double gather_limit(const dg_op_values *v, const dg_check_operand *o, size_t i, double want)
{
    (void)o;
    const dg_gather_args *a = &v->op[0]->u.gather;
    return a->prepared ? 0 : 2 * v->eps * (want + fabs(a->shift[i % (size_t)a->C]));
}

static double gather_flops(const dg_op *op)
{
    const dg_gather_args *a = &op->u.gather;
    return (a->prepared ? 0.0 : 2.0) * a->N * a->H * a->W * a->C;
}

/* Tuning assumes records without labels, because labels do not change the kernels. */
static const char *gather_complete(dg_op *op)
{
    dg_gather_args *a = &op->u.gather;
    if (a->C > DG_CHANNELS_MAX) return "an image has at most 4 channels";
    if (a->H > 65536 || a->W > 65536 || (int64_t)a->H * a->W * a->C > INT32_MAX) return "the image is too large";
    a->record = dg_gather_record(a, DG_F32, false);
    return NULL;
}

static double advance_flops(const dg_op *op) { return 0 * op->u.advance.batch; }

#define RECORDS                                                                                    \
    {                                                                                              \
        "data", offsetof(dg_gather_args, data), DG_IN, DG_BYTE, DG_FIELDS(gather, N, record), true \
    }
#define PERMUTATION                                                                         \
    {                                                                                       \
        "perm", offsetof(dg_gather_args, perm), DG_IN, DG_INDEX, DG_FIELDS(gather, N), true \
    }

const dg_op_info dg_info_gather = {
    .operand = {DG_OUTPUT(gather, x, N, H, W, C), DG_OPERAND(gather, label, DG_OUT, DG_INDEX, N), RECORDS, PERMUTATION,
                DG_STEP_READ(gather)},
    .shape = {DG_NHWC(gather)},
    .complete = gather_complete,
    .wide = DG_FIELDS(gather, H, W, C),
    .flops = gather_flops,
    .variants = {&dg_direct, &dg_vector},
    .limit = gather_limit,
};

const dg_op_info dg_info_to_u8 = {
    .operand = {DG_OPERAND(to_u8, out, DG_OUT, DG_BYTE, n), DG_INPUT(to_u8, x, n)},
    .shape = {{"n", DG_FIELD(to_u8, n)}},
    .wide = DG_FIELDS(to_u8, n),
    .flops_each = 4,
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
