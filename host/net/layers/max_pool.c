/* max_pool: the largest value of each window. What is left over at the far side is left out, as PyTorch does. */
#include "host/net/layers/layers.h"

enum { PLACE };

static dg_err shape(dg_layer *l, const char *where)
{
    if (l->stride < 0) l->stride = l->kernel;
    if (l->pad < 0) l->pad = 0;
    l->out = (dg_shape){1, 0, 0, l->in.C};
    const dg_err e = dg_layer_windows(l, where, true, &l->out);
    return e ? e : dg_layer_check_size(l, where);
}

static int modules(const dg_layer *l)
{
    (void)l;
    return 1;
}

static dg_op *add(dg_builder *b, const dg_pass *p, int i, dg_op_kind kind, const char *what)
{
    const dg_layer *l = dg_layer_of(b, p, i);
    dg_op *op = dg_plan_add(b->plan, kind, "%s.max_pool.%s%s", l->name, what, p->suffix);
    op->u.pool = (dg_pool_args){.N = p->N,
                                .H = l->in.H,
                                .W = l->in.W,
                                .C = l->in.C,
                                .Ho = l->out.H,
                                .Wo = l->out.W,
                                .K = l->kernel,
                                .S = l->stride,
                                .P = l->pad};
    dg_bind_row(op, "place", p->layer[i].saved[PLACE]);
    return op;
}

static void forward(dg_builder *b, dg_pass *p, int i)
{
    const dg_layer *l = dg_layer_of(b, p, i);
    dg_layer_pass *own = &p->layer[i];
    char name[64];
    snprintf(name, sizeof name, "%s.place%s", l->name, p->suffix);
    own->saved[PLACE] = dg_arena_row(b->arena, name, DG_WORK, p->net - b->first, DG_U8, dg_batch_of(l->out, p->N));
    own->out = dg_layer_out(b, p, i);
    dg_op *op = add(b, p, i, DG_OP_maxpool, "fwd");
    dg_bind(op, "y", own->out);
    dg_bind(op, "x", own->in);
}

static dg_view backward(dg_builder *b, const dg_pass *p, int i, dg_view dy, unsigned want)
{
    const dg_layer *l = dg_layer_of(b, p, i);
    if (!(want & DG_WANT_INPUT)) return (dg_view){-1, 0};
    const dg_view dx = {dg_work_row(b, p->net, dg_batch_of(l->in, p->N), "%s.din%s", l->name, p->suffix), 0};
    dg_op *op = add(b, p, i, DG_OP_maxpool_dx, "dx");
    dg_bind(op, "dx", dx);
    dg_bind(op, "dy", dy);
    return dx;
}

const dg_layer_kind dg_layer_max_pool = {.name = "max_pool",
                                         .takes = DG_KEY(KERNEL) | DG_KEY(STRIDE) | DG_KEY(PAD),
                                         .needs = DG_KEY(KERNEL),
                                         .own = DG_KEY(KERNEL) | DG_KEY(STRIDE) | DG_KEY(PAD),
                                         .shape = shape,
                                         .modules = modules,
                                         .forward = forward,
                                         .backward = backward};
