/* The table of optimizers, with their ops and moments. */
#pragma once

#include <stdbool.h>

#include "core/plan/ops.h"

typedef enum { DG_ADAM, DG_SGD, DG_ADAGRAD, DG_ADADELTA, DG_OPTIMIZERS } dg_optimizer;

typedef struct {
    const char *name;
    dg_op_kind op;
    const char *moment[2]; /* name prefix of each moment in checkpoints, such as "adam.m."; NULL: no moment */
} dg_optimizer_info;

extern const dg_optimizer_info dg_optimizers[DG_OPTIMIZERS];

bool dg_is_update(dg_op_kind op);

dg_optimizer dg_optimizer_find(const char *name);
