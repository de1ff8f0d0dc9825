#include "host/infer/fold.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/net/layers/layers.h"

void dg_fold_model(dg_model *m)
{
    for (int net = 0; net < m->nets; net++)
        for (int i = 0; i < m->net[net].layers; i++) {
            dg_layer *l = &m->net[net].layer[i];
            if (l->norm != DG_NORM_BATCH) continue;
            l->norm = DG_NORM_NONE;
            l->bias = 1;
        }
}

static const dg_job_tensor *tensor_of(const dg_job *job, int net, const dg_layer *l, const dg_parameter *p)
{
    char name[64];
    snprintf(name, sizeof name, "%s.main.%d.%s", job->model.net[net].name, l->module + p->module, p->field);
    for (int i = 0; i < job->tensors; i++)
        if (!strcmp(job->tensor[i].name, name)) return &job->tensor[i];
    return NULL;
}

/* Get the tensor with this field, such as "weight", of the layer's module 0 (convolution) or 1 (batch norm). */
static const dg_job_tensor *find(const dg_job *job, int net, const dg_layer *l, bool norm, const char *field)
{
    dg_parameter list[DG_LAYER_PARAMETERS];
    const int n = l->kind->parameters ? l->kind->parameters(l, list) : 0;
    for (int k = 0; k < n; k++)
        if ((list[k].module != list[0].module) == norm && !strcmp(list[k].field, field))
            return tensor_of(job, net, l, &list[k]);
    return NULL;
}

static dg_err read_vector(dg_job *job, int net, const dg_layer *l, bool norm, const char *field, double *out)
{
    const dg_job_tensor *t = find(job, net, l, norm, field);
    return t ? dg_job_read(job, t, t->row, DG_F64, out) : DG_OK;
}

static dg_err fold_norm(dg_job *job, int net, const dg_layer *l, const dg_job_tensor *t, double *w, double *bias)
{
    const size_t C = (size_t)l->filters, n = dg_job_tensor_count(t);
    const bool transposed = l->kind == &dg_layer_conv_transpose;
    const size_t inner = (size_t)t->dim[2] * (size_t)t->dim[3] * (transposed ? 1 : (size_t)t->dim[1]);
    double *const room = calloc(4 * C, sizeof *room);
    if (!room) return dg_fail(DG_DEVICE, "%s: out of memory", l->name);
    double *const gamma = room, *const beta = room + C, *const mean = beta + C, *const var = mean + C;
    dg_err e = read_vector(job, net, l, true, "weight", gamma);
    if (!e) e = read_vector(job, net, l, true, "bias", beta);
    if (!e) e = read_vector(job, net, l, true, "running_mean", mean);
    if (!e) e = read_vector(job, net, l, true, "running_var", var);
    for (size_t c = 0; c < C && !e; c++) {
        gamma[c] /= sqrt(var[c] + DG_NORM_EPS);
        bias[c] = beta[c] - gamma[c] * mean[c];
    }
    for (size_t i = 0; i < n && !e; i++) w[i] *= gamma[i / inner % C];
    free(room);
    return e;
}

static const dg_job_tensor *weight_of(const dg_job *job, int net, const dg_layer *l)
{
    return find(job, net, l, false, l->norm == DG_NORM_SPECTRAL ? "weight_orig" : "weight");
}

dg_err dg_fold_read(dg_job *job, int net, int layer, double **w, double *bias)
{
    const dg_layer *l = &job->model.net[net].layer[layer];
    const dg_job_tensor *t = weight_of(job, net, l);
    *w = NULL;
    memset(bias, 0, (size_t)l->out.C * sizeof *bias);
    if (!t) return read_vector(job, net, l, false, "bias", bias); /* such as a pool */
    if (!(*w = malloc(dg_job_tensor_count(t) * sizeof **w))) return dg_fail(DG_DEVICE, "%s: out of memory", l->name);
    dg_err e = dg_job_read(job, t, t->row, DG_F64, *w);
    if (!e && l->norm == DG_NORM_BATCH) e = fold_norm(job, net, l, t, *w, bias);
    else if (!e) e = read_vector(job, net, l, false, "bias", bias);
    if (!e) return DG_OK;
    free(*w);
    *w = NULL;
    return e;
}

dg_err dg_fold_write(dg_job *job, int net, int layer, const double *w, const double *bias)
{
    const dg_layer *l = &job->model.net[net].layer[layer];
    const dg_job_tensor *weight = weight_of(job, net, l), *b = find(job, net, l, false, "bias");
    dg_err e = weight && w ? dg_job_write(job, weight, weight->row, DG_F64, w) : DG_OK;
    if (!e && b && bias) e = dg_job_write(job, b, b->row, DG_F64, bias);
    return e;
}

static dg_err put_layer(dg_job *from, dg_job *to, int net, int layer, double *bias)
{
    const dg_layer *l = &from->model.net[net].layer[layer], *folded = &to->model.net[net].layer[layer];
    static const char *const direction[] = {"weight_u", "weight_v"};
    double *w;
    dg_err e = dg_fold_read(from, net, layer, &w, bias);
    if (!e) e = dg_fold_write(to, net, layer, w, bias);
    for (int i = 0; i < 2 && !e && l->norm == DG_NORM_SPECTRAL; i++) {
        const dg_job_tensor *t = find(from, net, l, false, direction[i]),
                            *u = find(to, net, folded, false, direction[i]);
        e = dg_job_read(from, t, t->row, DG_F64, w);
        if (!e) e = dg_job_write(to, u, u->row, DG_F64, w);
    }
    free(w);
    return e;
}

dg_err dg_fold_put(dg_job *from, dg_job *to, int net)
{
    dg_err e = DG_OK;
    for (int i = 0; i < to->model.net[net].layers && !e; i++) {
        double *bias = calloc((size_t)from->model.net[net].layer[i].out.C, sizeof *bias);
        e = bias ? put_layer(from, to, net, i, bias) : dg_fail(DG_DEVICE, "out of memory");
        free(bias);
    }
    return e;
}
