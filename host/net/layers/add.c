/* Layer add: act(in + add), where in and add are outputs of two layers. */
#include "host/net/layers/layers.h"

static int modules(const dg_layer *l)
{
    (void)l;
    return 0; /* nn.Sequential has no module for a sum */
}

static void forward(dg_builder *b, dg_pass *p, int i)
{
    p->layer[i].out = dg_layer_out(b, p, i);
    dg_finish_add(b, p, i, "add.fwd", p->layer[i].in);
}

static void backward(dg_builder *b, dg_pass *p, int i, dg_view dy, unsigned want, dg_view dx[2])
{
    (void)want;
    dx[0] = dx[1] = dg_finish_backward(b, p, i, dy, -1, 0, dx);
}

static dg_view tangent(dg_builder *b, const dg_tangent *t, int i)
{
    const dg_view out = dg_tangent_out(b, t, i);
    dg_finish_tangent(b, t, i, t->in, out, -1);
    return out;
}

static void onnx(dg_onnx *o, const dg_layer *l, dg_layer_onnx *n) { dg_finish_onnx(o, l, n); }

enum { TAKES = DG_KEY(ADD) | DG_KEY(ACT) | DG_KEY(SLOPE) };
const dg_layer_kind dg_layer_add = {.name = "add",
                                    .takes = TAKES,
                                    .needs = DG_KEY(ADD),
                                    .own = TAKES,
                                    .shape = dg_layer_same_shape,
                                    .modules = modules,
                                    .forward = forward,
                                    .backward = backward,
                                    .tangent = tangent,
                                    .onnx = onnx};
