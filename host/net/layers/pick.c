/* Layer pick: the last layer of a conditional D. It computes an image's logit from the logit of its class and that of
 * D without classes (Miyato & Koyama 2018). */
#include "host/net/layers/layers.h"

static dg_err shape(dg_layer *l, const char *where)
{
    (void)where;
    l->out = (dg_shape){1, 1, 1, 1};
    return DG_OK;
}

static int modules(const dg_layer *l)
{
    (void)l;
    return 1;
}

/* Returns the labels of a pass. Without them, as in dg_build_forward, returns a row that the caller may fill. */
static dg_view labels(dg_builder *b, const dg_pass *p, const char *name)
{
    if (p->label) return *p->label;
    const dg_shape shape = {1, 1, 1, p->N};
    const int row = dg_arena_row(b->arena, name, DG_WORK, p->net - b->first, DG_I32, shape);
    b->arena->row[row].keep = true;
    return (dg_view){row, 0};
}

static void apply(dg_builder *b, const dg_pass *p, int i, const char *what, bool adjoint, dg_view to, dg_view from)
{
    const dg_layer *l = dg_layer_of(b, p, i);
    char name[40];
    snprintf(name, sizeof name, "%s.label%s", l->name, p->suffix);
    const dg_view label = labels(b, p, name);
    dg_op *op = dg_plan_add(b->plan, adjoint ? DG_OP_pick_dx : DG_OP_pick, "%s.pick.%s%s", l->name, what, p->suffix);
    op->u.pick = (dg_pick_args){.N = p->N, .width = l->in.C, .labels = b->arena->row[label.row].shape.C};
    dg_bind(op, adjoint ? "dx" : "y", to);
    dg_bind(op, adjoint ? "dy" : "x", from);
    dg_bind(op, "label", label);
    if (b->state >= 0) dg_bind_row(op, "state", b->state);
}

const dg_layer_kind dg_layer_pick = {.name = "pick",
                                     .own = ~0u,
                                     .shape = shape,
                                     .modules = modules,
                                     .forward = dg_linear_forward,
                                     .backward = dg_linear_backward,
                                     .tangent = dg_linear_tangent,
                                     .apply = apply};
