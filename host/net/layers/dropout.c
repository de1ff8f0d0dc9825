/* Layer dropout: a value becomes 0 with probability p, else it is scaled by 1 / (1 - p). In evaluation: identity. */
#include "host/net/layers/layers.h"
#include "host/net/shards.h"

static int modules(const dg_layer *l)
{
    (void)l;
    return 1;
}

static void add(dg_builder *b, const dg_pass *p, int i, const char *what, dg_view y, dg_view x)
{
    const dg_layer *l = dg_layer_of(b, p, i);
    dg_op *op = dg_plan_add(b->plan, DG_OP_dropout, "%s.dropout.%s%s", l->name, what, p->suffix);
    const int64_t n = (int64_t)dg_count(dg_batch_of(l->out, p->N));
    op->u.dropout =
        (dg_dropout_args){.n = n, .first = dg_shard_first(b, n), .p = l->p, .layer = p->order << 12 | p->net << 8 | i};
    dg_bind(op, "y", y);
    dg_bind(op, "x", x);
    dg_bind_row(op, "state", b->state);
}

static void forward(dg_builder *b, dg_pass *p, int i)
{
    dg_layer_pass *own = &p->layer[i];
    own->out = p->frozen ? own->in : dg_layer_out(b, p, i);
    if (!p->frozen) add(b, p, i, "fwd", own->out, own->in);
}

static void backward(dg_builder *b, dg_pass *p, int i, dg_view dy, unsigned want, dg_view dx[2])
{
    if (!(want & DG_WANT_INPUT)) return;
    if (p->frozen) {
        dx[0] = dy;
        return;
    }
    dx[0] = dg_layer_gradient(b, p, i, dy);
    add(b, p, i, "dx", dx[0], dy);
}

static dg_view tangent(dg_builder *b, const dg_tangent *t, int i)
{
    const dg_view out = dg_tangent_out(b, t, i);
    add(b, t->pass, i, "tangent", out, t->in);
    return out;
}

const dg_layer_kind dg_layer_dropout = {.name = "dropout",
                                        .takes = DG_KEY(P),
                                        .own = DG_KEY(P),
                                        .shape = dg_layer_same_shape,
                                        .modules = modules,
                                        .forward = forward,
                                        .backward = backward,
                                        .tangent = tangent};
