/* Initial weights of a new run: random, or from --init. */
#pragma once

#include "host/files/safetensors.h"
#include "host/train/train.h"

/* Open the weights file of --init and check it against the model. Without --init, *init is NULL. */
dg_err dg_train_weights(const dg_options *o, const dg_model *model, dg_st **init);

/* Initialise the weights randomly, then load the weights in `init` (may be NULL). Input statistics are not loaded. */
dg_err dg_train_begin(dg_training *r, const dg_st *init);

/* --resume with a different dataset starts a new run: set *own to its options. The new run has its own directory and is
 * initialised from checkpoint `path`. Call dg_train_own_free also after an error. */
dg_err dg_train_own(const dg_options *o, const char *path, dg_options *own);
void dg_train_own_free(dg_options *own);
