#include "host/files/onnx.h"

#include "core/base/build_info.h"
#include "host/files/protobuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of fields and types from onnx.proto. */
enum { MODEL_IR = 1, MODEL_PRODUCER = 2, MODEL_VERSION = 3, MODEL_GRAPH = 7, MODEL_OPSET = 8, MODEL_META = 14 };
enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_WEIGHT = 5, GRAPH_IN = 11, GRAPH_OUT = 12 };
enum { NODE_IN = 1, NODE_OUT = 2, NODE_NAME = 3, NODE_TYPE = 4, NODE_ATTRIBUTE = 5 };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_F = 2, ATTRIBUTE_I = 3, ATTRIBUTE_INTS = 8, ATTRIBUTE_TYPE = 20 };
enum { TYPE_FLOAT = 1, TYPE_INT = 2, TYPE_INTS = 7 };
enum { TENSOR_DIM = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_RAW = 9, F32 = 1, I64 = 7 };
enum { IR = 7, OPSET = 13 };
static const char producer[] = "dcgan";

static void put_attribute(dg_pb *node, const dg_onnx_attribute *a)
{
    dg_pb m = {0};
    dg_pb_text(&m, ATTRIBUTE_NAME, a->name);
    if (a->count == 0) dg_pb_float(&m, ATTRIBUTE_F, a->real);
    for (int i = 0; i < a->count; i++)
        dg_pb_number(&m, a->count > 1 ? ATTRIBUTE_INTS : ATTRIBUTE_I, (uint64_t)a->value[i]);
    dg_pb_number(&m, ATTRIBUTE_TYPE, a->count == 0 ? TYPE_FLOAT : a->count == 1 ? TYPE_INT : TYPE_INTS);
    dg_pb_put(node, NODE_ATTRIBUTE, &m);
}

static void put_node(dg_pb *graph, const dg_onnx_node *n)
{
    dg_pb m = {0};
    for (int i = 0; i < n->inputs; i++) dg_pb_text(&m, NODE_IN, n->in[i]);
    dg_pb_text(&m, NODE_OUT, n->out);
    dg_pb_text(&m, NODE_NAME, n->out);
    dg_pb_text(&m, NODE_TYPE, n->type);
    for (int i = 0; i < n->attributes; i++) put_attribute(&m, &n->attribute[i]);
    dg_pb_put(graph, GRAPH_NODE, &m);
}

static void put_value(dg_pb *graph, int field, const dg_onnx_value *v)
{
    dg_pb value = {0}, type = {0}, tensor = {0}, shape = {0};
    for (int i = 0; i <= v->rank; i++) {
        dg_pb dim = {0};
        if (i == 0) dg_pb_text(&dim, 2, "N");
        else dg_pb_number(&dim, 1, (uint64_t)v->dim[i - 1]);
        dg_pb_put(&shape, 1, &dim);
    }
    dg_pb_number(&tensor, 1, v->whole ? I64 : F32);
    dg_pb_put(&tensor, 2, &shape);
    dg_pb_put(&type, 1, &tensor);
    dg_pb_text(&value, 1, v->name);
    dg_pb_put(&value, 2, &type);
    dg_pb_put(graph, field, &value);
}

static void put_weight(dg_pb *graph, const dg_st_tensor *t)
{
    dg_pb m = {0};
    for (int i = 0; i < t->rank; i++) dg_pb_number(&m, TENSOR_DIM, (uint64_t)t->dim[i]);
    dg_pb_number(&m, TENSOR_TYPE, t->type == DG_F32 ? F32 : I64);
    dg_pb_text(&m, TENSOR_NAME, t->name);
    dg_pb_length(&m, TENSOR_RAW, t->bytes);
    dg_pb_length(graph, GRAPH_WEIGHT, m.bytes + t->bytes);
    dg_pb_append(graph, m.text, m.bytes);
    graph->exhausted |= m.exhausted;
    free(m.text);
}

static void put_model(dg_pb *m, const dg_st_meta *meta, int metas)
{
    dg_pb opset = {0};
    dg_pb_number(m, MODEL_IR, IR);
    dg_pb_text(m, MODEL_PRODUCER, producer);
    dg_pb_text(m, MODEL_VERSION, dg_version);
    dg_pb_text(&opset, 1, "");
    dg_pb_number(&opset, 2, OPSET);
    dg_pb_put(m, MODEL_OPSET, &opset);
    for (int i = 0; i < metas; i++) {
        dg_pb entry = {0};
        dg_pb_text(&entry, 1, meta[i].key);
        dg_pb_text(&entry, 2, meta[i].value);
        dg_pb_put(m, MODEL_META, &entry);
    }
}

/* The file alternates between encoded parts of the model and the values of weights. */
static dg_err write_pieces(const dg_onnx *o, const char *path, const dg_st_tensor *weight, int weights, dg_pb *model,
                           dg_pb *between, dg_chunk *piece)
{
    size_t graph = 0, all = 0;
    bool failed = model->exhausted;
    for (int i = 0; i <= weights; i++) {
        dg_pb *b = &between[i];
        if (i == 0) {
            dg_pb_text(b, GRAPH_NAME, o->name);
            for (int k = 0; k < o->nodes; k++) put_node(b, &o->node[k]);
            put_value(b, GRAPH_IN, &o->in);
            if (*o->label.name) put_value(b, GRAPH_IN, &o->label);
            put_value(b, GRAPH_OUT, &o->out);
        }
        if (i < weights) put_weight(b, &weight[i]);
        failed |= b->exhausted;
        piece[2 * i + 1] = (dg_chunk){b->text, b->bytes};
        if (i < weights) piece[2 * i + 2] = (dg_chunk){weight[i].data, weight[i].bytes};
        graph += b->bytes + (i < weights ? weight[i].bytes : 0);
    }
    dg_pb_length(model, MODEL_GRAPH, graph);
    piece[0] = (dg_chunk){model->text, model->bytes};
    all = graph + model->bytes;
    if (failed || model->exhausted) return dg_fail(DG_DEVICE, "%s: out of memory", path);
    if (all > INT32_MAX)
        return dg_fail(DG_USAGE, "%s: needs %.1f GB; the limit of an ONNX file is 2.1 GB", path, (double)all / 1e9);
    return dg_write_atomic(path, piece, 2 * weights + 2);
}

dg_err dg_onnx_write(const dg_onnx *o, const char *path, const dg_st_tensor *weight, int weights,
                     const dg_st_meta *meta, int metas)
{
    dg_pb model = {0}, *between = calloc((size_t)weights + 1, sizeof *between);
    dg_chunk *piece = calloc(2 * (size_t)weights + 2, sizeof *piece);
    dg_err e = between && piece && !o->no_memory ? DG_OK : dg_fail(DG_DEVICE, "%s: out of memory", path);
    if (!e) {
        put_model(&model, meta, metas);
        e = write_pieces(o, path, weight, weights, &model, between, piece);
    }
    for (int i = 0; between && i <= weights; i++) free(between[i].text);
    free(model.text);
    free(between);
    free(piece);
    return e;
}

dg_onnx_node *dg_onnx_add(dg_onnx *o, const char *type, const char *whose, const char *what, const char *in)
{
    static dg_onnx_node discarded; /* returned after a failed allocation; its contents are ignored */
    enum { SOME = 32 };
    if (!o->no_memory && o->nodes % SOME == 0) {
        dg_onnx_node *grown = realloc(o->node, (size_t)(o->nodes + SOME) * sizeof *grown);
        if (grown) o->node = grown;
        else o->no_memory = true;
    }
    dg_onnx_node *n = o->no_memory ? &discarded : &o->node[o->nodes++];
    *n = (dg_onnx_node){.type = type};
    snprintf(n->out, sizeof n->out, "%s.%s", whose, what);
    dg_onnx_input(n, in);
    return n;
}

dg_onnx_node *dg_onnx_then(dg_onnx *o, const char *type, const char *whose, const char *what, char value[DG_ONNX_NAME])
{
    dg_onnx_node *n = dg_onnx_add(o, type, whose, what, value);
    snprintf(value, DG_ONNX_NAME, "%s", n->out);
    return n;
}

void dg_onnx_input(dg_onnx_node *n, const char *in) { snprintf(n->in[n->inputs++], sizeof n->in[0], "%s", in); }

void dg_onnx_ints(dg_onnx_node *n, const char *name, int count, const int64_t *value)
{
    dg_onnx_attribute *a = &n->attribute[n->attributes++];
    *a = (dg_onnx_attribute){.name = name, .count = count};
    memcpy(a->value, value, (size_t)count * sizeof *value);
}

void dg_onnx_int(dg_onnx_node *n, const char *name, int64_t value) { dg_onnx_ints(n, name, 1, &value); }

void dg_onnx_real(dg_onnx_node *n, const char *name, double value)
{
    n->attribute[n->attributes++] = (dg_onnx_attribute){.name = name, .real = value};
}

void dg_onnx_free(dg_onnx *o)
{
    free(o->node);
    o->node = NULL;
}

bool dg_onnx_ours(const char *path)
{
    unsigned char begin[4 + sizeof producer - 1] = {MODEL_IR << 3, IR, MODEL_PRODUCER << 3 | DG_PB_BYTES,
                                                    sizeof producer - 1};
    memcpy(begin + 4, producer, sizeof producer - 1);
    char has[sizeof begin] = {0};
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    const bool same = fread(has, 1, sizeof has, f) == sizeof has && !memcmp(has, begin, sizeof begin);
    (void)fclose(f);
    return same;
}
