/* The last ops of a layer: bias, sum with layer `add`, activation; and their backward ops. */
#include "host/net/layers/layers.h"

dg_view dg_layer_gradient(dg_builder *b, const dg_pass *p, int i, dg_view dy)
{
    const dg_layer *l = dg_layer_of(b, p, i);
    if (!b->model->net[p->net].forks) return dy;
    return (dg_view){dg_work_row(b, p->net, dg_batch_of(l->out, p->N), "%s.dpre%s", l->name, p->suffix), 0};
}

static int64_t values(const dg_layer *l, const dg_pass *p) { return (int64_t)dg_count(dg_batch_of(l->out, p->N)); }

static dg_bias_act_args bias_act(const dg_layer *l, const dg_pass *p, dg_act act)
{
    return (dg_bias_act_args){.N = p->N, .H = l->out.H, .W = l->out.W, .C = l->out.C, .act = act, .slope = l->slope};
}

void dg_finish_add(dg_builder *b, const dg_pass *p, int i, const char *what, dg_view a)
{
    const dg_layer *l = dg_layer_of(b, p, i);
    const dg_layer_pass *own = &p->layer[i];
    dg_op *op = dg_build_add(b, p, l->name, what, l->out, (const dg_view[]){own->out, a, own->add});
    op->u.add.act = l->act;
    op->u.add.slope = l->slope;
}

void dg_finish_forward(dg_builder *b, const dg_pass *p, int i, int bias)
{
    const dg_layer *l = dg_layer_of(b, p, i);
    const dg_layer_pass *own = &p->layer[i];
    if (bias >= 0) {
        dg_op *op = dg_plan_add(b->plan, DG_OP_bias_act, "%s.bias.fwd%s", l->name, p->suffix);
        op->u.bias_act = bias_act(l, p, l->add < 0 ? l->act : DG_ACT_NONE);
        dg_bind(op, "y", own->out);
        dg_bind(op, "x", own->out);
        dg_bind_row(op, "b", bias);
    }
    if (l->add >= 0) {
        dg_finish_add(b, p, i, "add", own->out);
    } else if (bias < 0 && l->act != DG_ACT_NONE) {
        dg_op *op = dg_plan_add(b->plan, DG_OP_act, "%s.act.fwd%s", l->name, p->suffix);
        op->u.act = (dg_act_args){.n = values(l, p), .act = l->act, .slope = l->slope};
        dg_bind(op, "y", own->out);
        dg_bind(op, "x", own->out);
    }
}

static dg_view act_dx(dg_builder *b, const dg_pass *p, int i, dg_view dy)
{
    const dg_layer *l = dg_layer_of(b, p, i);
    if (l->act == DG_ACT_NONE) return dy;
    const dg_view dx = dg_layer_gradient(b, p, i, dy);
    dg_op *op = dg_plan_add(b->plan, DG_OP_act_dx, "%s.act.dx%s", l->name, p->suffix);
    op->u.act = (dg_act_args){.n = values(l, p), .act = l->act, .slope = l->slope};
    dg_bind(op, "dx", dx);
    dg_bind(op, "dy", dy);
    dg_bind(op, "y", p->layer[i].out);
    return dx;
}

dg_onnx_node *dg_layer_node(dg_onnx *o, const dg_layer *l, dg_layer_onnx *n, const char *type, const char *what)
{
    return dg_onnx_then(o, type, l->name, what, n->value);
}

void dg_finish_onnx(dg_onnx *o, const dg_layer *l, dg_layer_onnx *n)
{
    if (l->add >= 0) dg_onnx_input(dg_layer_node(o, l, n, "Add", "sum"), n->add);
    const char *type = dg_acts[l->act].onnx;
    dg_onnx_node *act = *type ? dg_layer_node(o, l, n, type, "act") : NULL;
    if (l->act == DG_ACT_LEAKY) dg_onnx_real(act, "alpha", l->slope);
}

void dg_windows_onnx(dg_onnx_node *node, const dg_layer *l)
{
    const int64_t S = l->stride, P = l->pad;
    dg_onnx_ints(node, "kernel_shape", 2, (const int64_t[]){l->kernel.H, l->kernel.W});
    dg_onnx_ints(node, "strides", 2, (const int64_t[]){S, S});
    dg_onnx_ints(node, "pads", 4, (const int64_t[]){P, P, P, P});
}

dg_view dg_finish_backward(dg_builder *b, const dg_pass *p, int i, dg_view dy, int db, unsigned want, dg_view dx[2])
{
    const dg_layer *l = dg_layer_of(b, p, i);
    const bool sums = db >= 0 && (want & DG_WANT_WEIGHTS);
    if (l->add >= 0 || !sums) dy = act_dx(b, p, i, dy);
    if (l->add >= 0) dx[1] = dy;
    if (!sums) return dy;
    const dg_view to = dg_layer_gradient(b, p, i, dy);
    dg_op *op = dg_plan_add(b->plan, DG_OP_bias_act_dx, "%s.bias.dx%s", l->name, p->suffix);
    op->u.bias_act = bias_act(l, p, l->add < 0 ? l->act : DG_ACT_NONE);
    dg_bind(op, "dx", to);
    dg_bind_row(op, "db", db);
    dg_bind(op, "dy", dy);
    dg_bind(op, "y", p->layer[i].out);
    return to;
}

dg_view dg_tangent_out(dg_builder *b, const dg_tangent *t, int i)
{
    const dg_layer *l = dg_layer_of(b, t->pass, i);
    const dg_shape shape = dg_batch_of(l->out, t->pass->N);
    return (dg_view){dg_work_row(b, t->pass->net, shape, "%s.tangent%s", l->name, t->pass->suffix), 0};
}

static void sum_bias(dg_builder *b, const dg_tangent *t, int i, int db)
{
    const dg_pass *p = t->pass;
    const dg_layer *l = dg_layer_of(b, p, i);
    const int each = dg_work_row(b, p->net, (dg_shape){p->N, 1, 1, l->out.C}, "%s.bias.each%s", l->name, p->suffix);
    dg_op *op = dg_plan_add(b->plan, DG_OP_bias_dw, "%s.bias.dw%s", l->name, p->suffix);
    op->u.bias_dw = (dg_bias_dw_args){.N = p->N, .H = l->out.H, .W = l->out.W, .C = l->out.C};
    dg_bind_row(op, "db", db);
    dg_bind_row(op, "each", each);
    dg_bind(op, "g", p->layer[i].grad);
    dg_bind(op, "s", t->slopes);
}

void dg_finish_tangent(dg_builder *b, const dg_tangent *t, int i, dg_view from, dg_view out, int db)
{
    const dg_pass *p = t->pass;
    const dg_layer *l = dg_layer_of(b, p, i);
    if (l->add >= 0) dg_build_add(b, p, l->name, "tangent.add", l->out, (const dg_view[]){out, from, t->add});
    if (l->act != DG_ACT_NONE) {
        dg_op *op = dg_plan_add(b->plan, DG_OP_act_dx, "%s.tangent.act%s", l->name, p->suffix);
        op->u.act = (dg_act_args){.n = values(l, p), .act = l->act, .slope = l->slope};
        dg_bind(op, "dx", out);
        dg_bind(op, "dy", out);
        dg_bind(op, "y", p->layer[i].out);
    }
    if (db >= 0) sum_bias(b, t, i, db);
}
