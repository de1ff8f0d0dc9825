/* ONNX files: a graph of nodes over named values, its weights, and what went in and comes out, in the Protocol Buffers
 * of onnx.proto (https://onnx.ai), operator set 13. Written only, by rules as short as the format's: no library is
 * needed for a few tags and lengths.
 *
 * Values that go from node to node are called as the layer and the step that made them, "G.1.norm". Every function does
 * nothing once memory has run out, which dg_onnx_write says in the end. */
#ifndef DG_ONNX_H
#define DG_ONNX_H

#include <stdbool.h>
#include "host/files/safetensors.h"

enum { DG_ONNX_NAME = 96, DG_ONNX_INPUTS = 5, DG_ONNX_ATTRIBUTES = 4 };

typedef struct {
    const char *name;
    int count; /* of whole numbers; 1: one, no list; 0: `real` it is */
    int64_t value[4];
    double real;
} dg_onnx_attribute;

typedef struct {
    const char *type; /* "Conv" */
    int inputs, attributes;
    char in[DG_ONNX_INPUTS][DG_ONNX_NAME], out[DG_ONNX_NAME];
    dg_onnx_attribute attribute[DG_ONNX_ATTRIBUTES];
} dg_onnx_node;

/* A value of so many numbers a sample; the first dimension is the batch, of any size, called "N". */
typedef struct {
    char name[DG_ONNX_NAME];
    int rank; /* without the batch */
    int64_t dim[3];
} dg_onnx_value;

typedef struct {
    char name[80]; /* of the graph */
    dg_onnx_value in, out;
    dg_onnx_node *node;
    int nodes;
    bool no_memory;
} dg_onnx;

/* Append a node; its result is called WHOSE.WHAT. It comes back to be given more inputs and attributes; never NULL. */
dg_onnx_node *dg_onnx_add(dg_onnx *o, const char *type, const char *whose, const char *what, const char *in);
/* The same in a chain: it reads value, which is called as its result then. */
dg_onnx_node *dg_onnx_then(dg_onnx *o, const char *type, const char *whose, const char *what, char value[DG_ONNX_NAME]);
void dg_onnx_input(dg_onnx_node *n, const char *in);
void dg_onnx_ints(dg_onnx_node *n, const char *name, int count, const int64_t *value);
void dg_onnx_int(dg_onnx_node *n, const char *name, int64_t value);
void dg_onnx_real(dg_onnx_node *n, const char *name, double value);

/* Write it with these weights (F32 or I64) and metadata, whole or not at all. DG_IO; DG_USAGE: more than the 2 GB that
 * such a file may have; DG_DEVICE: no memory. */
dg_err dg_onnx_write(const dg_onnx *o, const char *path, const dg_st_tensor *weight, int weights,
                     const dg_st_meta *meta, int metas);
void dg_onnx_free(dg_onnx *o); /* what it points to */

/* Is what stands at path, if it can be read, an ONNX file that we wrote? */
bool dg_onnx_ours(const char *path);

#endif
