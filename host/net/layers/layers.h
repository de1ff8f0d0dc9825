/* The kinds of layers that a model file can have. A kind is one file of this folder: its keys, the shape of its output,
 * its parameters, and the ops that it puts into a plan. A new one is a file with its dg_layer_kind and a row in
 * DG_LAYERS; a key that no kind has yet is a row in host/net/model_keys.c. */
#ifndef DG_LAYERS_H
#define DG_LAYERS_H

#include "host/files/onnx.h"
#include "host/net/build.h"

/* X(NAME): dg_layer_NAME is the kind that `op = NAME` means. The first one is meant where no op is given. */
#define DG_LAYERS(X)  \
    X(conv)           \
    X(conv_transpose) \
    X(dense)          \
    X(max_pool)       \
    X(mean_pool)      \
    X(dropout)        \
    X(add)

/* The keys of a layer, in the order in which messages tell them. */
typedef enum {
    DG_KEY_OP,
    DG_KEY_IN,
    DG_KEY_FILTERS,
    DG_KEY_KERNEL,
    DG_KEY_STRIDE,
    DG_KEY_PAD,
    DG_KEY_BIAS,
    DG_KEY_NORM,
    DG_KEY_ADD,
    DG_KEY_ACT,
    DG_KEY_SLOPE,
    DG_KEY_P,
    DG_KEY_TORCH,
    DG_KEY_REPEAT,
    DG_KEY_REPEAT_FROM,
    DG_KEYS
} dg_key_id;
#define DG_KEY(name) (1u << DG_KEY_##name)

/* A tensor that belongs to a layer and is kept in checkpoints. */
typedef enum {
    DG_PARAMETER_WEIGHT,    /* is trained: has a gradient and moments */
    DG_PARAMETER_MEAN,      /* running statistics */
    DG_PARAMETER_VARIANCE,  /* never negative */
    DG_PARAMETER_DIRECTION, /* u and v of spectral norm */
    DG_PARAMETER_COUNT      /* num_batches_tracked: in files alone */
} dg_parameter_kind;

typedef struct {
    dg_parameter_kind kind;
    const char *row, *grad; /* its rows in the arena are NAME.row and NAME.grad, NAME being the layer's */
    int module;             /* its module in PyTorch, counted from the layer's first */
    const char *field;      /* PyTorch's name of it there: "weight" */
    int rank, dim[4];       /* PyTorch's shape: (Co, Ci, K, K), (C) */
    int file_rank;          /* dimensions in files, the last being one: 2: (Co, Ci K K), as of a Linear; 1: (Ci K K),
                               as of a v, of which Co is 1; 0: rank */
} dg_parameter;

/* A layer that is being written as nodes of ONNX. */
typedef struct {
    char value[DG_ONNX_NAME];                   /* what it reads, and after each node what that made */
    const char *add;                            /* what layer `add` made */
    const char *parameter[DG_LAYER_PARAMETERS]; /* names of its weights, in the order of the kind's list */
    bool on_maps[DG_LAYER_PARAMETERS];          /* answer: it is added to maps, so it has to be (C, 1, 1) */
} dg_layer_onnx;

struct dg_layer_kind {
    const char *name;
    unsigned takes, needs; /* keys, by DG_KEY; all kinds take op, in, repeat and repeat_from */
    unsigned own;          /* those of them that it does not take from the network's section [NET] */
    /* Sets out, and the keys that were left open (-1), from in and the other keys; refuses what does not go together.
     */
    dg_err (*shape)(dg_layer *l, const char *where);
    int (*modules)(const dg_layer *l); /* how many modules of nn.Sequential it is */
    int (*parameters)(const dg_layer *l, dg_parameter out[DG_LAYER_PARAMETERS]); /* NULL: it has none */
    /* Layer i of the pass forward: reads pass->layer[i].in, sets .out and what backward needs. */
    void (*forward)(dg_builder *b, dg_pass *p, int i);
    /* From dy, the gradient of .out, the gradients of the weights (DG_WANT_WEIGHTS), and where DG_WANT_INPUT asks for
     * them those of .in and .add, as dx[0] and dx[1]. What it may overwrite dg_layer_gradient says. */
    void (*backward)(dg_builder *b, const dg_pass *p, int i, dg_view dy, unsigned want, dg_view dx[2]);
    /* The nodes that it is in evaluation mode; NULL: none, it passes on what it reads. */
    void (*onnx)(dg_onnx *o, const dg_layer *l, dg_layer_onnx *n);
};

#define X(name) extern const dg_layer_kind dg_layer_##name;
DG_LAYERS(X)
#undef X

extern const dg_layer_kind *const dg_layer_kinds[]; /* ends with NULL */

/* "FILE:LINE: [C.4] ...": DG_USAGE. */
dg_err dg_layer_fail(const dg_layer *l, const char *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Where the gradient in front of an activation goes: over dy, or to a row of its own where others read dy, too. */
dg_view dg_layer_gradient(dg_builder *b, const dg_pass *p, int i, dg_view dy);

/* The op that adds what layer `add` made to a, then the layer's activation. */
void dg_finish_add(dg_builder *b, const dg_pass *p, int i, const char *what, dg_view a);

/* What may follow a layer's own op, in its place: bias, the output of layer `add`, activation. bias: the arena row of
 * the biases, or -1. And back: from dy to the gradient of what was there before; db: where that of the biases goes, or
 * -1. */
void dg_finish_forward(dg_builder *b, const dg_pass *p, int i, int bias);
dg_view dg_finish_backward(dg_builder *b, const dg_pass *p, int i, dg_view dy, int db, unsigned want, dg_view dx[2]);

/* The next node of a layer, which reads what the one before it made; and the nodes that dg_finish_forward's ops are,
 * without the bias. */
dg_onnx_node *dg_layer_node(dg_onnx *o, const dg_layer *l, dg_layer_onnx *n, const char *type, const char *what);
void dg_finish_onnx(dg_onnx *o, const dg_layer *l, dg_layer_onnx *n);
/* Attributes of nodes with windows: kernel_shape, strides and pads. */
void dg_windows_onnx(dg_onnx_node *node, const dg_layer *l);

/* How many windows of l->kernel pixels every l->stride ones l->in has, with l->pad around it, as out->H and out->W.
 * Pixels that no window reaches at the far side are left out where the kind floors, and otherwise a mistake. */
dg_err dg_layer_windows(const dg_layer *l, const char *where, bool floors, dg_shape *out);
/* The shape of kinds whose output is like their input. */
dg_err dg_layer_same_shape(dg_layer *l, const char *where);
/* Refuses an output of no pixel or of more than DG_LAYER_SIDE in a row. */
enum { DG_LAYER_SIDE = 1024 };
dg_err dg_layer_check_size(const dg_layer *l, const char *where);

#endif
