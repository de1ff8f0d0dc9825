/* What whitens the pictures of a run. */
#ifndef DG_TRAIN_WHITENING_H
#define DG_TRAIN_WHITENING_H

#include "host/run/train.h"

/* Sets r->input.whitening by the pictures for training where the model asks for it and no checkpoint has had it. */
dg_err dg_train_whitening(dg_training *r, const dg_model *model);

#endif
