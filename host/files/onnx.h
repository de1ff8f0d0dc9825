/* Writes ONNX files (https://onnx.ai, operator set 13) as Protocol Buffers of onnx.proto. A file has a graph of
 * nodes, its weights, its input and its output. A node's output is named after layer and computation, such as
 * "G.1.norm". After a failed allocation, all functions do nothing, and dg_onnx_write reports the error. */
#pragma once

#include <stdbool.h>
#include "host/files/safetensors.h"

enum { DG_ONNX_NAME = 96, DG_ONNX_INPUTS = 5, DG_ONNX_ATTRIBUTES = 4 };

typedef struct {
    const char *name;
    int count; /* number of integers in a list; 1: one integer instead of a list; 0: the float `real` */
    int64_t value[4];
    double real;
} dg_onnx_attribute;

typedef struct {
    const char *type;
    int inputs, attributes;
    char in[DG_ONNX_INPUTS][DG_ONNX_NAME], out[DG_ONNX_NAME];
    dg_onnx_attribute attribute[DG_ONNX_ATTRIBUTES];
} dg_onnx_node;

/* An input or output of the graph: a tensor with dimensions N (any batch size), dim[0], dim[1] ... */
typedef struct {
    char name[DG_ONNX_NAME];
    int rank;
    int64_t dim[3];
    bool whole; /* int64 instead of float */
} dg_onnx_value;

typedef struct {
    char name[80];
    dg_onnx_value in, out, label; /* label: second input, of a conditional generator; no name: none */
    dg_onnx_node *node;
    int nodes;
    bool no_memory;
} dg_onnx;

/* Append a node with input `in` and output "<whose>.<what>". Returns the node, for more inputs and attributes. */
dg_onnx_node *dg_onnx_add(dg_onnx *o, const char *type, const char *whose, const char *what, const char *in);
/* Append a node with the input named `value`, and set `value` to the name of the node's output. */
dg_onnx_node *dg_onnx_then(dg_onnx *o, const char *type, const char *whose, const char *what, char value[DG_ONNX_NAME]);
void dg_onnx_input(dg_onnx_node *n, const char *in);
void dg_onnx_ints(dg_onnx_node *n, const char *name, int count, const int64_t *value);
void dg_onnx_int(dg_onnx_node *n, const char *name, int64_t value);
void dg_onnx_real(dg_onnx_node *n, const char *name, double value);

/* Write the graph, its weights (F32 or I64) and metadata atomically to a file. Returns DG_USAGE if the file exceeds
 * 2 GB. */
dg_err dg_onnx_write(const dg_onnx *o, const char *path, const dg_st_tensor *weight, int weights,
                     const dg_st_meta *meta, int metas);
void dg_onnx_free(dg_onnx *o);

bool dg_onnx_ours(const char *path);
