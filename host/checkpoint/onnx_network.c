#include "host/checkpoint/checkpoint_layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/files/onnx.h"
#include "host/net/recipe.h"

enum { CONSTANTS = 4 };

typedef struct {
    const dg_model *m;
    int net;
    const dg_st_tensor *tensor;
    dg_onnx onnx;
    dg_st_tensor *weight;
    int weights;
    char (*made)[DG_ONNX_NAME];
    float number[CONSTANTS][4]; /* constants that normalise the pixels of a classifier */
    int64_t classes;            /* depth of the one-hot class */
    int64_t image[4];           /* shape of the network's input */
    bool has_map;               /* the shape of maps is stored */
} graph;

static const char *constant(graph *g, const char *name, int i, int channels, double value)
{
    dg_st_tensor *t = &g->weight[g->weights++];
    *t = (dg_st_tensor){.type = DG_F32, .rank = channels ? 3 : 0, .dim = {channels, 1, 1}, .data = g->number[i]};
    t->bytes = (channels ? (size_t)channels : 1) * sizeof(float);
    snprintf(t->name, sizeof t->name, "%s", name);
    if (!channels) g->number[i][0] = (float)value;
    return t->name;
}

/* Stores a shape, which must stay valid until the file is written. */
static void add_shape(graph *g, const char *name, const int64_t shape[4])
{
    dg_st_tensor *t = &g->weight[g->weights++];
    *t = (dg_st_tensor){.type = DG_I64, .rank = 1, .dim = {4}, .data = shape, .bytes = 4 * sizeof *shape};
    snprintf(t->name, sizeof t->name, "%s", name);
}

static dg_onnx_node *step(graph *g, char value[DG_ONNX_NAME], const char *type, const char *what)
{
    return dg_onnx_then(&g->onnx, type, "input", what, value);
}

static void whiten(graph *g, char value[DG_ONNX_NAME])
{
    step(g, value, "Flatten", "flat");
    dg_onnx_node *n = step(g, value, "Gemm", "whitened");
    for (int i = 0; i < 2; i++) dg_onnx_input(n, g->tensor[i].name);
    dg_onnx_int(n, "transB", 1);
    for (int i = 0; i < 2; i++) g->weight[g->weights++] = *g->tensor++;
    const int64_t image[] = {-1, g->m->channels, g->m->size.H, g->m->size.W};
    memcpy(g->image, image, sizeof image);
    add_shape(g, "input.shape", g->image);
    dg_onnx_input(step(g, value, "Reshape", "picture"), "input.shape");
}

static void prepare(graph *g, const dg_input_data *input, char value[DG_ONNX_NAME])
{
    const dg_input how = g->m->input;
    const int C = g->m->channels;
    dg_onnx_input(step(g, value, "Div", "share"),
                  constant(g, "input.range", 0, 0, how == DG_INPUT_SIGNED ? 127.5 : 255));
    if (how == DG_INPUT_SIGNED) dg_onnx_input(step(g, value, "Sub", "signed"), constant(g, "input.one", 1, 0, 1));
    if (how == DG_INPUT_ZCA) whiten(g, value);
    if (how != DG_INPUT_STANDARD) return;
    for (int c = 0; c < C; c++) {
        g->number[2][c] = (float)input->mean[c];
        g->number[3][c] = (float)input->std[c];
    }
    dg_onnx_input(step(g, value, "Sub", "centred"), constant(g, "input.mean", 2, C, 0));
    dg_onnx_input(step(g, value, "Div", "standard"), constant(g, "input.std", 3, C, 0));
}

/* Turns a vector into a map of one pixel. */
static void make_map(graph *g, const char *whose, char value[DG_ONNX_NAME])
{
    static const int64_t shape[] = {0, 0, 1, 1}; /* 0: as in the input */
    dg_onnx_input(dg_onnx_then(&g->onnx, "Reshape", whose, "map", value), "map.shape");
    if (!g->has_map) add_shape(g, "map.shape", shape);
    g->has_map = true;
}

/* Joins z and the one-hot class. */
static void join_class(graph *g, char value[DG_ONNX_NAME])
{
    static const float values[] = {0, 1};
    const dg_st_tensor given[] = {
        {.name = "class.count", .type = DG_I64, .rank = 0, .data = &g->classes, .bytes = sizeof g->classes},
        {.name = "class.values", .type = DG_F32, .rank = 1, .dim = {2}, .data = values, .bytes = sizeof values}};
    char class[DG_ONNX_NAME] = "class";
    g->classes = g->m->classes;
    g->onnx.label = (dg_onnx_value){.name = "class", .whole = true};
    dg_onnx_node *n = step(g, class, "OneHot", "one_hot");
    for (int i = 0; i < 2; i++) {
        g->weight[g->weights++] = given[i];
        dg_onnx_input(n, given[i].name);
    }
    make_map(g, "class", class);
    n = step(g, value, "Concat", "joined");
    dg_onnx_input(n, class);
    dg_onnx_int(n, "axis", 1);
}

static void add_layer(graph *g, int i, const char *start)
{
    const dg_layer *l = &g->m->net[g->net].layer[i];
    dg_parameter list[DG_LAYER_PARAMETERS];
    const int count = l->kind->parameters ? l->kind->parameters(l, list) : 0;
    dg_layer_onnx n = {.add = l->add < 0 ? NULL : g->made[l->add]};
    snprintf(n.value, sizeof n.value, "%s", l->input < 0 ? start : g->made[l->input]);
    for (int k = 0; k < count; k++) n.parameter[k] = g->tensor[k].name;
    if (l->input >= 0 && g->m->net[g->net].layer[l->input].flat && !l->flat) make_map(g, l->name, n.value);
    if (l->kind->onnx) l->kind->onnx(&g->onnx, l, &n);
    memcpy(g->made[i], n.value, sizeof n.value);
    for (int k = 0; k < count; k++, g->tensor++) {
        if (list[k].kind == DG_PARAMETER_COUNT || list[k].kind == DG_PARAMETER_DIRECTION) continue;
        dg_st_tensor *t = &g->weight[g->weights++];
        *t = *g->tensor;
        if (n.on_maps[k]) t->rank = 3, t->dim[1] = t->dim[2] = 1;
    }
}

static void finish(graph *g, const char *last, const char *name)
{
    dg_onnx *o = &g->onnx;
    if (o->no_memory) return;
    dg_onnx_node *n = o->nodes ? &o->node[o->nodes - 1] : NULL;
    if (!n || strcmp(n->out, last)) n = dg_onnx_add(o, "Identity", "output", "value", last);
    snprintf(n->out, sizeof n->out, "%s", name);
}

static dg_onnx_value value_of(const char *name, dg_shape s, bool flat)
{
    dg_onnx_value v = {.rank = flat ? 1 : 3, .dim = {s.C, s.H, s.W}};
    snprintf(v.name, sizeof v.name, "%s", name);
    return v;
}

static void build(graph *g, const dg_input_data *input)
{
    const dg_net *n = &g->m->net[g->net];
    const int layers = dg_layers_before_pick(n);
    const dg_layer *last = &n->layer[layers - 1];
    const bool picks = layers < n->layers; /* the file has all logits of a conditional D */
    const bool labels = dg_recipe_find(g->m)->labels;
    char value[DG_ONNX_NAME];
    snprintf(g->onnx.name, sizeof g->onnx.name, "%s %s", g->m->name, n->name);
    const dg_shape z = {1, 1, 1, g->m->latent};
    g->onnx.in = value_of(n->latent ? "z" : labels ? "pixels" : "picture", n->latent ? z : n->layer[0].in, false);
    g->onnx.out = value_of(n->latent ? "picture" : labels || picks ? "logits" : "logit", last->out, last->flat);
    snprintf(value, sizeof value, "%s", g->onnx.in.name);
    if (labels) prepare(g, input, value);
    if (n->latent && g->m->classes) join_class(g, value);
    for (int i = 0; i < layers; i++) add_layer(g, i, value);
    finish(g, g->made[layers - 1], g->onnx.out.name);
}

dg_err dg_onnx_network(const char *path, const dg_model *m, int net, const dg_input_data *input,
                       const dg_st_tensor *tensor, const dg_st_meta *meta, int metas)
{
    graph g = {.m = m, .net = net, .tensor = tensor};
    g.weight = malloc((DG_CK_MOST + CONSTANTS + 4) * sizeof *g.weight);
    g.made = malloc((size_t)m->net[net].layers * sizeof *g.made);
    dg_err e = g.weight && g.made ? DG_OK : dg_fail(DG_DEVICE, "%s: out of memory", path);
    if (!e) {
        build(&g, input);
        e = dg_onnx_write(&g.onnx, path, g.weight, g.weights, meta, metas);
    }
    dg_onnx_free(&g.onnx);
    free(g.made);
    free(g.weight);
    return e;
}
