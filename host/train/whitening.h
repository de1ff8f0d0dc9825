/* What whitens the images of a run. */
#ifndef DG_TRAIN_WHITENING_H
#define DG_TRAIN_WHITENING_H

#include "host/train/train.h"

/* Sets r->input.whitening where the model asks for it: by the images for training, unless a checkpoint has had it. It
 * shows how far it is, and ends when the run is to stop. */
dg_err dg_train_whitening(dg_training *r, const dg_model *model);

#endif
