/* Where a new run begins: with weights that are drawn, or with those of --init. */
#ifndef DG_TRAIN_BEGIN_H
#define DG_TRAIN_BEGIN_H

#include "host/files/safetensors.h"
#include "host/train/train.h"

/* What --init names, checked against the model; *init stays NULL without it. */
dg_err dg_train_weights(const dg_options *o, const dg_model *model, dg_st **init);

/* Draw the weights of the job, and put those over them that init, unless it is NULL, has. How images are standardised
 * or whitened is found of this run's. */
dg_err dg_train_begin(dg_training *r, const dg_st *init);

/* What --resume on other images than the run's becomes: a run beside it that begins with the weights of its
 * checkpoint `path`. out, init and resolved of *own are to be freed by dg_train_own_free, after errors, too. */
dg_err dg_train_own(const dg_options *o, const char *path, dg_options *own);
void dg_train_own_free(dg_options *own);

#endif
