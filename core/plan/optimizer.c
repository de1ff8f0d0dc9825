#include "core/plan/optimizer.h"

#include <string.h>

const dg_optimizer_info dg_optimizers[DG_OPTIMIZERS] = {
    [DG_ADAM] = {"adam", DG_OP_adam, {"adam.m.", "adam.v."}},
    [DG_SGD] = {"sgd", DG_OP_sgd, {"sgd.m.", NULL}},
    [DG_ADAGRAD] = {"adagrad", DG_OP_adagrad, {NULL, "adagrad.v."}},
    [DG_ADADELTA] = {"adadelta", DG_OP_adadelta, {"adadelta.m.", "adadelta.v."}},
};

bool dg_is_update(dg_op_kind op)
{
    int i = 0;
    while (i < DG_OPTIMIZERS && dg_optimizers[i].op != op) i++;
    return i < DG_OPTIMIZERS;
}

dg_optimizer dg_optimizer_find(const char *name)
{
    int i = 0;
    while (i < DG_OPTIMIZERS && strcmp(dg_optimizers[i].name, name)) i++;
    return (dg_optimizer)i;
}
