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

static void gradient(dg_builder *b, int net, int i, int k, const dg_parameter *t)
{
    if (t->kind == DG_PARAMETER_WEIGHT)
        b->rows[net][i].grad[k] = row(b, DG_GRAD, net, &b->model->net[net].layer[i], t, t->grad);
}

static void value(dg_builder *b, int net, int i, int k, const dg_parameter *t)
{
    const dg_layer *l = &b->model->net[net].layer[i];
    dg_layer_rows *r = &b->rows[net][i];
    if (t->kind == DG_PARAMETER_COUNT) return;
    const bool weight = t->kind == DG_PARAMETER_WEIGHT;
    r->value[k] = row(b, weight ? DG_PARAM : DG_BUFFER, net, l, t, t->row);
    if (b->averaged) {
        char average[48];
        snprintf(average, sizeof average, "%s.average", t->row);
        r->average[k] = row(b, weight ? DG_AVERAGE : DG_BUFFER, net, l, t, average);
    }
}

static void trained(dg_builder *b, int net, int i, int k, const dg_parameter *t)
{
    const dg_layer *l = &b->model->net[net].layer[i];
    dg_layer_rows *r = &b->rows[net][i];
    value(b, net, i, k, t);
    gradient(b, net, i, k, t);
    if (t->kind != DG_PARAMETER_WEIGHT) return;
    char m[48], v[48];
    snprintf(m, sizeof m, "%s.m", t->row);
    snprintf(v, sizeof v, "%s.v", t->row);
    if (b->moment[0]) r->moment1[k] = row(b, DG_MOMENT1, net, l, t, m);
    if (b->moment[1]) r->moment2[k] = row(b, DG_MOMENT2, net, l, t, v);
}

static void each_parameter(dg_builder *b, int net, void visit(dg_builder *, int, int, int, const dg_parameter *))
{
    const dg_net *n = &b->model->net[net];
    for (int pass = 0; pass < (b->weights_first ? 2 : 1); pass++)
        for (int i = 0; i < n->layers; i++) {
            const dg_layer_kind *kind = n->layer[i].kind;
            dg_parameter list[DG_LAYER_PARAMETERS];
            const int count = kind->parameters ? kind->parameters(&n->layer[i], list) : 0;
            for (int k = 0; k < count; k++)
                if (!b->weights_first || (list[k].rank == 4) == (pass == 0)) visit(b, net, i, k, &list[k]);
        }
}

void dg_build_parameters(dg_builder *b, int net, bool train)
{
    memset(b->rows[net], 0xff, sizeof b->rows[net]);
    each_parameter(b, net, train ? trained : value);
}

void dg_build_gradients(dg_builder *b, int net) { each_parameter(b, net, gradient); }

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
        p->layer[i].add = l->add < 0 ? nothing : p->layer[l->add].out;
        l->kind->forward(b, p, i);
        p->out = p->layer[i].out;
    }
}

dg_op *dg_build_add(dg_builder *b, const dg_pass *p, const char *whose, const char *what, dg_shape shape,
                    const dg_view yab[3])
{
    dg_op *op = dg_plan_add(b->plan, DG_OP_add, "%s.%s%s", whose, what, p->suffix);
    op->u.add = (dg_add_args){.n = (int64_t)dg_count(dg_batch_of(shape, p->N)), .act = DG_ACT_NONE};
    dg_bind(op, "y", yab[0]);
    dg_bind(op, "a", yab[1]);
    dg_bind(op, "b", yab[2]);
    return op;
}

static void join(dg_builder *b, const dg_pass *p, dg_view *to, dg_view more, const char *of, dg_shape shape)
{
    if (more.row < 0) return;
    if (to->row < 0) {
        *to = more;
        return;
    }
    const dg_view sum = {dg_work_row(b, p->net, dg_batch_of(shape, p->N), "%s.dsum%s", of, p->suffix), 0};
    dg_build_add(b, p, of, "dsum", shape, (const dg_view[]){sum, *to, more});
    *to = sum;
}

dg_view dg_backward(dg_builder *b, dg_pass *p, dg_view dy, unsigned want)
{
    const dg_net *n = &b->model->net[p->net];
    dg_view of_input = nothing, of_output[DG_MAX_LAYERS];
    for (int i = 0; i < n->layers; i++) of_output[i] = p->gradient ? p->gradient[i] : nothing;
    join(b, p, &of_output[n->layers - 1], dy, n->name, n->layer[n->layers - 1].out);
    for (int i = n->layers - 1; i >= 0; i--) {
        const dg_layer *l = &n->layer[i], *other = l->add < 0 ? NULL : &n->layer[l->add];
        dg_view dx[2] = {nothing, nothing};
        l->kind->backward(b, p, i, of_output[i], l->input < 0 ? want : want | DG_WANT_INPUT, dx);
        if (l->input < 0) join(b, p, &of_input, dx[0], n->name, l->in);
        else join(b, p, &of_output[l->input], dx[0], n->layer[l->input].name, l->in);
        if (other) join(b, p, &of_output[l->add], dx[1], other->name, other->out);
    }
    return of_input;
}

dg_view dg_tangent_pass(dg_builder *b, dg_tangent *t, dg_view v)
{
    const dg_net *n = &b->model->net[t->pass->net];
    dg_view of_output[DG_MAX_LAYERS], last = v;
    for (int i = 0; i < n->layers; i++) {
        const dg_layer *l = &n->layer[i];
        t->in = l->input < 0 ? v : of_output[l->input];
        t->add = l->add < 0 ? nothing : of_output[l->add];
        last = of_output[i] = l->kind->tangent(b, t, i);
    }
    return last;
}

dg_err dg_net_check_tangent(const dg_model *m, int net)
{
    for (int i = 0; i < m->net[net].layers; i++) {
        const dg_layer *l = &m->net[net].layer[i];
        if (l->norm == DG_NORM_BATCH)
            return dg_layer_fail(
                l, m->where,
                DG_MSG("penalty-batch-norm",
                       "norm = batch: not supported with {r1} and {r2}, because batch norm makes the images of a batch "
                       "depend on each other; use norm = none with bias = yes and start = gain, or norm = "
                       "spectral, or {norm-d} none"));
        if (!l->kind->tangent)
            return dg_layer_fail(l, m->where,
                                 DG_MSG("penalty-op",
                                        "op = %s: not supported with {r1} and {r2}; use mean_pool, or a stride"),
                                 l->kind->name);
        if (!dg_act_is_linear(l->act))
            return dg_layer_fail(l, m->where,
                                 DG_MSG("penalty-act",
                                        "act = %s: not supported with {r1} and {r2}; use leaky, relu or none"),
                                 dg_acts[l->act].word);
    }
    return DG_OK;
}

dg_err dg_net_check_backward(const dg_model *m, int net)
{
    const dg_net *n = &m->net[net];
    bool read[DG_MAX_LAYERS] = {false};
    for (int i = 0; i < n->layers; i++) {
        if (n->layer[i].input >= 0) read[n->layer[i].input] = true;
        if (n->layer[i].add >= 0) read[n->layer[i].add] = true;
    }
    for (int i = 0; i < n->layers - 1; i++)
        if (!read[i])
            return dg_layer_fail(&n->layer[i], m->where,
                                 DG_MSG("unread-layer", "the output of this layer is not used, so the layer cannot be "
                                                        "trained; remove the layer, or set a later layer's key in or "
                                                        "add to this layer"));
    return DG_OK;
}

static dg_err too_many(const dg_model *m, const char *which, double count, const char *of_what, const char *advice)
{
    return dg_fail(DG_USAGE,
                   DG_MSG("too-many-values",
                          "%s of model %s: too large (%.1f million %s, at most 2^31 - 1 = %.1f million)%s"),
                   which, m->name, count / 1e6, of_what, DG_TENSOR_VALUES / 1e6, advice);
}

static dg_err check_tensor(const dg_model *m, const char *which, dg_shape s, double images)
{
    const double each = (double)s.H * s.W * s.C;
    const int fit = (int)(DG_TENSOR_VALUES / each);
    if (images <= fit) return DG_OK;
    char of_what[80], advice[80] = "; use fewer filters, or smaller images";
    snprintf(of_what, sizeof of_what, "values for %.0f x %d x %d x %d", images, s.H, s.W, s.C);
    if (fit) snprintf(advice, sizeof advice, "; %d images fit, so use a smaller batch", fit);
    return too_many(m, which, each * images, of_what, advice);
}

static dg_err check_weights(const dg_model *m, const char *which, const dg_layer *l)
{
    dg_parameter list[DG_LAYER_PARAMETERS];
    for (int k = l->kind->parameters ? l->kind->parameters(l, list) : 0; k > 0; k--) {
        const dg_parameter *t = &list[k - 1];
        double n = 1;
        for (int i = 0; i < t->rank; i++) n *= t->dim[i];
        if (n > DG_TENSOR_VALUES)
            return too_many(m, which, n, "weights", "; use fewer filters, or a smaller input map");
    }
    return DG_OK;
}

dg_err dg_net_check_values(const dg_model *m, int net, double images)
{
    const dg_net *n = &m->net[net];
    char which[64];
    snprintf(which, sizeof which, "the input of network %s", n->name);
    dg_err e = check_tensor(m, which, dg_net_input(m, n), images);
    for (int i = 0; i < n->layers && !e; i++) {
        snprintf(which, sizeof which, "layer %s", n->layer[i].name);
        e = check_tensor(m, which, n->layer[i].out, images);
        if (!e) e = check_weights(m, which, &n->layer[i]);
    }
    return e;
}

dg_err dg_build_forward(const dg_model *m, int net, int N, dg_backend *backend, dg_arena *a, dg_plan *plan)
{
    dg_err e = dg_net_check_values(m, net, N);
    if (e) return e;
    dg_builder b = {.model = m, .arena = a, .plan = plan, .real = backend->real, .first = net, .state = -1};
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
