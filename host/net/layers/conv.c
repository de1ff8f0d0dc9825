/* Layers conv, conv_transpose and dense: a convolution, followed by bias or batch norm, the sum with the output of
 * layer `add`, and the activation. Spectral norm divides the weights by their largest singular value sigma. A dense
 * layer, which is Flatten and Linear in PyTorch, is a convolution whose kernel covers the map. */
#include <stdio.h>
#include <string.h>

#include "host/net/layers/layers.h"
#include "host/net/shards.h"

static const double NORM_MOMENTUM = 0.1, SPECTRAL_EPS = 1e-12; /* PyTorch's defaults */

enum { W, GAMMA, BETA, RUNNING_MEAN, RUNNING_VAR, U = W + 1, V };
/* Indices into dg_layer_pass.saved. PRE: convolution's output; NORMAL: weights / sigma. */
enum { PRE, MEAN, RSTD, NORMAL = PRE, SIGMA };

#define X(NAME, word, batch) [DG_NORM_##NAME] = batch,
static const bool of_batch[] = {DG_NORMS(X)};
#undef X
static bool batch(const dg_layer *l) { return of_batch[l->norm]; }
static bool spectral(const dg_layer *l) { return l->norm == DG_NORM_SPECTRAL; }
static int bias_of(const dg_layer *l) { return spectral(l) ? V + 1 : W + 1; }
static bool transposed(const dg_layer *l) { return l->kind == &dg_layer_conv_transpose; }
static bool dense(const dg_layer *l) { return l->kind == &dg_layer_dense; }

static dg_err shape(dg_layer *l, const char *where)
{
    if (l->bias < 0) l->bias = dense(l) && !batch(l);
    if (spectral(l) && transposed(l))
        return dg_layer_fail(l, where,
                             DG_MSG("spectral-layer",
                                    "norm = spectral: not supported with op = conv_transpose; use conv or dense"));
    if (spectral(l) && l->start == DG_LAYER_START_ZERO)
        return dg_layer_fail(
            l, where,
            DG_MSG("spectral-zero",
                   "start = zero: not supported with norm = spectral, which divides by the norm of the "
                   "weights; use start = gain"));
    if (l->bias && batch(l))
        return dg_layer_fail(l, where,
                             "bias = yes: not supported with norm = batch, which has a bias; use norm = none");
    if (dense(l)) {
        l->flatten = !l->flat;
        l->kernel = (dg_size){l->in.W, l->in.H};
        l->stride = 1;
        l->pad = 0;
    }
    l->flat = dense(l);
    if (l->stride < 0) l->stride = 1;
    if (l->pad < 0) l->pad = dg_is_square(l->kernel) ? (l->kernel.W - 1) / 2 : 0;
    if (batch(l) && !dg_act_is_linear(l->act))
        return dg_layer_fail(l, where, "act = %s: not supported with norm = batch; use norm = none",
                             dg_acts[l->act].word);
    if (l->groups > 1 && (l->stride != 1 || l->in.C % l->groups || l->filters % l->groups))
        return dg_layer_fail(l, where,
                             DG_MSG("bad-groups",
                                    "groups = %d: needs stride = 1, and must divide the %d input channels and the %d "
                                    "filters"),
                             l->groups, l->in.C, l->filters);
    const dg_shape map = transposed(l) ? (dg_shape){1, l->kernel.H, l->kernel.W, l->filters} : l->in;
    const bool covers = l->kernel.H == map.H && l->kernel.W == map.W && l->pad == 0 && l->groups == 1 &&
                        (!transposed(l) || (l->in.H == 1 && l->in.W == 1));
    if (!dg_is_square(l->kernel) && !covers)
        return dg_layer_fail(l, where,
                             DG_MSG("kernel-rectangle",
                                    "kernel = %dx%d: a kernel that is not square must cover the whole map (%d x %d), "
                                    "with pad = 0 and without groups"),
                             l->kernel.W, l->kernel.H, transposed(l) ? l->in.W : map.W,
                             transposed(l) ? l->in.H : map.H);
    l->out = (dg_shape){1, 0, 0, l->filters};
    if (!transposed(l)) {
        const dg_err e = dg_layer_windows(l, where, false, &l->out);
        return e ? e : dg_layer_check_size(l, where);
    }
    if (l->pad >= dg_shorter_side(l->kernel))
        return dg_layer_fail(l, where, "pad = %d: must be less than kernel = %d", l->pad, dg_shorter_side(l->kernel));
    l->out.H = (l->in.H - 1) * l->stride + l->kernel.H - 2 * l->pad;
    l->out.W = (l->in.W - 1) * l->stride + l->kernel.W - 2 * l->pad;
    return dg_layer_check_size(l, where);
}

static int modules(const dg_layer *l) { return l->flatten + 1 + batch(l) + (l->act != DG_ACT_NONE); }

static dg_group_args grouped(const dg_layer *l, int N)
{
    return (dg_group_args){.N = N,
                           .H = l->in.H,
                           .W = l->in.W,
                           .Ci = l->in.C,
                           .Ho = l->out.H,
                           .Wo = l->out.W,
                           .Co = l->out.C,
                           .K = l->kernel.H,
                           .P = l->pad,
                           .groups = l->groups,
                           .Cg = l->in.C / l->groups};
}

/* The tensor x of a convolution. In a transposed convolution, x is the output and y is the input. */
static dg_shape x_of(const dg_layer *l) { return transposed(l) ? l->out : l->in; }

static dg_conv_args geometry(const dg_layer *l, int N)
{
    const dg_shape x = x_of(l), y = transposed(l) ? l->in : l->out;
    if (!dg_is_square(l->kernel))
        return (dg_conv_args){.N = N,
                              .H = 1,
                              .W = 1,
                              .Ci = (int)dg_count(x),
                              .Ho = 1,
                              .Wo = 1,
                              .Co = y.C,
                              .K = 1,
                              .S = 1,
                              .pixels = x.H * x.W};
    return (dg_conv_args){.N = N,
                          .H = x.H,
                          .W = x.W,
                          .Ci = x.C,
                          .Ho = y.H,
                          .Wo = y.W,
                          .Co = y.C,
                          .K = l->kernel.H,
                          .S = l->stride,
                          .P = l->pad};
}

static int parameters(const dg_layer *l, dg_parameter out[DG_LAYER_PARAMETERS])
{
    const int Co = transposed(l) ? l->in.C : l->out.C, Ci = x_of(l).C / (l->groups > 1 ? l->groups : 1);
    const int C = l->filters, rows = l->kernel.H, columns = l->kernel.W;
    const int own = l->flatten, norm = own + 1;
    const dg_parameter all[] = {
        [W] = {DG_PARAMETER_WEIGHT, "conv.w", "conv.dw", own, "weight", 4, {Co, Ci, rows, columns}, dense(l) ? 2 : 0},
        [GAMMA] = {DG_PARAMETER_WEIGHT, "norm.gamma", "norm.dgamma", norm, "weight", 1, {C}, 0},
        [BETA] = {DG_PARAMETER_WEIGHT, "norm.beta", "norm.dbeta", norm, "bias", 1, {C}, 0},
        [RUNNING_MEAN] = {DG_PARAMETER_MEAN, "norm.running_mean", NULL, norm, "running_mean", 1, {C}, 0},
        [RUNNING_VAR] = {DG_PARAMETER_VARIANCE, "norm.running_var", NULL, norm, "running_var", 1, {C}, 0},
        {DG_PARAMETER_COUNT, NULL, NULL, norm, "num_batches_tracked", 0, {0}, 0},
    };
    memcpy(out, all, sizeof all);
    if (batch(l)) return (int)(sizeof all / sizeof *all);
    if (spectral(l)) {
        out[W].field = "weight_orig";
        out[U] = (dg_parameter){DG_PARAMETER_DIRECTION, "spectral.u", NULL, own, "weight_u", 1, {C}, 0};
        out[V] =
            (dg_parameter){DG_PARAMETER_DIRECTION, "spectral.v", NULL, own, "weight_v", 4, {1, Ci, rows, columns}, 1};
    }
    if (l->bias) out[bias_of(l)] = (dg_parameter){DG_PARAMETER_WEIGHT, "bias.b", "bias.db", own, "bias", 1, {C}, 0};
    return bias_of(l) + l->bias;
}

/* Returns s: fp16 gradients are multiplied by 2^s. Normal fp16 numbers are 2^-14 to 2^16. Gradients are proportional to
 * 1 / batch. In dcgan64-paper, dcgan64 and dcgan128, the largest measured gradient is 2^4.5 / batch. In each of their
 * layers, 99% of the gradients are above 2^-22 / batch. With 2^s = 256 * batch, the largest scaled gradient is 2^12.5,
 * and 99% are normal numbers. */
static int shift_of(int batch)
{
    int shift = 8;
    while (1 << (shift - 8) < batch) shift++;
    return shift;
}

static dg_norm_act_args norm_act(const dg_layer *l, const dg_pass *p)
{
    return (dg_norm_act_args){.N = p->N,
                              .H = l->out.H,
                              .W = l->out.W,
                              .C = l->filters,
                              .groups = p->groups,
                              .act = l->add < 0 ? l->act : DG_ACT_NONE,
                              .slope = l->slope};
}

static void bind_norm(dg_op *op, const dg_layer_pass *own, const dg_layer_rows *r)
{
    dg_bind(op, "x", own->saved[PRE]);
    dg_bind(op, "mean", own->saved[MEAN]);
    dg_bind(op, "rstd", own->saved[RSTD]);
    dg_bind_row(op, "gamma", r->value[GAMMA]);
    dg_bind_row(op, "beta", r->value[BETA]);
}

static void norm_forward(dg_builder *b, const dg_pass *p, int i, dg_layer_pass *own)
{
    const dg_layer *l = dg_layer_of(b, p, i);
    const dg_layer_rows *r = &b->rows[p->net][i];
    const dg_shape stats = {1, 1, p->groups, l->filters};
    const double momentum = p->momentum ? *p->momentum : NORM_MOMENTUM;
    const bool shards = b->shards && !p->frozen && momentum > 0;
    if (shards) {
        own->saved[MEAN] = own->saved[RSTD] = dg_shard_values(b, 2 * p->groups * l->filters);
        own->saved[RSTD].offset += (int64_t)p->groups * l->filters;
    } else {
        own->saved[MEAN].row = dg_work_row(b, p->net, stats, "%s.norm.mean%s", l->name, p->suffix);
        own->saved[RSTD].row = dg_work_row(b, p->net, stats, "%s.norm.rstd%s", l->name, p->suffix);
    }
    dg_op *op = dg_plan_add(b->plan, p->frozen ? DG_OP_norm_frozen : DG_OP_norm_stats, "%s.norm.stats%s", l->name,
                            p->suffix);
    if (p->frozen) op->u.norm_frozen = (dg_norm_frozen_args){.C = l->filters, .eps = DG_NORM_EPS};
    else
        op->u.norm_stats = (dg_norm_stats_args){.N = p->N,
                                                .H = l->out.H,
                                                .W = l->out.W,
                                                .C = l->filters,
                                                .groups = p->groups,
                                                .eps = DG_NORM_EPS,
                                                .momentum = momentum};
    dg_bind(op, "mean", own->saved[MEAN]);
    dg_bind(op, "rstd", own->saved[RSTD]);
    if (!shards) dg_bind_row(op, "running_mean", r->value[RUNNING_MEAN]);
    if (!shards) dg_bind_row(op, "running_var", r->value[RUNNING_VAR]);
    if (!p->frozen) dg_bind(op, "x", own->saved[PRE]);
    if (shards) {
        const dg_shard_running_args a = {.groups = p->groups,
                                         .C = l->filters,
                                         .count = p->N / p->groups * l->out.H * l->out.W,
                                         .eps = DG_NORM_EPS,
                                         .momentum = momentum};
        dg_shard_running(b, a, own->saved[MEAN], r->value[RUNNING_MEAN], r->value[RUNNING_VAR]);
    }

    op = dg_plan_add(b->plan, DG_OP_norm_act, "%s.norm.act%s", l->name, p->suffix);
    op->u.norm_act = norm_act(l, p);
    dg_bind(op, "y", own->out);
    bind_norm(op, own, r);
}

static dg_spectral_args weights_of(const dg_layer *l)
{
    const dg_conv_args c = geometry(l, 1);
    return (dg_spectral_args){.rows = c.Co, .cols = c.Ci / l->groups * c.K * c.K, .eps = SPECTRAL_EPS};
}

/* Returns the arena row that spectral_forward appended for this pass of the first shard. */
static int row_of_pass(const dg_builder *b, const dg_pass *p, const dg_layer *l, const char *what)
{
    char name[64];
    snprintf(name, sizeof name, "%s.spectral.%s%s", l->name, what, p->suffix);
    int row = b->arena->rows - 1;
    while (row > 0 && (b->arena->row[row].plan != b->plan->id || strcmp(b->arena->row[row].name, name))) row--;
    return row;
}

/* Only the first forward pass of a training step runs the power iteration. All shards have the same weights, so only
 * the first one computes sigma. */
static void spectral_forward(dg_builder *b, const dg_pass *p, int i, dg_layer_pass *own)
{
    const dg_layer *l = dg_layer_of(b, p, i);
    const dg_layer_rows *r = &b->rows[p->net][i];
    const dg_shape shape = b->arena->row[r->value[W]].shape;
    if (b->arena->shard) { /* not the first shard of this process */
        own->saved[NORMAL].row = row_of_pass(b, p, l, "w");
        own->saved[SIGMA].row = row_of_pass(b, p, l, "sigma");
        return;
    }
    own->saved[NORMAL].row = dg_work_row(b, p->net, shape, "%s.spectral.w%s", l->name, p->suffix);
    own->saved[SIGMA].row = dg_work_row(b, p->net, (dg_shape){1, 1, 1, 1}, "%s.spectral.sigma%s", l->name, p->suffix);
    dg_op *op = dg_plan_add(b->plan, DG_OP_spectral, "%s.spectral%s", l->name, p->suffix);
    op->u.spectral = weights_of(l);
    op->u.spectral.iterate = !p->frozen && p->order == 0;
    dg_bind(op, "wn", own->saved[NORMAL]);
    dg_bind(op, "sigma", own->saved[SIGMA]);
    dg_bind_row(op, "u", r->value[U]);
    dg_bind_row(op, "v", r->value[V]);
    dg_bind_row(op, "w", r->value[W]);
}

/* Returns the arena row of the convolution's weights, divided by sigma with spectral norm. */
static int factors(const dg_builder *b, const dg_pass *p, int i)
{
    return spectral(dg_layer_of(b, p, i)) ? p->layer[i].saved[NORMAL].row : b->rows[p->net][i].value[W];
}

static dg_op *add(dg_builder *b, const dg_pass *p, int i, dg_op_kind kind, const char *what)
{
    static const dg_op_kind of_groups[] = {
        [DG_OP_conv_fwd] = DG_OP_group_fwd, [DG_OP_conv_dx] = DG_OP_group_dx, [DG_OP_conv_dw] = DG_OP_group_dw};
    const dg_layer *l = dg_layer_of(b, p, i);
    const bool groups = l->groups > 1;
    dg_op *op = dg_plan_add(b->plan, groups ? of_groups[kind] : kind, "%s.%s.%s%s", l->name, l->kind->name, what,
                            p->suffix);
    if (groups) op->u.group = grouped(l, p->N);
    else op->u.conv = geometry(l, p->N);
    return op;
}

static void convolve(dg_builder *b, const dg_pass *p, int i, const char *what, dg_view in, dg_view out)
{
    const dg_layer *l = dg_layer_of(b, p, i);
    dg_op *op = add(b, p, i, transposed(l) ? DG_OP_conv_dx : DG_OP_conv_fwd, what);
    dg_bind(op, transposed(l) ? "y" : "x", in);
    dg_bind(op, transposed(l) ? "x" : "y", out);
    dg_bind_row(op, "w", factors(b, p, i));
}

static void forward(dg_builder *b, dg_pass *p, int i)
{
    const dg_layer *l = dg_layer_of(b, p, i);
    dg_layer_pass *own = &p->layer[i];
    if (spectral(l)) spectral_forward(b, p, i, own);
    if (batch(l))
        own->saved[PRE].row = dg_work_row(b, p->net, dg_batch_of(l->out, p->N), "%s.pre%s", l->name, p->suffix);
    own->out = dg_layer_out(b, p, i);
    convolve(b, p, i, "fwd", own->in, batch(l) ? own->saved[PRE] : own->out);
    if (batch(l)) norm_forward(b, p, i, own);
    if (!batch(l) || l->add >= 0) dg_finish_forward(b, p, i, l->bias ? b->rows[p->net][i].value[bias_of(l)] : -1);
}

static dg_view norm_backward(dg_builder *b, const dg_pass *p, int i, dg_view dy, unsigned want)
{
    const dg_layer *l = dg_layer_of(b, p, i);
    const dg_layer_rows *r = &b->rows[p->net][i];
    const dg_view dx = dg_layer_gradient(b, p, i, dy);
    dg_op *op = dg_plan_add(b->plan, DG_OP_norm_act_dx, "%s.norm.act.dx%s", l->name, p->suffix);
    dg_bind(op, "dx", dx);
    dg_bind(op, "dy", dy);
    op->u.norm_act = norm_act(l, p);
    if (want & DG_WANT_WEIGHTS) dg_bind_row(op, "dgamma", r->grad[GAMMA]);
    if (want & DG_WANT_WEIGHTS) dg_bind_row(op, "dbeta", r->grad[BETA]);
    bind_norm(op, &p->layer[i], r);
    return dx;
}

static dg_op *gradient(dg_builder *b, const dg_pass *p, int i, dg_op_kind kind, dg_view dy)
{
    const dg_layer *l = dg_layer_of(b, p, i);
    dg_op *op = add(b, p, i, kind, kind == DG_OP_conv_dw ? "dw" : "dx");
    if (l->groups == 1) *(transposed(l) ? &op->u.conv.shift_x : &op->u.conv.shift_y) = shift_of(p->N / p->groups);
    dg_bind(op, transposed(l) ? "x" : "y", dy);
    return op;
}

static void spectral_backward(dg_builder *b, const dg_pass *p, int i, int dwn)
{
    const dg_layer *l = dg_layer_of(b, p, i);
    const dg_layer_rows *r = &b->rows[p->net][i];
    dg_op *op = dg_plan_add(b->plan, DG_OP_spectral_dw, "%s.spectral.dw%s", l->name, p->suffix);
    op->u.spectral = weights_of(l);
    dg_bind_row(op, "dw", r->grad[W]);
    dg_bind_row(op, "dwn", dwn);
    dg_bind(op, "wn", p->layer[i].saved[NORMAL]);
    dg_bind_row(op, "u", r->value[U]);
    dg_bind_row(op, "v", r->value[V]);
    dg_bind(op, "sigma", p->layer[i].saved[SIGMA]);
}

/* x: the layer's input; dy: gradient of the convolution's output. */
static void weight_gradient(dg_builder *b, const dg_pass *p, int i, dg_view x, dg_view dy)
{
    const dg_layer *l = dg_layer_of(b, p, i);
    const dg_layer_rows *r = &b->rows[p->net][i];
    const dg_shape shape = b->arena->row[r->value[W]].shape;
    const int dw = spectral(l) ? dg_work_row(b, p->net, shape, "%s.spectral.dwn%s", l->name, p->suffix) : r->grad[W];
    dg_op *op = gradient(b, p, i, DG_OP_conv_dw, dy);
    dg_bind_row(op, "w", dw);
    dg_bind(op, transposed(l) ? "y" : "x", x);
    if (spectral(l)) spectral_backward(b, p, i, dw);
}

static void backward(dg_builder *b, dg_pass *p, int i, dg_view dy, unsigned want, dg_view dx[2])
{
    const dg_layer *l = dg_layer_of(b, p, i);
    const dg_layer_rows *r = &b->rows[p->net][i];
    if (!batch(l) || l->add >= 0) dy = dg_finish_backward(b, p, i, dy, l->bias ? r->grad[bias_of(l)] : -1, want, dx);
    if (batch(l)) dy = norm_backward(b, p, i, dy, want);
    p->layer[i].grad = dy;
    if (want & DG_WANT_WEIGHTS) weight_gradient(b, p, i, p->layer[i].in, dy);
    if (!(want & DG_WANT_INPUT)) return;
    dx[0].row = dg_work_row(b, p->net, dg_batch_of(l->in, p->N), "%s.din%s", l->name, p->suffix);
    dg_op *op = gradient(b, p, i, transposed(l) ? DG_OP_conv_fwd : DG_OP_conv_dx, dy);
    dg_bind(op, transposed(l) ? "y" : "x", dx[0]);
    dg_bind_row(op, "w", factors(b, p, i));
}

/* Append op mix: y = s_n a + (r / N) t (penalty.h). The weight gradient uses y as the layer's input. */
static dg_view mix(dg_builder *b, const dg_tangent *t, int i)
{
    const dg_pass *p = t->pass;
    const dg_layer *l = dg_layer_of(b, p, i);
    const dg_view out = {dg_work_row(b, p->net, dg_batch_of(l->in, p->N), "%s.mix%s", l->name, p->suffix), 0};
    dg_op *op = dg_plan_add(b->plan, DG_OP_mix, "%s.mix%s", l->name, p->suffix);
    op->u.mix = (dg_mix_args){.N = p->N, .each = (int)dg_count(l->in), .first = p->N / 2};
    dg_bind(op, "y", out);
    dg_bind(op, "s", t->slopes);
    dg_bind(op, "a", p->layer[i].in);
    dg_bind(op, "t", t->in);
    dg_bind_row(op, "state", b->state);
    return out;
}

static dg_view tangent(dg_builder *b, const dg_tangent *t, int i)
{
    const dg_pass *p = t->pass;
    const dg_layer *l = dg_layer_of(b, p, i);
    const dg_view out = dg_tangent_out(b, t, i);
    weight_gradient(b, p, i, mix(b, t, i), p->layer[i].grad);
    convolve(b, p, i, "tangent", t->in, out);
    dg_finish_tangent(b, t, i, out, out, l->bias ? b->rows[p->net][i].grad[bias_of(l)] : -1);
    return out;
}

static void onnx(dg_onnx *o, const dg_layer *l, dg_layer_onnx *n)
{
    if (l->flatten) dg_layer_node(o, l, n, "Flatten", "flat");
    dg_onnx_node *node = dg_layer_node(o, l, n,
                                       dense(l)        ? "Gemm"
                                       : transposed(l) ? "ConvTranspose"
                                                       : "Conv",
                                       l->kind->name);
    dg_onnx_input(node, n->parameter[W]);
    if (l->bias) dg_onnx_input(node, n->parameter[bias_of(l)]);
    if (dense(l)) dg_onnx_int(node, "transB", 1);
    else dg_windows_onnx(node, l);
    if (l->groups > 1) dg_onnx_int(node, "group", l->groups);
    if (batch(l)) {
        node = dg_layer_node(o, l, n, "BatchNormalization", "norm");
        for (int k = GAMMA; k <= RUNNING_VAR; k++) dg_onnx_input(node, n->parameter[k]);
        dg_onnx_real(node, "epsilon", DG_NORM_EPS);
    }
    dg_finish_onnx(o, l, n);
}

enum {
    ANY = DG_KEY(FILTERS) | DG_KEY(BIAS) | DG_KEY(NORM) | DG_KEY(START) | DG_KEY(GAIN) | DG_KEY(ADD) | DG_KEY(ACT) |
          DG_KEY(SLOPE) | DG_KEY(TORCH),
    WINDOWS = DG_KEY(KERNEL) | DG_KEY(STRIDE) | DG_KEY(PAD)
};

#define KIND(word, keys, needed)                                                                             \
    {                                                                                                        \
        .name = (word), .takes = (keys), .needs = (needed), .shape = shape, .modules = modules,              \
        .parameters = parameters, .forward = forward, .backward = backward, .tangent = tangent, .onnx = onnx \
    }

const dg_layer_kind dg_layer_conv = KIND("conv", ANY | WINDOWS | DG_KEY(GROUPS), DG_KEY(FILTERS) | DG_KEY(KERNEL));
const dg_layer_kind dg_layer_conv_transpose = KIND("conv_transpose", ANY | WINDOWS, DG_KEY(FILTERS) | DG_KEY(KERNEL));
const dg_layer_kind dg_layer_dense = KIND("dense", ANY, DG_KEY(FILTERS));
