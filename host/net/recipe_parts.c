#include "host/net/recipe_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/plan/gather.h"
#include "host/net/layers/layers.h"
#include "host/net/shards.h"

dg_builder dg_job_builder(dg_job *job)
{
    const dg_job_options *o = &job->o;
    const dg_optimizer_info *k = &dg_optimizers[o->optimizer];
    return (dg_builder){.model = &job->model,
                        .arena = &job->arena,
                        .real = job->backend->real,
                        .state = job->row[DG_ROW_STATE],
                        .weights_first = o->decay > 0,
                        .moment = {k->moment[0] && (o->optimizer != DG_SGD || o->momentum > 0), k->moment[1]}};
}

/* Set fan_in and fan_out as PyTorch does. For dense layers fan_out is the number of outputs. */
static void set_fans(dg_job_tensor *t, const dg_parameter *own, const dg_parameter *weights)
{
    const int *d = weights->dim;
    if (weights->rank != 4 || own->module != weights->module) return;
    t->fan_in = (double)d[1] * d[2] * d[3];
    if (own == weights) t->fan_out = weights->file_rank == 2 ? d[0] : (double)d[0] * d[2] * d[3];
}

/* Returns the standard deviation of initial weights with start = gain. A convolution has Ci K^2 products per output. A
 * transposed convolution has this number times input pixels per output pixel. */
static double gain_of(const dg_layer *l, const dg_parameter *weights)
{
    const int *d = weights->dim;
    const bool transposed = l->kind == &dg_layer_conv_transpose;
    const double pixels = transposed ? (double)l->in.H * l->in.W / (l->out.H * l->out.W) : 1;
    const double terms = d[!transposed] * d[2] * d[3] * pixels;
    const double slope = l->act == DG_ACT_LEAKY ? l->slope : 0;
    return l->gain * sqrt((l->act == DG_ACT_LEAKY || l->act == DG_ACT_RELU ? 2 / (1 + slope * slope) : 1) / terms);
}

void dg_add_parameters(dg_job *job, dg_builder *b, int net)
{
    const dg_net *n = &job->model.net[net];
    dg_build_parameters(b, net, job->o.train);
    if (job->o.train) dg_pad_weights(b, job, net, DG_PARAM, DG_MOMENT2);
    for (int i = 0; i < n->layers; i++) {
        const dg_layer *l = &n->layer[i];
        const dg_layer_rows *r = &b->rows[net][i];
        dg_parameter list[DG_LAYER_PARAMETERS];
        const int count = l->kind->parameters ? l->kind->parameters(l, list) : 0;
        for (int k = 0; k < count; k++) {
            if (r->value[k] < 0) continue;
            dg_job_tensor *t = &job->tensor[job->tensors++];
            *t = (dg_job_tensor){.net = net,
                                 .rank = list[k].rank,
                                 .file_rank = list[k].file_rank,
                                 .direction = list[k].kind == DG_PARAMETER_DIRECTION,
                                 .row = r->value[k],
                                 .moment1 = r->moment1[k],
                                 .moment2 = r->moment2[k],
                                 .grad = r->grad[k],
                                 .average = r->average[k]};
            memcpy(t->dim, list[k].dim, sizeof t->dim);
            set_fans(t, &list[k], &list[0]);
            t->start = l->start;
            if (list[0].rank == 4) t->gain = gain_of(l, &list[0]);
            snprintf(t->name, sizeof t->name, "%s.main.%d.%s", n->name, l->module + list[k].module, list[k].field);
        }
    }
}

dg_op *dg_add_gather(dg_job *job, dg_plan *plan, const char *name, dg_view images, dg_view label, int B)
{
    const dg_model *m = &job->model;
    dg_op *op = dg_plan_add(plan, DG_OP_gather, "%s", name);
    dg_gather_args *a = &op->u.gather;
    const dg_input_data *in = &job->o.input;
    *a = (dg_gather_args){
        .N = B, .H = m->size.H, .W = m->size.W, .C = m->channels, .prepared = m->input == DG_INPUT_ZCA};
    for (int c = 0; c < m->channels; c++) {
        const double known = in->std[c], mean = known > 0 ? in->mean[c] : 0.5, std = known > 0 ? known : 0.25;
        switch (m->input) {
        case DG_INPUT_SIGNED: a->dev[c] = 127.5, a->shift[c] = 1; break;
        case DG_INPUT_UNIT: a->dev[c] = 255, a->shift[c] = 0; break;
        case DG_INPUT_STANDARD:
        case DG_INPUT_ZCA: a->dev[c] = 255 * std, a->shift[c] = mean / std; break;
        }
    }
    a->record = dg_gather_record(a, job->backend->real, label.row >= 0);
    dg_bind(op, "x", images);
    if (label.row >= 0) dg_bind(op, "label", label);
    dg_bind_row(op, "data", job->row[DG_ROW_DATA]);
    dg_bind_row(op, "perm", job->row[DG_ROW_PERM]);
    dg_bind_row(op, "state", job->row[DG_ROW_STATE]);
    return op;
}

/* A view of N images, and an op of `kind` that writes them. */
static dg_op *add_augment(dg_builder *b, dg_job *job, int net, dg_op_kind kind, int N, int order, const char *name,
                          dg_view *out)
{
    const dg_model *m = &job->model;
    *out = (dg_view){dg_work_row(b, net, dg_size_shape(N, m->size, m->channels), "%s", name), 0};
    dg_op *op = dg_plan_add(b->plan, kind, "%s", name);
    op->u.augment = (dg_augment_args){.N = N,
                                      .H = m->size.H,
                                      .W = m->size.W,
                                      .C = m->channels,
                                      .what = job->o.augment,
                                      .order = order,
                                      .first = (int)dg_shard_first(b, N)};
    dg_bind_row(op, "state", job->row[DG_ROW_STATE]);
    return op;
}

dg_view dg_add_augment(dg_builder *b, dg_job *job, int net, dg_view images, int N, int order)
{
    dg_view y;
    if (!job->o.augment) return images;
    dg_op *op = add_augment(b, job, net, DG_OP_augment, N, order, order ? "D.x.augment.g" : "D.x.augment", &y);
    dg_bind(op, "y", y);
    dg_bind(op, "x", images);
    return y;
}

dg_view dg_add_augment_dx(dg_builder *b, dg_job *job, int net, dg_view dy, int N, int order)
{
    dg_view dx;
    if (!job->o.augment) return dy;
    dg_op *op = add_augment(b, job, net, DG_OP_augment_dx, N, order, "D.x.augment.dx", &dx);
    dg_bind(op, "dx", dx);
    dg_bind(op, "dy", dy);
    return dx;
}

static bool is_matrix(const dg_job *job, int row)
{
    for (int i = 0; i < job->tensors; i++)
        if (job->tensor[i].row == row) return job->tensor[i].rank == 4;
    return false;
}

dg_weights dg_weights_of(const dg_job *job, int net)
{
    const dg_arena *a = &job->arena;
    dg_weights w = {.first = {-1, -1, -1, -1, -1}};
    size_t bytes = 0, decayed = 0;
    for (int i = 0; i < a->rows; i++) {
        const dg_row *r = &a->row[i];
        if (r->net != net || r->kind > DG_AVERAGE) continue;
        if (w.first[r->kind] < 0) w.first[r->kind] = i;
        if (r->kind != DG_PARAM || r->padding) continue;
        bytes += (r->bytes + 255) & ~(size_t)255;
        if (is_matrix(job, i)) decayed = bytes;
    }
    w.n = (int64_t)(bytes / dg_type_bytes(job->backend->real));
    w.decayed = (int64_t)(decayed / dg_type_bytes(job->backend->real));
    return w;
}

void dg_pad_weights(dg_builder *b, const dg_job *job, int net, dg_row_kind first, dg_row_kind last)
{
    const int ranks = job->o.ranks;
    const dg_weights w = dg_weights_of(job, net);
    const int64_t more = ranks > 1 ? ranks * dg_slice_length(w.n, ranks) - w.n : 0;
    for (int kind = (int)first; kind <= (int)last && more; kind++) {
        if (w.first[kind] < 0) continue;
        const int row = dg_arena_row(b->arena, "padding", (dg_row_kind)kind, net, b->real,
                                     (dg_shape){1, 1, 1, (int)more});
        b->arena->row[row].padding = true;
    }
}

void dg_add_update(dg_job *job, dg_plan *plan, int net, int bad, dg_slice s, dg_view g)
{
    const dg_job_options *o = &job->o;
    const dg_weights w = dg_weights_of(job, net);
    const dg_optimizer_info *k = &dg_optimizers[o->optimizer];
    const int64_t left = w.decayed > s.first ? w.decayed - s.first : 0, decayed = left < s.count ? left : s.count;
    dg_op *op = dg_plan_add(plan, k->op, "%s.%s", job->model.net[net].name, k->name);
    if (o->optimizer == DG_ADAM)
        op->u.adam = (dg_adam_args){.n = s.count, .beta1 = o->beta1, .eps = o->eps, .net = net, .bad = bad};
    else
        op->u.update = (dg_update_args){.n = s.count,
                                        .decayed = o->decay > 0 ? decayed : 0,
                                        .momentum = o->momentum,
                                        .rho = o->rho,
                                        .eps = o->eps,
                                        .decay = o->decay,
                                        .nesterov = o->nesterov,
                                        .net = net,
                                        .bad = bad};
    dg_bind(op, "p", (dg_view){w.first[DG_PARAM], s.first});
    dg_bind(op, "g", g);
    if (w.first[DG_MOMENT1] >= 0) dg_bind(op, "m", (dg_view){w.first[DG_MOMENT1], s.first});
    if (w.first[DG_MOMENT2] >= 0) dg_bind(op, "v", (dg_view){w.first[DG_MOMENT2], s.first});
    dg_bind_row(op, "ring", job->row[DG_ROW_METRICS]);
    dg_bind_row(op, "state", job->row[DG_ROW_STATE]);
}

void dg_add_average(dg_job *job, dg_plan *plan, int net)
{
    const dg_weights w = dg_weights_of(job, net);
    dg_op *op = dg_plan_add(plan, DG_OP_ema, "%s.ema", job->model.net[net].name);
    op->u.ema = (dg_ema_args){.n = w.n};
    dg_bind_row(op, "average", w.first[DG_AVERAGE]);
    dg_bind_row(op, "p", w.first[DG_PARAM]);
    dg_bind_row(op, "state", job->row[DG_ROW_STATE]);
}

void dg_add_advance(dg_job *job, dg_plan *plan, int B)
{
    dg_op *op = dg_plan_add(plan, DG_OP_advance, "advance");
    op->u.advance = (dg_advance_args){.batch = B};
    dg_bind_row(op, "state", job->row[DG_ROW_STATE]);
}

int dg_keep(dg_job *job, int row)
{
    job->arena.row[row].keep = true;
    return row;
}

static bool has_weights(const dg_net *n)
{
    for (int i = 0; i < n->layers; i++) {
        dg_parameter list[DG_LAYER_PARAMETERS];
        const dg_layer *l = &n->layer[i];
        for (int k = l->kind->parameters ? l->kind->parameters(l, list) : 0; k > 0; k--)
            if (list[k - 1].kind == DG_PARAMETER_WEIGHT) return true;
    }
    return false;
}

dg_err dg_check_trainable(const dg_model *m, int net)
{
    const dg_net *n = &m->net[net];
    if (!has_weights(n))
        return dg_layer_fail(&n->layer[0], m->where,
                             DG_MSG("no-weights", "no layer of network %s has weights to train"), n->name);
    return dg_net_check_backward(m, net);
}

dg_err dg_check_sizes(const dg_model *m, int net, const dg_job_options *o, double images)
{
    const int least = (o->last_batch ? o->last_batch : o->batch) / dg_shards_of(o);
    dg_err e = o->train ? dg_shards_divide(o) : DG_OK;
    if (!e) e = dg_context(dg_net_check_values(m, net, images), "{batch} %d", o->batch);
    if (e) return e;
    for (int i = 0; i < m->net[net].layers; i++) {
        const dg_layer *l = &m->net[net].layer[i];
        if (o->train && l->norm == DG_NORM_BATCH && least * l->out.H * l->out.W < 2)
            return dg_fail(
                DG_USAGE,
                "layer %s of model %s: batch norm over %d image%s has only one value per channel; use another "
                "{batch}, fewer {shards} or {drop-last}",
                l->name, m->name, least, least == 1 ? "" : "s");
    }
    return DG_OK;
}
