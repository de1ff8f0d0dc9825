/* Layers max_pool and mean_pool: max or mean per window, bias, activation. Pixels after the last window are ignored. */
#include "host/net/layers/layers.h"

enum { PLACE };
enum { BIAS };

static bool takes_mean(const dg_layer *l) { return l->kind == &dg_layer_mean_pool; }

static dg_err shape(dg_layer *l, const char *where)
{
    if (l->kernel.H < 0) l->kernel = (dg_size){l->in.W, l->in.H};
    if (l->stride < 0) l->stride = dg_longer_side(l->kernel);
    if (l->pad < 0) l->pad = 0;
    if (l->bias < 0) l->bias = 0;
    l->flat = false;
    l->out = (dg_shape){1, 0, 0, l->in.C};
    if (!dg_is_square(l->kernel) && (!takes_mean(l) || l->kernel.W != l->in.W || l->kernel.H != l->in.H))
        return dg_layer_fail(l, where,
                             DG_MSG("kernel-rectangle-pool", "kernel = %dx%d: only a mean_pool of the whole map (%d x "
                                                             "%d) may have a kernel that is not square"),
                             l->kernel.W, l->kernel.H, l->in.W, l->in.H);
    const dg_err e = dg_layer_windows(l, where, true, &l->out);
    return e ? e : dg_layer_check_size(l, where);
}

static int modules(const dg_layer *l) { return 1 + l->bias + (l->act != DG_ACT_NONE); }

static int parameters(const dg_layer *l, dg_parameter out[DG_LAYER_PARAMETERS])
{
    out[BIAS] = (dg_parameter){DG_PARAMETER_WEIGHT, "bias.b", "bias.db", 1, "bias", 1, {l->in.C}, false};
    return l->bias;
}

static dg_op *add(dg_builder *b, const dg_pass *p, int i, dg_op_kind kind, const char *what)
{
    const dg_layer *l = dg_layer_of(b, p, i);
    dg_op *op = dg_plan_add(b->plan, kind, "%s.%s.%s%s", l->name, l->kind->name, what, p->suffix);
    op->u.pool = (dg_pool_args){.N = p->N,
                                .H = l->in.H,
                                .W = l->in.W,
                                .C = l->in.C,
                                .Ho = l->out.H,
                                .Wo = l->out.W,
                                .K = l->kernel.H,
                                .S = l->stride,
                                .P = l->pad,
                                .columns = dg_is_square(l->kernel) ? 0 : l->kernel.W};
    if (!takes_mean(l)) dg_bind(op, "place", p->layer[i].saved[PLACE]);
    return op;
}

static void forward(dg_builder *b, dg_pass *p, int i)
{
    const dg_layer *l = dg_layer_of(b, p, i);
    dg_layer_pass *own = &p->layer[i];
    char name[64];
    snprintf(name, sizeof name, "%s.place%s", l->name, p->suffix);
    if (!takes_mean(l))
        own->saved[PLACE].row = dg_arena_row(b->arena, name, DG_WORK, p->net - b->first, DG_U8,
                                             dg_batch_of(l->out, p->N));
    own->out = dg_layer_out(b, p, i);
    dg_op *op = add(b, p, i, takes_mean(l) ? DG_OP_meanpool : DG_OP_maxpool, "fwd");
    dg_bind(op, "y", own->out);
    dg_bind(op, "x", own->in);
    dg_finish_forward(b, p, i, l->bias ? b->rows[p->net][i].value[BIAS] : -1);
}

static void backward(dg_builder *b, dg_pass *p, int i, dg_view dy, unsigned want, dg_view dx[2])
{
    const dg_layer *l = dg_layer_of(b, p, i);
    dy = dg_finish_backward(b, p, i, dy, l->bias ? b->rows[p->net][i].grad[BIAS] : -1, want, dx);
    p->layer[i].grad = dy;
    if (!(want & DG_WANT_INPUT)) return;
    dx[0].row = dg_work_row(b, p->net, dg_batch_of(l->in, p->N), "%s.din%s", l->name, p->suffix);
    dg_op *op = add(b, p, i, takes_mean(l) ? DG_OP_meanpool_dx : DG_OP_maxpool_dx, "dx");
    dg_bind(op, "dx", dx[0]);
    dg_bind(op, "dy", dy);
}

/* Only mean_pool has a tangent, because max_pool does not store the index of each maximum. */
static dg_view tangent(dg_builder *b, const dg_tangent *t, int i)
{
    const dg_layer *l = dg_layer_of(b, t->pass, i);
    const dg_view out = dg_tangent_out(b, t, i);
    dg_op *op = add(b, t->pass, i, DG_OP_meanpool, "tangent");
    dg_bind(op, "y", out);
    dg_bind(op, "x", t->in);
    dg_finish_tangent(b, t, i, out, out, l->bias ? b->rows[t->pass->net][i].grad[BIAS] : -1);
    return out;
}

static void onnx(dg_onnx *o, const dg_layer *l, dg_layer_onnx *n)
{
    dg_onnx_node *node = dg_layer_node(o, l, n, takes_mean(l) ? "AveragePool" : "MaxPool", l->kind->name);
    dg_windows_onnx(node, l);
    if (takes_mean(l)) dg_onnx_int(node, "count_include_pad", 1);
    if (l->bias) dg_onnx_input(dg_layer_node(o, l, n, "Add", "bias"), n->parameter[BIAS]);
    n->on_maps[BIAS] = true;
    dg_finish_onnx(o, l, n);
}

/* Pooling layers inherit no defaults from a section such as [G], because the section's keys are for convolutions. */
enum {
    TAKES = DG_KEY(KERNEL) | DG_KEY(STRIDE) | DG_KEY(PAD) | DG_KEY(BIAS) | DG_KEY(ACT) | DG_KEY(SLOPE) | DG_KEY(TORCH)
};

#define KIND(word, needed, of_tangent)                                                                            \
    {                                                                                                             \
        .name = (word), .takes = TAKES, .needs = (needed), .own = TAKES, .shape = shape, .modules = modules,      \
        .parameters = parameters, .forward = forward, .backward = backward, .tangent = (of_tangent), .onnx = onnx \
    }

const dg_layer_kind dg_layer_max_pool = KIND("max_pool", DG_KEY(KERNEL), NULL),
                    dg_layer_mean_pool = KIND("mean_pool", 0, tangent);
