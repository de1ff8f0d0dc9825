/* Interface of layer kinds. docs/extending.md explains how to add one. */
#pragma once

#include "host/files/onnx.h"
#include "host/net/build.h"

/* X(NAME): dg_layer_NAME implements the model key `op = NAME`; the first layer kind is the default. */
#define DG_LAYERS(X)  \
    X(conv)           \
    X(conv_transpose) \
    X(dense)          \
    X(max_pool)       \
    X(mean_pool)      \
    X(resample)       \
    X(dropout)        \
    X(add)

typedef enum {
    DG_KEY_OP,
    DG_KEY_IN,
    DG_KEY_FILTERS,
    DG_KEY_KERNEL,
    DG_KEY_STRIDE,
    DG_KEY_PAD,
    DG_KEY_GROUPS,
    DG_KEY_BIAS,
    DG_KEY_NORM,
    DG_KEY_START,
    DG_KEY_GAIN,
    DG_KEY_ADD,
    DG_KEY_ACT,
    DG_KEY_SLOPE,
    DG_KEY_P,
    DG_KEY_SCALE,
    DG_KEY_TORCH,
    DG_KEY_REPEAT,
    DG_KEY_REPEAT_FROM,
    DG_KEYS
} dg_key_id;

#define DG_KEY(name) (1u << DG_KEY_##name)

#define DG_NORM_EPS 1e-5 /* batch norm: added to the variance, as in PyTorch */

/* A tensor of a layer, stored in checkpoints. */
typedef enum {
    DG_PARAMETER_WEIGHT, /* the tensor has a gradient and moments */
    DG_PARAMETER_MEAN,
    DG_PARAMETER_VARIANCE,
    DG_PARAMETER_DIRECTION,
    DG_PARAMETER_COUNT /* num_batches_tracked, which exists in files only */
} dg_parameter_kind;

typedef struct {
    dg_parameter_kind kind;
    const char *row, *grad; /* the arena rows are named LAYER.row and LAYER.grad */
    int module;             /* index of the tensor's PyTorch module, relative to the layer's first module */
    const char *field;
    int rank, dim[4]; /* shape in PyTorch, such as (Co, Ci, K, K) or (C) */
    int file_rank;    /* rank in files, such as 2 for a Linear (Co, Ci * K * K); 0: equal to `rank` */
} dg_parameter;

typedef struct {
    char value[DG_ONNX_NAME]; /* ONNX name of the layer's input, then of each added node's output */
    const char *add;
    const char *parameter[DG_LAYER_PARAMETERS];
    bool on_maps[DG_LAYER_PARAMETERS]; /* true if ONNX needs shape (C, 1, 1) instead of (C) */
} dg_layer_onnx;

struct dg_layer_kind {
    const char *name;
    unsigned takes, needs; /* bit masks of accepted and required keys, without op, in, repeat and repeat_from */
    unsigned own;          /* keys that a section of defaults, such as [G], does not set */
    /* Compute l->out from l->in and the keys; keys that are -1 get their defaults. Returns DG_USAGE for invalid
     * keys. */
    dg_err (*shape)(dg_layer *l, const char *where);
    int (*modules)(const dg_layer *l);
    int (*parameters)(const dg_layer *l, dg_parameter out[DG_LAYER_PARAMETERS]);
    /* Append the forward ops of layer i, which read p->layer[i].in; set .out and .saved. */
    void (*forward)(dg_builder *b, dg_pass *p, int i);
    /* Append the backward ops from dy, the gradient of the layer's output. DG_WANT_WEIGHTS: compute weight gradients.
     * DG_WANT_INPUT: set dx to the gradients of .in and .add. */
    void (*backward)(dg_builder *b, dg_pass *p, int i, dg_view dy, unsigned want, dg_view dx[2]);
    /* Append the ops of the tangent and of the weight gradients of layer i (dg_tangent). Returns the output's tangent.
     * The member is NULL if networks with this layer cannot have gradient penalties. */
    dg_view (*tangent)(dg_builder *b, const dg_tangent *t, int i);
    /* Append the layer's ONNX nodes for evaluation mode. The member is NULL if the layer is an identity. */
    void (*onnx)(dg_onnx *o, const dg_layer *l, dg_layer_onnx *n);
    /* Only for kinds that use dg_linear_forward: append the op y = A x, or its adjoint y = A^T x. */
    void (*apply)(dg_builder *b, const dg_pass *p, int i, const char *what, bool adjoint, dg_view y, dg_view x);
};

/* The members forward, backward and tangent of a linear layer without weights, bias and activation, by `apply`. */
void dg_linear_forward(dg_builder *b, dg_pass *p, int i);
void dg_linear_backward(dg_builder *b, dg_pass *p, int i, dg_view dy, unsigned want, dg_view dx[2]);
dg_view dg_linear_tangent(dg_builder *b, const dg_tangent *t, int i);

#define X(name) extern const dg_layer_kind dg_layer_##name;
DG_LAYERS(X)
#undef X
extern const dg_layer_kind dg_layer_pick; /* not a key of model files: [model] classes adds it to D */

/* Returns the number of layers without layer pick. */
static inline int dg_layers_before_pick(const dg_net *n)
{
    return n->layers - (n->layer[n->layers - 1].kind == &dg_layer_pick);
}

extern const dg_layer_kind *const dg_layer_kinds[];

dg_err dg_layer_fail(const dg_layer *l, const char *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns the view for the gradient before an activation: dy, or a new row if other layers also read dy. */
dg_view dg_layer_gradient(dg_builder *b, const dg_pass *p, int i, dg_view dy);

/* Append y = act(a + output of layer `add`). */
void dg_finish_add(dg_builder *b, const dg_pass *p, int i, const char *what, dg_view a);

/* Append the last ops of a layer: bias (row or -1), sum with layer `add`, activation. */
void dg_finish_forward(dg_builder *b, const dg_pass *p, int i, int bias);
/* Append the backward ops of dg_finish_forward. Returns the gradient of the input. `db` is the row of bias gradients,
 * or -1. */
dg_view dg_finish_backward(dg_builder *b, const dg_pass *p, int i, dg_view dy, int db, unsigned want, dg_view dx[2]);

/* Append the tangent ops of dg_finish_forward, then the gradient db of the biases (-1: none). db comes last, because
 * fusion requires the activation op directly after the convolution. The ops read `from` and write `out`, possibly in
 * place. */
void dg_finish_tangent(dg_builder *b, const dg_tangent *t, int i, dg_view from, dg_view out, int db);
dg_view dg_tangent_out(dg_builder *b, const dg_tangent *t, int i);

/* Append an ONNX node that reads n->value, and set n->value to the node's output. */
dg_onnx_node *dg_layer_node(dg_onnx *o, const dg_layer *l, dg_layer_onnx *n, const char *type, const char *what);
void dg_finish_onnx(dg_onnx *o, const dg_layer *l, dg_layer_onnx *n);
void dg_windows_onnx(dg_onnx_node *node, const dg_layer *l);

/* Set out->H and out->W to the number of windows. Pixels after the last window are ignored if floors is set, else a
 * DG_USAGE error. */
dg_err dg_layer_windows(const dg_layer *l, const char *where, bool floors, dg_shape *out);
dg_err dg_layer_same_shape(dg_layer *l, const char *where);
/* Returns DG_USAGE unless height and width of the layer's output are 1 to DG_LAYER_SIDE. */
enum { DG_LAYER_SIDE = 1024 };
dg_err dg_layer_check_size(const dg_layer *l, const char *where);
