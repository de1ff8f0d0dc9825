/* Builds plans from networks: arena rows of parameters, and the ops of forward and backward passes. */
#pragma once

#include "core/plan/plan.h"
#include "host/net/model.h"

enum { DG_LAYER_PARAMETERS = 6, DG_LAYER_SAVED = 3 };

/* The values of an arena row from element `offset` on. row < 0: no tensor. */
typedef struct {
    int row;
    int64_t offset;
} dg_view;

/* Arena rows of a layer's parameters, in the order of dg_layer_kind.parameters; -1: no row. */
typedef struct {
    int value[DG_LAYER_PARAMETERS], grad[DG_LAYER_PARAMETERS];
    int moment1[DG_LAYER_PARAMETERS], moment2[DG_LAYER_PARAMETERS];
    int average[DG_LAYER_PARAMETERS]; /* averaged weights (EMA), or running statistics for these */
} dg_layer_rows;

/* Tensors of one layer, for its backward pass. */
typedef struct {
    dg_view in, add, out; /* add: output of layer dg_layer.add, if any */
    dg_view saved[DG_LAYER_SAVED];
    dg_view grad; /* gradient before the bias; set by the backward pass */
} dg_layer_pass;

/* Arguments and results of dg_forward. */
typedef struct {
    int net, N;
    int groups;             /* the batch has equal parts with separate batch statistics */
    bool frozen;            /* evaluation mode: batch norm reads its running statistics */
    int order;              /* index of the pass in the step, for random numbers; pass 0 updates spectral norm */
    const double *momentum; /* momentum of running statistics, or NULL for PyTorch's default 0.1 */
    const char *suffix;
    const dg_view *label; /* labels of the images for layer pick, or NULL; image n has label n % number of labels */
    dg_view in;
    dg_view target; /* output of the last layer; row -1: dg_forward allocates a row */
    dg_view out;
    const dg_view *gradient; /* per layer, a gradient of its output for dg_backward (row -1: none), or NULL */
    dg_layer_pass layer[DG_MAX_LAYERS];
} dg_pass;

typedef struct {
    const dg_model *model;
    dg_arena *arena;
    dg_plan *plan;
    dg_type real;
    int first; /* index of the first network in the arena */
    int state;
    bool weights_first; /* store weights before biases and norms, because weight decay applies to leading rows */
    bool moment[2];
    bool averaged;
    struct dg_shards *shards; /* shards.h; NULL: the batch is not divided */
    dg_layer_rows rows[DG_MAX_NETS][DG_MAX_LAYERS];
} dg_builder;

/* Weights, gradients and moments are each contiguous and in equal order, so that one op updates all weights. */
void dg_build_parameters(dg_builder *b, int net, bool train);
/* Append gradient tensors for another shard; b->rows then has these. */
void dg_build_gradients(dg_builder *b, int net);

void dg_forward(dg_builder *b, dg_pass *p);

/* Append the ops of the backward pass from dy, the gradient of p->out, and from p->gradient. If the row of dy is -1,
 * the pass begins with p->gradient. Returns the gradient of p->in if flag DG_WANT_INPUT is set. Call
 * dg_net_check_backward first. */
enum { DG_WANT_WEIGHTS = 1, DG_WANT_INPUT = 2 };
dg_view dg_backward(dg_builder *b, dg_pass *p, dg_view dy, unsigned want);

/* A tangent pass (penalty.h) computes directional derivatives and weight gradients. Each layer multiplies its input's
 * tangent by its weights, then by its activation's slopes. Biases have no effect. */
typedef struct {
    dg_pass *pass;   /* forward pass, after dg_backward with DG_WANT_INPUT and dy = 1 */
    dg_view slopes;  /* gradient of the loss with respect to each logit, (N) */
    dg_view in, add; /* tangents of the current layer's inputs */
} dg_tangent;

/* Append the tangent pass. v and the result are the tangents of the network's input and output. */
dg_view dg_tangent_pass(dg_builder *b, dg_tangent *t, dg_view v);

/* Returns DG_USAGE if a layer has no tangent: batch norm, max pooling, or an activation with a curve. */
dg_err dg_net_check_tangent(const dg_model *m, int net);

/* Returns DG_USAGE if no layer reads the output of a layer before the last. */
dg_err dg_net_check_backward(const dg_model *m, int net);

/* Returns DG_USAGE if a weight tensor, or an activation for batch size `images`, has more than DG_TENSOR_VALUES
 * values. */
dg_err dg_net_check_values(const dg_model *m, int net, double images);

/* Build the plan of a forward pass in evaluation mode with batch size N, without allocating the arena. */
dg_err dg_build_forward(const dg_model *m, int net, int N, dg_backend *backend, dg_arena *a, dg_plan *plan);

int dg_work_row(dg_builder *b, int net, dg_shape shape, const char *format, ...) __attribute__((format(printf, 4, 5)));
dg_view dg_layer_out(dg_builder *b, const dg_pass *p, int i);
/* Append an op named WHOSE.WHAT that computes y = a + b for p->N samples of this shape. `yab` has the views of y, a and
 * b. */
dg_op *dg_build_add(dg_builder *b, const dg_pass *p, const char *whose, const char *what, dg_shape shape,
                    const dg_view yab[3]);
void dg_bind(dg_op *op, const char *operand, dg_view v);
void dg_bind_row(dg_op *op, const char *operand, int row);
static inline const dg_layer *dg_layer_of(const dg_builder *b, const dg_pass *p, int i)
{
    return &b->model->net[p->net].layer[i];
}
static inline dg_shape dg_batch_of(dg_shape s, int N) { return (dg_shape){N, s.H, s.W, s.C}; }
