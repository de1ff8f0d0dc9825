/* What is known about each kind of op without running it: names, operands, arithmetic. */
#include "core/plan/ops.h"

const char *dg_op_kind_name(dg_op_kind kind)
{
    static const char *const name[DG_OP_KINDS] = {
#define X(kind, member) #kind,
        DG_OPS(X)
#undef X
    };
    return kind >= 0 && kind < DG_OP_KINDS ? name[kind] : "?";
}

#define AT(member, field, role)                           \
    {                                                     \
#field, offsetof(dg_##member##_args, field), role \
    }

/* Outputs first, scratch last. The ring is read and written: an op fills in some values of one row. */
static const dg_operand conv_fwd[] = {
    AT(conv, y, DG_OUT), AT(conv, x, DG_IN), AT(conv, w, DG_IN), AT(conv, scratch, DG_SCRATCH), {0}};
static const dg_operand conv_dx[] = {
    AT(conv, x, DG_OUT), AT(conv, y, DG_IN), AT(conv, w, DG_IN), AT(conv, scratch, DG_SCRATCH), {0}};
static const dg_operand conv_dw[] = {
    AT(conv, w, DG_OUT), AT(conv, x, DG_IN), AT(conv, y, DG_IN), AT(conv, scratch, DG_SCRATCH), {0}};
static const dg_operand norm_stats[] = {AT(norm_stats, mean, DG_OUT),
                                        AT(norm_stats, rstd, DG_OUT),
                                        AT(norm_stats, running_mean, DG_INOUT),
                                        AT(norm_stats, running_var, DG_INOUT),
                                        AT(norm_stats, x, DG_IN),
                                        AT(norm_stats, scratch, DG_SCRATCH),
                                        {0}};
static const dg_operand norm_frozen[] = {AT(norm_frozen, mean, DG_OUT),
                                         AT(norm_frozen, rstd, DG_OUT),
                                         AT(norm_frozen, running_mean, DG_IN),
                                         AT(norm_frozen, running_var, DG_IN),
                                         {0}};
static const dg_operand norm_act[] = {AT(norm_act, y, DG_OUT),
                                      AT(norm_act, x, DG_IN),
                                      AT(norm_act, mean, DG_IN),
                                      AT(norm_act, rstd, DG_IN),
                                      AT(norm_act, gamma, DG_IN),
                                      AT(norm_act, beta, DG_IN),
                                      {0}};
static const dg_operand norm_act_dx[] = {AT(norm_act, dx, DG_OUT),
                                         AT(norm_act, dgamma, DG_OUT),
                                         AT(norm_act, dbeta, DG_OUT),
                                         AT(norm_act, dy, DG_IN),
                                         AT(norm_act, x, DG_IN),
                                         AT(norm_act, mean, DG_IN),
                                         AT(norm_act, rstd, DG_IN),
                                         AT(norm_act, gamma, DG_IN),
                                         AT(norm_act, beta, DG_IN),
                                         AT(norm_act, scratch, DG_SCRATCH),
                                         {0}};
static const dg_operand act[] = {AT(act, y, DG_OUT), AT(act, x, DG_IN), {0}};
static const dg_operand act_dx[] = {AT(act, dx, DG_OUT), AT(act, dy, DG_IN), AT(act, y, DG_IN), {0}};
static const dg_operand bce[] = {
    AT(bce, dlogit, DG_OUT), AT(bce, ring, DG_INOUT), AT(bce, logit, DG_IN), AT(bce, state, DG_IN), {0}};
static const dg_operand adam[] = {AT(adam, p, DG_INOUT),
                                  AT(adam, m, DG_INOUT),
                                  AT(adam, v, DG_INOUT),
                                  AT(adam, ring, DG_INOUT),
                                  AT(adam, g, DG_IN),
                                  AT(adam, state, DG_IN),
                                  {0}};
static const dg_operand gather[] = {
    AT(gather, x, DG_OUT), AT(gather, data, DG_IN), AT(gather, perm, DG_IN), AT(gather, state, DG_IN), {0}};
static const dg_operand noise[] = {AT(noise, z, DG_OUT), AT(noise, state, DG_IN), {0}};
static const dg_operand to_u8[] = {AT(to_u8, out, DG_OUT), AT(to_u8, x, DG_IN), {0}};
static const dg_operand advance[] = {AT(advance, state, DG_INOUT), {0}};

#define X(kind, member) _Static_assert(sizeof kind / sizeof kind[0] - 1 <= DG_MAX_OPERANDS, "operands of " #kind);
DG_OPS(X)
#undef X

const dg_operand *dg_operands(dg_op_kind kind, int *count)
{
    static const struct {
        const dg_operand *list;
        int count;
    } table[DG_OP_KINDS] = {
#define X(kind, member) {kind, (int)(sizeof kind / sizeof kind[0]) - 1},
        DG_OPS(X)
#undef X
    };
    *count = table[kind].count;
    return table[kind].list;
}

static double conv_flops(const dg_conv_args *a) { return 2.0 * a->N * a->Ho * a->Wo * a->Co * a->K * a->K * a->Ci; }

static double volume(int N, int H, int W, int C) { return (double)N * H * W * C; }

/* Outside the convolutions: the additions, multiplications, divisions, comparisons and function values of the
 * formulas in ops.h, each counted once; a few for each number, and memory decides the time. */
double dg_op_flops(const dg_op *op)
{
    switch (op->kind) {
    case DG_OP_conv_fwd:
    case DG_OP_conv_dx:
    case DG_OP_conv_dw: return conv_flops(&op->u.conv);
    case DG_OP_norm_stats: {
        const dg_norm_stats_args *a = &op->u.norm_stats;
        return 4 * volume(a->N, a->H, a->W, a->C);
    }
    case DG_OP_norm_frozen: return 3.0 * op->u.norm_frozen.C;
    case DG_OP_norm_act:
    case DG_OP_norm_act_dx: {
        const dg_norm_act_args *a = &op->u.norm_act;
        return (op->kind == DG_OP_norm_act ? 5 : 13) * volume(a->N, a->H, a->W, a->C);
    }
    case DG_OP_act: return op->u.act.act == DG_ACT_NONE ? 0 : (double)op->u.act.n;
    case DG_OP_act_dx:
        return (op->u.act.act == DG_ACT_NONE ? 0 : op->u.act.act == DG_ACT_TANH ? 3 : 1) * (double)op->u.act.n;
    case DG_OP_bce: return 12.0 * op->u.bce.n;
    case DG_OP_adam: return 14.0 * (double)op->u.adam.n;
    case DG_OP_gather: return 2 * volume(op->u.gather.N, op->u.gather.H, op->u.gather.W, op->u.gather.C);
    case DG_OP_noise: return 7.0 * (double)op->u.noise.n;
    case DG_OP_to_u8: return 4.0 * (double)op->u.to_u8.n;
    case DG_OP_advance:
    case DG_OP_KINDS: break;
    }
    return 0;
}
