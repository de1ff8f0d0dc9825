#include "host/net/build.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "host/net/layers/layers.h"

static const dg_view nothing = {-1, 0};

static int row(dg_builder *b, dg_row_kind kind, int net, const dg_layer *l, const dg_parameter *t, const char *name)
{
    char full[64];
    snprintf(full, sizeof full, "%s.%s", l->name, name);
    const int *d = t->dim;
    const dg_shape shape = t->rank == 4 ? (dg_shape){d[0], d[2], d[3], d[1]} : (dg_shape){1, 1, 1, d[0]};
    return dg_arena_row(b->arena, full, kind, net - b->first, b->real, shape);
}

static void parameter(dg_builder *b, int net, int i, int k, const dg_parameter *t, bool train)
{
    const dg_layer *l = &b->model->net[net].layer[i];
    dg_layer_rows *r = &b->rows[net][i];
    if (t->kind == DG_PARAMETER_COUNT) return;
    r->value[k] = row(b, t->kind == DG_PARAMETER_WEIGHT ? DG_PARAM : DG_BUFFER, net, l, t, t->row);
    if (t->kind != DG_PARAMETER_WEIGHT || !train) return;
    char m[48], v[48];
    snprintf(m, sizeof m, "%s.m", t->row);
    snprintf(v, sizeof v, "%s.v", t->row);
    r->grad[k] = row(b, DG_GRAD, net, l, t, t->grad);
    r->moment1[k] = row(b, DG_MOMENT1, net, l, t, m);
    r->moment2[k] = row(b, DG_MOMENT2, net, l, t, v);
}

void dg_build_parameters(dg_builder *b, int net, bool train)
{
    const dg_net *n = &b->model->net[net];
    for (int i = 0; i < n->layers; i++) {
        const dg_layer_kind *kind = n->layer[i].kind;
        dg_parameter list[DG_LAYER_PARAMETERS];
        const int count = kind->parameters ? kind->parameters(&n->layer[i], list) : 0;
        memset(&b->rows[net][i], 0xff, sizeof b->rows[net][i]); /* all -1 */
        for (int k = 0; k < count; k++) parameter(b, net, i, k, &list[k], train);
    }
}

int dg_work_row(dg_builder *b, int net, dg_shape shape, const char *format, ...)
{
    char name[64];
    va_list ap;
    va_start(ap, format);
    vsnprintf(name, sizeof name, format, ap);
    va_end(ap);
    return dg_arena_row(b->arena, name, DG_WORK, net - b->first, b->real, shape);
}

void dg_bind(dg_op *op, const char *operand, dg_view v) { dg_plan_operand(op, operand, v.row, v.offset); }

void dg_bind_row(dg_op *op, const char *operand, int row) { dg_plan_operand(op, operand, row, 0); }

dg_view dg_layer_out(dg_builder *b, const dg_pass *p, int i)
{
    const dg_layer *l = dg_layer_of(b, p, i);
    if (i == b->model->net[p->net].layers - 1 && p->target.row >= 0) return p->target;
    return (dg_view){dg_work_row(b, p->net, dg_batch_of(l->out, p->N), "%s.out%s", l->name, p->suffix), 0};
}

void dg_forward(dg_builder *b, dg_pass *p)
{
    const dg_net *n = &b->model->net[p->net];
    for (int i = 0; i < n->layers; i++) {
        const dg_layer *l = &n->layer[i];
        p->layer[i].in = l->input < 0 ? p->in : p->layer[l->input].out;
        l->kind->forward(b, p, i);
        p->out = p->layer[i].out;
    }
}

dg_view dg_backward(dg_builder *b, const dg_pass *p, dg_view dy, unsigned want)
{
    const dg_net *n = &b->model->net[p->net];
    dg_view of_input = nothing, of_output[DG_MAX_LAYERS]; /* gradients */
    of_output[n->layers - 1] = dy;
    for (int i = n->layers - 1; i >= 0; i--) {
        const dg_layer *l = &n->layer[i];
        const unsigned asked = l->input < 0 ? want : want | DG_WANT_INPUT;
        const dg_view dx = l->kind->backward(b, p, i, of_output[i], asked);
        *(l->input < 0 ? &of_input : &of_output[l->input]) = dx; /* of a second reader it would have to be added */
    }
    return of_input;
}

dg_err dg_net_check_backward(const dg_model *m, int net)
{
    const dg_net *n = &m->net[net];
    for (int k = 1; k < n->layers; k++)
        for (int i = 0; i < k; i++)
            if (n->layer[k].input == n->layer[i].input)
                return dg_layer_fail(
                    &n->layer[k], m->where,
                    "reads %s as %s does: a gradient through a tensor with two readers is a sum, which "
                    "no op makes yet, so that this network cannot be trained",
                    n->layer[i].input < 0 ? "the input" : n->layer[n->layer[i].input].name, n->layer[i].name);
    return DG_OK;
}

static dg_err check_size(const dg_model *m, int net, int N)
{
    const dg_net *n = &m->net[net];
    for (int i = 0; i < n->layers; i++) {
        const double values = (double)dg_count(n->layer[i].out) * N;
        if (values > 1 << 28)
            return dg_fail(DG_USAGE,
                           "layer %s of model %s would have %.0f million values for %d pictures; use a smaller batch",
                           n->layer[i].name, m->name, values / 1e6, N);
    }
    return DG_OK;
}

dg_err dg_build_forward(const dg_model *m, int net, int N, dg_backend *backend, dg_arena *a, dg_plan *plan)
{
    dg_err e = check_size(m, net, N);
    if (e) return e;
    dg_builder b = {.model = m, .arena = a, .plan = plan, .real = backend->real, .first = net};
    dg_pass p = {.net = net, .N = N, .groups = 1, .frozen = true, .suffix = "", .target = nothing};
    char name[sizeof plan->name];
    snprintf(name, sizeof name, "%s forward", m->net[net].name);
    memset(a, 0, sizeof *a);
    dg_build_parameters(&b, net, false);
    dg_plan_begin(plan, a, name);
    p.in.row = dg_work_row(&b, net, dg_batch_of(dg_net_input(m, &m->net[net]), N), "%s.x", m->net[net].name);
    dg_forward(&b, &p);
    a->row[p.in.row].keep = a->row[p.out.row].keep = true;
    e = dg_arena_place(a, (dg_plan *const[]){plan}, 1, backend);
    if (e) {
        dg_plan_free(plan);
        dg_arena_free(a, backend);
    }
    return e;
}
