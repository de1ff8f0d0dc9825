/* Layer resample: doubles or halves the sides of a map with the filter [1 3 3 1]. */
#include "host/net/layers/layers.h"

enum { DOUBLES, HALVES };

static dg_err shape(dg_layer *l, const char *where)
{
    if (l->flat)
        return dg_layer_fail(l, where,
                             DG_MSG("resample-vector", "op = resample: its input is the vector of a dense layer; "
                                                       "it needs a map, for example of op = conv_transpose"));
    if (l->scale == HALVES && (l->in.H % 2 || l->in.W % 2))
        return dg_layer_fail(l, where, DG_MSG("resample-odd", "scale = 0.5: an input of %d x %d has an odd side"),
                             l->in.W, l->in.H);
    l->out = l->in;
    l->out.H = l->scale == HALVES ? l->in.H / 2 : 2 * l->in.H;
    l->out.W = l->scale == HALVES ? l->in.W / 2 : 2 * l->in.W;
    return dg_layer_check_size(l, where);
}

static int modules(const dg_layer *l)
{
    (void)l;
    return 1;
}

/* Append an op that resamples x to y. With `adjoint`, x is the gradient of the layer's output, and y the gradient of
 * the layer's input. */
static void apply(dg_builder *b, const dg_pass *p, int i, const char *what, bool adjoint, dg_view y, dg_view x)
{
    const dg_layer *l = dg_layer_of(b, p, i);
    const dg_shape small = l->scale == HALVES ? l->out : l->in;
    dg_op *op = dg_plan_add(b->plan, (l->scale == HALVES) == adjoint ? DG_OP_resample_up : DG_OP_resample_down,
                            "%s.resample.%s%s", l->name, what, p->suffix);
    op->u.resample = (dg_resample_args){
        .N = p->N, .H = small.H, .W = small.W, .C = small.C, .H2 = 2 * small.H, .W2 = 2 * small.W, .adjoint = adjoint};
    dg_bind(op, "y", y);
    dg_bind(op, "x", x);
}

static void mean(dg_onnx *o, const dg_layer *l, dg_layer_onnx *n, const char *what, int stride, int pad)
{
    dg_layer window = *l;
    window.kernel = dg_square(2), window.stride = stride, window.pad = pad;
    dg_onnx_node *node = dg_layer_node(o, l, n, "AveragePool", what);
    dg_windows_onnx(node, &window);
    dg_onnx_int(node, "count_include_pad", 1);
}

/* The filter [1 3 3 1] is the convolution [1 1] * [1 1] * [1 1]. Two factors become AveragePool nodes with stride 1.
 * The third factor becomes an AveragePool with stride 2 to halve, or four copies of each pixel to double. ONNX's Resize
 * is unsuitable, because it repeats the border pixels. */
static void onnx(dg_onnx *o, const dg_layer *l, dg_layer_onnx *n)
{
    if (l->scale == DOUBLES) {
        char in[DG_ONNX_NAME];
        snprintf(in, sizeof in, "%s", n->value);
        dg_onnx_node *node = dg_layer_node(o, l, n, "Concat", "copies");
        for (int k = 1; k < 4; k++) dg_onnx_input(node, in);
        dg_onnx_int(node, "axis", 1);
        dg_onnx_int(dg_layer_node(o, l, n, "DepthToSpace", "doubled"), "blocksize", 2);
    }
    mean(o, l, n, "mean", 1, 1);
    mean(o, l, n, "blurred", 1, 0);
    if (l->scale == HALVES) mean(o, l, n, "halved", 2, 0);
}

const dg_layer_kind dg_layer_resample = {.name = "resample",
                                         .takes = DG_KEY(SCALE),
                                         .needs = DG_KEY(SCALE),
                                         .own = ~0u,
                                         .shape = shape,
                                         .modules = modules,
                                         .forward = dg_linear_forward,
                                         .backward = dg_linear_backward,
                                         .tangent = dg_linear_tangent,
                                         .onnx = onnx,
                                         .apply = apply};
