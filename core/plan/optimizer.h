/* The optimisers: a row each, of its op and the moments that it keeps. */
#ifndef DG_OPTIMIZER_H
#define DG_OPTIMIZER_H

#include <stdbool.h>

#include "core/plan/ops.h"

typedef enum { DG_ADAM, DG_SGD, DG_ADAGRAD, DG_ADADELTA, DG_OPTIMIZERS } dg_optimizer;

typedef struct {
    const char *name; /* "adam" */
    dg_op_kind op;
    const char *moment[2]; /* their names in checkpoints are these and the tensor's: "adam.m."; NULL: it has none */
} dg_optimizer_info;

extern const dg_optimizer_info dg_optimizers[DG_OPTIMIZERS];

/* Is this op one of theirs? Then it writes the weights of a network. */
bool dg_is_update(dg_op_kind op);

/* The one of that name; DG_OPTIMIZERS: there is none. */
dg_optimizer dg_optimizer_find(const char *name);

#endif
