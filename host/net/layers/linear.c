/* Linear layers without weights: each pass is the op of the layer or its adjoint. */
#include "host/net/layers/layers.h"

void dg_linear_forward(dg_builder *b, dg_pass *p, int i)
{
    dg_layer_pass *own = &p->layer[i];
    own->out = dg_layer_out(b, p, i);
    dg_layer_of(b, p, i)->kind->apply(b, p, i, "fwd", false, own->out, own->in);
}

void dg_linear_backward(dg_builder *b, dg_pass *p, int i, dg_view dy, unsigned want, dg_view dx[2])
{
    const dg_layer *l = dg_layer_of(b, p, i);
    if (!(want & DG_WANT_INPUT)) return;
    dx[0].row = dg_work_row(b, p->net, dg_batch_of(l->in, p->N), "%s.din%s", l->name, p->suffix);
    l->kind->apply(b, p, i, "dx", true, dx[0], dy);
}

dg_view dg_linear_tangent(dg_builder *b, const dg_tangent *t, int i)
{
    const dg_view out = dg_tangent_out(b, t, i);
    dg_layer_of(b, t->pass, i)->kind->apply(b, t->pass, i, "tangent", false, out, t->in);
    return out;
}
