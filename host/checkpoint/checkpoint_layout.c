#include "host/checkpoint/checkpoint_layout.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/data/sides.h"
#include "host/files/safetensors.h"
#include "host/net/recipe.h"

int dg_ck_input(const dg_model *model, dg_ck_tensor out[2])
{
    const dg_recipe *r = dg_recipe_find(model);
    const int64_t values = (int64_t)dg_size_values(model->size, model->channels);
    for (int i = 0; i < 2 && model->input == DG_INPUT_ZCA; i++) {
        out[i] = (dg_ck_tensor){.kind = DG_PARAMETER_MEAN, .rank = 2 - i, .dim = {values, values}};
        snprintf(out[i].name, sizeof out[i].name, "%s.input.%s", model->net[0].name, i ? "bias" : "weight");
        if (r && r->exported == 0) snprintf(out[i].alone, sizeof out[i].alone, "input.%s", i ? "bias" : "weight");
    }
    return model->input == DG_INPUT_ZCA ? 2 : 0;
}

int dg_ck_layout(const dg_model *model, dg_ck_tensor out[DG_CK_MOST])
{
    const dg_recipe *r = dg_recipe_find(model);
    int n = dg_ck_input(model, out);
    for (int net = 0; net < model->nets; net++)
        for (int i = 0; i < model->net[net].layers; i++) {
            const dg_layer *l = &model->net[net].layer[i];
            dg_parameter list[DG_LAYER_PARAMETERS];
            const int count = l->kind->parameters ? l->kind->parameters(l, list) : 0;
            for (int k = 0; k < count; k++) {
                const dg_parameter *p = &list[k];
                dg_ck_tensor *t = &out[n++];
                *t = (dg_ck_tensor){.kind = p->kind, .net = net, .rank = p->rank};
                for (int d = 0; d < p->rank; d++) t->dim[d] = p->dim[d];
                if (p->file_rank == 2) t->rank = 2, t->dim[1] *= t->dim[2] * t->dim[3];
                if (p->file_rank == 1) t->rank = 1, t->dim[0] *= t->dim[1] * t->dim[2] * t->dim[3];
                snprintf(t->name, sizeof t->name, "%s.main.%d.%s", model->net[net].name, l->module + p->module,
                         p->field);
                const char *module = l->torch[p->module != list[0].module];
                if (!r || net != r->exported) continue;
                if (*module) snprintf(t->alone, sizeof t->alone, "%s.%s", module, p->field);
                else snprintf(t->alone, sizeof t->alone, "%s", t->name + 2);
            }
        }
    return n;
}

static const char *shape_text(char out[128], const int64_t *dim, int rank)
{
    int n = snprintf(out, 128, "(");
    for (int i = 0; i < rank; i++) n += snprintf(out + n, 128 - (size_t)n, "%s%jd", i ? ", " : "", (intmax_t)dim[i]);
    snprintf(out + n, 128 - (size_t)n, ")");
    return out;
}

static dg_err check_values(const dg_st_tensor *t, const char *path, bool not_negative)
{
    size_t n = t->data ? t->bytes / dg_type_bytes(t->type) : 0;
    for (size_t i = 0; i < n; i++) {
        double v = t->type == DG_F64   ? ((const double *)t->data)[i]
                   : t->type == DG_F32 ? (double)((const float *)t->data)[i]
                                       : (double)((const int64_t *)t->data)[i];
        if (!isfinite(v))
            return dg_fail(DG_IO, "%s: tensor %s: value %zu is %g; it must be finite", path, t->name, i, v);
        if (not_negative && v < 0)
            return dg_fail(DG_IO, "%s: tensor %s: value %zu is %g; it cannot be negative", path, t->name, i, v);
    }
    return DG_OK;
}

dg_err dg_ck_optimizer(const dg_st *st, const char *path, dg_optimizer *out)
{
    const char *name = dg_st_get(st, "optimizer");
    *out = name ? dg_optimizer_find(name) : DG_ADAM;
    if (*out < DG_OPTIMIZERS) return DG_OK;
    return dg_fail(DG_IO, "%s: metadata optimizer = %s: unknown to this version of dcgan", path, name);
}

typedef struct {
    const dg_st *st;
    const char *path;
    const dg_model *model;
    bool full;
    dg_type type;
    const char *moment[2]; /* name prefix of each optimizer moment in the file, or NULL */
    bool averaged;
} check;

static bool has_prefix(const dg_st *st, const char *prefix)
{
    for (int i = 0; i < dg_st_count(st); i++)
        if (!strncmp(dg_st_at(st, i)->name, prefix, strlen(prefix))) return true;
    return false;
}

static dg_err set_moments(check *c)
{
    dg_optimizer k;
    const dg_err e = c->full ? dg_ck_optimizer(c->st, c->path, &k) : DG_OK;
    for (int i = 0; i < 2 && !e && c->full; i++) {
        c->moment[i] = dg_optimizers[k].moment[i];
        if (k == DG_SGD && c->moment[i] && !has_prefix(c->st, c->moment[i])) c->moment[i] = NULL;
    }
    c->averaged = c->full && has_prefix(c->st, DG_CK_AVERAGE);
    return e;
}

static bool is_averaged(const check *c, const dg_ck_tensor *t)
{
    const dg_recipe *r = dg_recipe_find(c->model);
    return c->averaged && r && !r->labels && t->net == r->exported && t->kind != DG_PARAMETER_COUNT;
}

static bool is_transposed(const dg_st_tensor *t, const dg_ck_tensor *want)
{
    return t->rank == 2 && want->rank == 2 && t->dim[0] == want->dim[1] && t->dim[1] == want->dim[0];
}

static dg_err check_one(const check *c, const dg_st_tensor *t, const dg_ck_tensor *want, bool second_moment)
{
    bool same = t->rank == want->rank, counts = want->kind == DG_PARAMETER_COUNT;
    for (int i = 0; same && i < t->rank; i++) same = t->dim[i] == want->dim[i];
    char has[128], needs[128];
    if (!same)
        return dg_fail(DG_IO, DG_MSG("shape-mismatch", "%s: tensor %s has shape %s; model %s needs %s%s"), c->path,
                       t->name, shape_text(has, t->dim, t->rank), c->model->name,
                       shape_text(needs, want->dim, want->rank),
                       is_transposed(t, want) ? ": transpose the tensor, because PyTorch stores (outputs, inputs)"
                                              : "");
    if (counts ? t->type != DG_I64 : c->full ? t->type != c->type : t->type != DG_F32 && t->type != DG_F64)
        return dg_fail(DG_IO, "%s: tensor %s has type %s; the type must be %s", c->path, t->name,
                       dg_st_type_name[t->type],
                       counts    ? "I64"
                       : c->full ? dg_st_type_name[c->type]
                                 : "F32 or F64");
    return check_values(t, c->path, counts || second_moment || want->kind == DG_PARAMETER_VARIANCE);
}

enum { AVERAGE = 3 };

/* Find the model's tensor for a tensor name of a file. `*moment` is 0 for a weight, 1 or 2 for an optimizer moment,
 * and AVERAGE for an EMA weight. */
static const dg_ck_tensor *meaning(const check *c, const dg_ck_tensor *layout, int n, const char *name, int *moment)
{
    *moment = 0;
    for (int i = 0; i < 2 && !*moment; i++)
        if (c->moment[i] && !strncmp(name, c->moment[i], strlen(c->moment[i]))) *moment = i + 1;
    if (*moment) name += strlen(c->moment[*moment - 1]);
    else if (c->averaged && !strncmp(name, DG_CK_AVERAGE, strlen(DG_CK_AVERAGE)))
        *moment = AVERAGE, name += strlen(DG_CK_AVERAGE);
    for (int i = 0; i < n; i++)
        if (!strcmp(layout[i].name, name) || (!c->full && !strcmp(layout[i].alone, name)))
            return *moment == AVERAGE                                 ? is_averaged(c, &layout[i]) ? &layout[i] : NULL
                   : *moment && layout[i].kind != DG_PARAMETER_WEIGHT ? NULL
                                                                      : &layout[i];
    return NULL;
}

const dg_st_tensor *dg_ck_find(const dg_st *st, const dg_ck_tensor *want)
{
    const dg_st_tensor *t = dg_st_find(st, want->name);
    return t || !*want->alone ? t : dg_st_find(st, want->alone);
}

const dg_st_tensor *dg_ck_find_shown(const dg_st *st, const dg_ck_tensor *want)
{
    char name[80];
    snprintf(name, sizeof name, DG_CK_AVERAGE "%s", want->name);
    const dg_st_tensor *t = dg_st_find(st, name);
    return t ? t : dg_ck_find(st, want);
}

dg_err dg_ck_check(const dg_st *st, const char *path, const dg_model *model, bool full, dg_type type)
{
    check c = {.st = st, .path = path, .model = model, .full = full, .type = type};
    dg_err e = set_moments(&c);
    if (e) return e;
    dg_ck_tensor *layout = malloc(DG_CK_MOST * sizeof *layout);
    if (!layout) return dg_fail(DG_DEVICE, "%s: out of memory", path);
    const int n = dg_ck_layout(model, layout);
    int nets = 0;
    for (int i = 0; i < dg_st_count(st) && !e; i++) {
        const dg_st_tensor *t = dg_st_at(st, i);
        int moment;
        const dg_ck_tensor *want = meaning(&c, layout, n, t->name, &moment);
        if (!want && !full) want = meaning(&c, layout, n, dg_st_plain(st, i), &moment);
        const dg_st_tensor *first = want && !full ? dg_ck_find(st, want) : NULL;
        if (!want) {
            e = dg_fail(DG_IO, DG_MSG("foreign-tensor", "%s: model %s has no layer for tensor %s%s"), path, model->name,
                        t->name,
                        full ? "" : "; write only the weights of this network, or name its model with {model}");
        } else if (first && first != t) {
            e = dg_fail(DG_IO, "%s: tensors %s and %s both stand for %s of model %s; remove one of them", path, t->name,
                        first->name, want->name, model->name);
        } else {
            e = check_one(&c, t, want, moment == 2);
            nets |= 1 << want->net;
        }
    }
    for (int i = 0; i < n && !e; i++) {
        const dg_ck_tensor *want = &layout[i];
        const bool trained = full && want->kind == DG_PARAMETER_WEIGHT;
        const char *const prefix[] = {"", trained ? c.moment[0] : NULL, trained ? c.moment[1] : NULL,
                                      is_averaged(&c, want) ? DG_CK_AVERAGE : NULL};
        if (!full && (want->kind == DG_PARAMETER_COUNT || (!*want->alone && !(nets & 1 << want->net)))) continue;
        for (int k = 0; k < 4 && !e; k++) {
            char name[80], shape[128];
            if (!prefix[k]) continue;
            snprintf(name, sizeof name, "%s%s", prefix[k], want->name);
            if (!(k ? dg_st_find(st, name) : dg_ck_find(st, want)))
                e = dg_fail(DG_IO, "%s: has no tensor %s%s%s of shape %s, which model %s needs", path, name,
                            full || !*want->alone ? "" : " or ", full ? "" : want->alone,
                            shape_text(shape, want->dim, want->rank), model->name);
        }
    }
    free(layout);
    return e;
}

dg_err dg_ck_read_whitening(const dg_st *st, const dg_model *m, dg_whitening **out)
{
    dg_ck_tensor want[2];
    *out = NULL;
    if (!dg_ck_input(m, want)) return DG_OK;
    const dg_st_tensor *weight = dg_ck_find(st, &want[0]), *bias = dg_ck_find(st, &want[1]);
    if (!weight || !bias || weight->type != bias->type)
        return dg_fail(DG_IO, "tensors %s and %s have different types", want[0].name, want[1].name);
    *out = dg_whitening_new(m->size, m->channels);
    if (!*out) return dg_fail(DG_DEVICE, "out of memory for tensor %s", want[0].name);
    dg_whitening_from_file(*out, weight->type, weight->data, bias->data);
    return DG_OK;
}

dg_err dg_ck_load(dg_st *st, const char *path, const dg_model *model, bool full, dg_type type)
{
    dg_err e = dg_ck_check(st, path, model, full, type);
    if (!e) e = dg_st_load(st);
    return e ? e : dg_ck_check(st, path, model, full, type);
}

static const int64_t *conv_shape(const dg_st *st, const char *net, int module)
{
    char name[64];
    snprintf(name, sizeof name, "%smain.%d.weight", net, module);
    const dg_st_tensor *t = dg_st_find(st, name);
    return t && t->rank == 4 ? t->dim : NULL;
}

/* first: shape of the weights of the first layer. The first map of square images has 4 x 4 pixels. */
static dg_size image_size(const int64_t *first, int halvings)
{
    const dg_size map = first[2] == first[3] ? dg_square(4) : (dg_size){(int)first[3], (int)first[2]};
    return (dg_size){map.W << halvings, map.H << halvings};
}

dg_err dg_ck_derive(const dg_st *st, const char *path, dg_model *model)
{
    const char *stored = dg_st_get(st, "model");
    char *text = stored ? dg_text_from_utf8(stored) : malloc(DG_MODEL_TEXT_MAX);
    if (!text) return dg_fail(DG_DEVICE, "%s: out of memory", path);
    dg_err e = DG_OK;
    if (!stored) {
        /* In PyTorch's DCGAN example, each layer has three modules: convolution, norm and activation. */
        const char *prefix = conv_shape(st, "", 0) ? "" : "G.";
        const int64_t *first = conv_shape(st, prefix, 0), *last = first, *d = conv_shape(st, "D.", 0);
        int layers = first ? 1 : 0;
        for (const int64_t *at; (at = conv_shape(st, prefix, 3 * layers)); layers++) last = at;
        if (layers < 3 || layers > 7 || /* 3 to 7 layers generate images of 16 x 16 to 256 x 256 pixels */
            first[2] > DG_SIDE_MOST || first[3] > DG_SIDE_MOST || first[0] > 4096 || last[0] > 16384 || last[1] > 3 ||
            (d && d[0] > 16384))
            e = dg_fail(DG_IO,
                        "%s: the tensors are not those of a generator of PyTorch's DCGAN example (main.0.weight, "
                        "main.1.weight, "
                        "...); give the network with {model}",
                        path);
        else
            e = dg_model_stock(text, "imported", image_size(first, layers - 1), (int)last[1], (int)first[0],
                               (int)last[0], d ? (int)d[0] : (int)last[0]);
    }
    if (!e) e = dg_model_parse(text, path, model);
    const dg_recipe *r;
    if (!e) e = dg_recipe_for(model, &r);
    free(text);
    return e;
}
