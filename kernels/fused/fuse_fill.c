/* Builds the kernel arguments of a fused launch from its ops. */
#include "core/tune/conv_tiles.h"
#include "kernels/fused/fuse_launch.h"
#include "core/plan/precision.h"

static float factor_of(const dg_norm_act_args *a) { return (float)dg_act_factor(a->act, a->slope); }

static bool is_rounded(const dg_plan *p, const dg_op *op, const char *name)
{
    const dg_row *r = dg_plan_row(p, op, dg_operand_index(op->kind, name));
    return r && r->rounded;
}

static dg_prologue prologue_of(const dg_plan *p, const dg_op *op, const char *name)
{
    const int k = dg_operand_index(op->kind, name);
    const dg_conv_args *c = &op->u.conv;
    if (op->operand[k].from == 0)
        return (dg_prologue){.kind = DG_PROLOGUE_PLAIN,
                             .x = *name == 'x' ? c->x : c->y,
                             .factor = 1,
                             .groups = 1,
                             .rounded = is_rounded(p, op, name)};
    const dg_op *from = &p->op[op->operand[k].from - 1];
    const dg_norm_act_args *a = &from->u.norm_act;
    const bool backward = from->kind == DG_OP_norm_act_dx;
    return (dg_prologue){.kind = backward ? DG_PROLOGUE_NORM_DX : DG_PROLOGUE_NORM,
                         .x = backward ? a->dx : a->x,
                         .pre = backward ? a->x : NULL,
                         .mean = a->mean,
                         .rstd = a->rstd,
                         .gamma = a->gamma,
                         .beta = a->beta,
                         .totals = backward ? a->scratch : NULL,
                         .factor = factor_of(a),
                         .groups = a->groups,
                         .rounded = is_rounded(p, from, "x")};
}

static dg_epilogue epilogue_of(const dg_op *op)
{
    dg_epilogue s = {.kind = DG_EPILOGUE_PLAIN, .groups = 1, .factor = 1};
    if (op->kind == DG_OP_norm_stats) {
        const dg_norm_stats_args *a = &op->u.norm_stats;
        s.kind = DG_EPILOGUE_STATS;
        s.groups = a->groups;
        s.mean = a->mean, s.rstd = a->rstd, s.running_mean = a->running_mean, s.running_var = a->running_var;
        s.eps = a->eps, s.momentum = a->momentum;
    } else if (op->kind == DG_OP_act || op->kind == DG_OP_act_dx) {
        s.kind = op->kind == DG_OP_act ? DG_EPILOGUE_ACT : DG_EPILOGUE_ACT_DX;
        s.act = op->u.act.act;
        s.slope = (float)op->u.act.slope;
        s.y = op->kind == DG_OP_act ? NULL : op->u.act.y;
    } else if (op->kind == DG_OP_norm_act_dx) {
        const dg_norm_act_args *a = &op->u.norm_act;
        s.kind = DG_EPILOGUE_NORM_DX;
        s.groups = a->groups;
        s.factor = factor_of(a);
        s.pre = a->x, s.mean = a->mean, s.rstd = a->rstd, s.gamma = a->gamma, s.beta = a->beta;
        s.dgamma = a->dgamma, s.dbeta = a->dbeta, s.totals = a->scratch;
    }
    return s;
}

static dg_epilogue last_epilogue(const dg_plan *p, const dg_launch *l)
{
    const dg_op *last = &p->op[l->first + l->count - 1], *conv = &p->op[l->main];
    dg_epilogue s = epilogue_of(last);
    if (s.kind == DG_EPILOGUE_NORM_DX) s.rounded = is_rounded(p, last, "dx"), s.rounded_y = is_rounded(p, last, "x");
    else s.rounded = is_rounded(p, conv, conv->kind == DG_OP_conv_fwd ? "y" : "x");
    if (s.kind == DG_EPILOGUE_ACT_DX) s.rounded_y = is_rounded(p, last, "y");
    return s;
}

static void *scratch_of(const dg_plan *p, const dg_launch *l)
{
    return l->row < 0 || !p->arena->base ? NULL : (char *)p->arena->base + p->arena->row[l->row].offset;
}

static unsigned *counters_of(const dg_plan *p, const dg_launch *l)
{
    if (p->row_counters < 0 || !p->arena->base) return NULL;
    return (unsigned *)(void *)((char *)p->arena->base + p->arena->row[p->row_counters].offset) + l->counter;
}

/* True if the plan has two launches before l, and neither of them writes weights. Before grid_dependency_wait(), the
 * writes of these two launches may be invisible to launch l. */
static bool weights_stay(const dg_plan *p, const dg_launch *l)
{
    for (int back = 1; back <= 2; back++)
        if (l - p->launch < back || dg_plan_writes_weights(p, &p->op[l[-back].main])) return false;
    return true;
}

/* Returns the size of a network's weights in bytes, including gaps between tensors. Sets *first to the offset of the
 * weights in the arena. */
static size_t weights_of(const dg_arena *a, int net, size_t *first)
{
    size_t end = 0;
    *first = SIZE_MAX;
    for (int i = 0; i < a->rows; i++) {
        const dg_row *r = &a->row[i];
        if (r->kind != DG_PARAM || r->net != net) continue;
        if (r->offset < *first) *first = r->offset;
        if (r->offset + r->bytes > end) end = r->offset + r->bytes;
    }
    return end ? (end - *first + 255) / 256 * 256 : 0;
}

static size_t rounded_bytes(size_t weight_bytes) { return weight_bytes / sizeof(float) * sizeof(uint16_t); }

void dg_rounded_row(dg_plan *p, const dg_launch *l)
{
    const dg_op *op = &p->op[l->main];
    dg_arena *a = p->arena;
    const dg_fused_family family = l->kind == DG_LAUNCH_CONV ? dg_fused_family_of(op->kind, &op->u.conv, &op->tune)
                                                             : DG_FUSED_NONE;
    if (family != DG_FUSED_MMA && family != DG_FUSED_WGMMA) return;
    const int net = dg_plan_row(p, op, dg_operand_index(op->kind, "w"))->net;
    if (a->rounded[net]) return;
    char name[32];
    size_t first;
    snprintf(name, sizeof name, "rounded.%d", net);
    a->rounding = op->tune.math;
    a->rounded[net] = dg_arena_bytes(a, name, DG_STATE, rounded_bytes(weights_of(a, net, &first)));
}

dg_rounded dg_rounded_of(const dg_plan *p, int net)
{
    const dg_arena *a = p->arena;
    char *const base = a->base;
    if (!a->rounded[net] || !base) return (dg_rounded){.to = NULL};
    size_t first;
    const size_t bytes = weights_of(a, net, &first);
    return (dg_rounded){.from = (const float *)(const void *)(base + first),
                        .to = base + a->row[a->rounded[net]].offset,
                        .n = (int64_t)(bytes / sizeof(float)),
                        .math = a->rounding};
}

static const void *rounded_weight(const dg_plan *p, const dg_op *op)
{
    const dg_row *row = dg_plan_row(p, op, dg_operand_index(op->kind, "w"));
    const dg_rounded all = dg_rounded_of(p, row->net);
    if (!all.to) return NULL;
    const char *const w = (const char *)p->arena->base + row->offset;
    return (const char *)all.to + rounded_bytes((size_t)(w - (const char *)all.from));
}

static void *factors_of(const dg_plan *p, const dg_op *op, const char *name)
{
    const int row = op->operand[dg_operand_index(op->kind, name)].factors;
    return row && p->arena->base ? (char *)p->arena->base + p->arena->row[row].offset : NULL;
}

static bool factors_are_there(const dg_plan *p, const dg_op *dw, const char *name)
{
    const int row = dw->operand[dg_operand_index(dw->kind, name)].factors;
    return row && dg_factors_written(p, row);
}

dg_fused_conv dg_fused_conv_of(const dg_plan *p, const dg_launch *l)
{
    const dg_op *op = &p->op[l->main];
    dg_fused_conv f = {.conv = op->u.conv, .in = prologue_of(p, op, dg_fuse_input(op)), .out = last_epilogue(p, l)};
    for (int i = l->first; i < l->first + l->count; i++) {
        if (p->op[i].kind == DG_OP_gather) f.gather = p->op[i].u.gather;
        if (p->op[i].kind == DG_OP_noise) f.noise = p->op[i].u.noise;
    }
    f.early = weights_stay(p, l);
    f.rounded = rounded_weight(p, op);
    f.factors = factors_of(p, op, dg_fuse_input(op));
    f.scratch = scratch_of(p, l);
    f.counters = counters_of(p, l);
    return f;
}

dg_fused_head dg_fused_head_of(const dg_plan *p, const dg_launch *l)
{
    const dg_op *op = &p->op[l->main];
    const dg_conv_args *c = &op->u.conv;
    dg_fused_head h = {.in = prologue_of(p, op, "x"),
                       .N = c->N,
                       .pixels = dg_conv_pixels(c),
                       .C = dg_conv_channels(c),
                       .w = c->w,
                       .logit = c->y,
                       .out = last_epilogue(p, l)};
    for (int i = l->first; i < l->first + l->count; i++) {
        if (p->op[i].kind == DG_OP_conv_dx) h.g = p->op[i].u.conv.x;
        if (p->op[i].kind != DG_OP_gan_loss) continue;
        const dg_gan_loss_args *b = &p->op[i].u.gan_loss;
        if (!h.losses) {
            h.dlogit = b->dlogit;
            h.ring = b->ring;
            h.state = b->state;
        }
        h.target[h.losses] = b->target;
        h.loss[h.losses] = b->loss;
        h.prob[h.losses++] = b->prob;
    }
    h.scratch = scratch_of(p, l);
    h.counters = counters_of(p, l);
    return h;
}

/* Returns the first gradient of the network, or of the launch if it has weight gradients only. */
static const dg_row *first_gradient(const dg_plan *p, const dg_launch *l)
{
    const dg_op *main = &p->op[l->main];
    if (l->kind == DG_LAUNCH_UPDATE) return dg_plan_row(p, main, dg_operand_index(main->kind, "g"));
    const int w = dg_operand_index(DG_OP_conv_dw, "w");
    const dg_row *first = dg_plan_row(p, main, w);
    for (int i = l->first; i < l->first + l->count; i++)
        if (dg_plan_row(p, &p->op[i], w)->offset < first->offset) first = dg_plan_row(p, &p->op[i], w);
    return first;
}

/* Returns the offset of op dw's result in floats. */
static int64_t distance(const dg_plan *p, const dg_row *first, const dg_op *dw)
{
    const dg_row *row = dg_plan_row(p, dw, dg_operand_index(dw->kind, "w"));
    return ((int64_t)row->offset - (int64_t)first->offset) / (int64_t)sizeof(float);
}

dg_fused_family dg_update_family(const dg_launch *l, const dg_op *op)
{
    const dg_conv_args flat = dg_conv_flat(&op->u.conv);
    const dg_fused_family family = op->tune.variant->fused;
    if (family == DG_FUSED_MMA && op->tune.math == DG_MATH_BF16 && l->warpgroups) return DG_FUSED_WGMMA;
    if (family) return family;
    return flat.K == 1 && flat.Ho == 1 ? DG_FUSED_DENSE : DG_FUSED_NONE;
}

dg_fused_update dg_fused_update_of(const dg_plan *p, const dg_launch *l)
{
    const dg_op *main = &p->op[l->main];
    const dg_row *first = first_gradient(p, l);
    dg_fused_update u = {.jobs = 0};
    if (l->kind == DG_LAUNCH_UPDATE) u.adam = main->u.adam;
    for (int i = l->first; i < l->first + l->count; i++) {
        const dg_op *op = &p->op[i];
        if (op->kind == DG_OP_advance) u.advance = op->u.advance;
        if (op->kind != DG_OP_conv_dw || u.jobs++ >= DG_UPDATE_JOBS) continue;
        u.job[u.jobs - 1] = (dg_update_job){.conv = op->u.conv,
                                            .x = prologue_of(p, op, "x"),
                                            .y = prologue_of(p, op, "y"),
                                            .factors = {factors_of(p, op, "x"), factors_of(p, op, "y")},
                                            .there = {factors_are_there(p, op, "x"), factors_are_there(p, op, "y")},
                                            .tune = op->tune,
                                            .kind = dg_update_family(l, op),
                                            .offset = distance(p, first, op)};
    }
    if (u.jobs <= DG_UPDATE_JOBS) dg_fused_update_split(&u);
    if (l->kind == DG_LAUNCH_UPDATE)
        u.rounded = dg_rounded_of(p, dg_plan_row(p, main, dg_operand_index(main->kind, "p"))->net);
    u.scratch = scratch_of(p, l);
    u.counters = counters_of(p, l);
    return u;
}

dg_fused_size dg_fused_size_of(const dg_plan *p, const dg_launch *l)
{
    const dg_op *op = &p->op[l->main];
    if (l->kind == DG_LAUNCH_CONV) {
        const dg_fused_conv f = dg_fused_conv_of(p, l);
        return dg_fused_conv_size(op->kind, &f, &op->tune);
    }
    if (l->kind == DG_LAUNCH_HEAD) {
        const dg_fused_head h = dg_fused_head_of(p, l);
        return dg_fused_head_size(&h);
    }
    const dg_fused_update u = dg_fused_update_of(p, l);
    return dg_fused_update_size(&u);
}

const char *dg_fused_refuses(const dg_plan *p, const dg_launch *l, const dg_gpu *gpu)
{
    const dg_op *op = &p->op[l->main];
    if (l->kind == DG_LAUNCH_CONV) {
        if (dg_plan_row(p, op, dg_operand_index(op->kind, "w"))->kind != DG_PARAM)
            return "the weights of the convolution are not parameters of a network";
        const dg_fused_conv f = dg_fused_conv_of(p, l);
        return dg_fused_conv_refuses(op->kind, &f, &op->tune, gpu);
    }
    if (l->kind == DG_LAUNCH_HEAD) {
        const dg_fused_head h = dg_fused_head_of(p, l);
        return dg_fused_head_refuses(&h);
    }
    const dg_fused_update u = dg_fused_update_of(p, l);
    if (u.jobs > DG_UPDATE_JOBS) return "the network has more layers than one fused update supports";
    return dg_fused_update_refuses(&u, gpu);
}
