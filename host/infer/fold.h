/* Folds batch norm in evaluation mode into the weights and biases of the layer: w' = s w and b' = beta - s mean per
 * output channel, with s = gamma / sqrt(var + eps). */
#pragma once

#include "host/net/job.h"

/* Replace norm = batch by norm = none and bias = yes in every layer. */
void dg_fold_model(dg_model *m);

/* Read the weights of layer `layer` (PyTorch's layout) with batch norm folded in. *w is malloc'd, or NULL for a layer
 * without weights. bias (output channels) receives the biases, or 0 without biases. */
dg_err dg_fold_read(dg_job *job, int net, int layer, double **w, double *bias);

/* Write the weights of layer `layer` of a folded model, as dg_fold_read returns them. NULL: they stay unchanged. */
dg_err dg_fold_write(dg_job *job, int net, int layer, const double *w, const double *bias);

/* Copy the weights of a network to job `to`, which has the folded model of `from`, possibly without its last layers. */
dg_err dg_fold_put(dg_job *from, dg_job *to, int net);
