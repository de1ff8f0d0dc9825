/* From layers to ops: the rows of a network's parameters, and a walk over its layers, forward and backward. Works for
 * any network; what a layer puts into the plan its kind says (host/net/layers). */
#ifndef DG_BUILD_H
#define DG_BUILD_H

#include "core/plan/plan.h"
#include "host/net/model.h"

enum { DG_LAYER_PARAMETERS = 6, DG_LAYER_SAVED = 3 };

/* A row of the arena, from element `offset` on. row < 0: nothing. */
typedef struct {
    int row;
    int64_t offset;
} dg_view;

/* The arena rows of a layer's parameters, in the order of the kind's list; -1: none. */
typedef struct {
    int value[DG_LAYER_PARAMETERS], grad[DG_LAYER_PARAMETERS];
    int moment1[DG_LAYER_PARAMETERS], moment2[DG_LAYER_PARAMETERS];
    int average[DG_LAYER_PARAMETERS]; /* of weights, and statistics of the network that has these */
} dg_layer_rows;

/* What a pass forward through a layer leaves to the pass backward. */
typedef struct {
    dg_view in, add, out;      /* add: what dg_layer.add made, if any */
    int saved[DG_LAYER_SAVED]; /* rows that mean something to the layer's kind */
} dg_layer_pass;

/* A pass forward through a network: what is asked for, and what dg_forward answers. */
typedef struct {
    int net, N;
    int groups;  /* equal parts of the batch that have statistics of their own */
    bool frozen; /* batch norm takes its running statistics and leaves them as they are */
    int order; /* of the passes through this network in a step: dropout differs, and in the first, unless it is frozen,
                  spectral norm iterates; the others take its u and v with the weights of their time */
    const double *momentum; /* of running statistics; NULL: the layers' own, 0.1 */
    const char *suffix;     /* of the names of ops and work rows: "", ".g" */
    dg_view in;
    dg_view target; /* where the last layer writes; row -1: to a row of its own */
    dg_view out;    /* answer: what the last layer wrote */
    dg_layer_pass layer[DG_MAX_LAYERS];
} dg_pass;

typedef struct {
    const dg_model *model;
    dg_arena *arena;
    dg_plan *plan;
    dg_type real;
    int first; /* the network whose rows the arena counts as those of its first; 0 where all are in one arena */
    int state; /* the row of the step's state; dropout reads it */
    bool weights_first; /* before biases and norms, so that decay is for the first values of the rows */
    bool moment[2];     /* which moments the optimiser keeps */
    bool averaged;      /* weights have running averages */
    dg_layer_rows rows[DG_MAX_NETS][DG_MAX_LAYERS];
} dg_builder;

/* Append the rows of all parameters of a network; train: with gradients and moments. Kind by kind they are in the same
 * order, so that one sweep updates them all. */
void dg_build_parameters(dg_builder *b, int net, bool train);

/* Append the ops of a pass; p->in, p->N and the like are set. */
void dg_forward(dg_builder *b, dg_pass *p);

/* Append the ops of the way back from dy, the gradient of p->out. want: gradients of the weights, of p->in; the latter
 * is returned. The network has passed dg_net_check_backward. */
enum { DG_WANT_WEIGHTS = 1, DG_WANT_INPUT = 2 };
dg_view dg_backward(dg_builder *b, const dg_pass *p, dg_view dy, unsigned want);

/* Refuses, naming it, a layer whose output nobody reads: no gradient reaches it. */
dg_err dg_net_check_backward(const dg_model *m, int net);

/* Refuses, naming it, a layer that would have more than DG_TENSOR_VALUES values for so many images, or weights; and
 * so many images. */
dg_err dg_net_check_values(const dg_model *m, int net, double images);

/* The plan of one pass forward in evaluation mode, of N samples, over an arena of its own; placed, nothing allocated.
 */
dg_err dg_build_forward(const dg_model *m, int net, int N, dg_backend *backend, dg_arena *a, dg_plan *plan);

/* For the kinds of layers. */
int dg_work_row(dg_builder *b, int net, dg_shape shape, const char *format, ...) __attribute__((format(printf, 4, 5)));
dg_view dg_layer_out(dg_builder *b, const dg_pass *p, int i); /* where layer i writes: p->target or a new row */
/* Append op WHOSE.WHAT: y = a + b, of the pass's samples of this shape. */
dg_op *dg_build_add(dg_builder *b, const dg_pass *p, const char *whose, const char *what, dg_shape shape,
                    const dg_view yab[3]);
void dg_bind(dg_op *op, const char *operand, dg_view v);
void dg_bind_row(dg_op *op, const char *operand, int row);
static inline const dg_layer *dg_layer_of(const dg_builder *b, const dg_pass *p, int i)
{
    return &b->model->net[p->net].layer[i];
}
static inline dg_shape dg_batch_of(dg_shape s, int N) { return (dg_shape){N, s.H, s.W, s.C}; }

#endif
