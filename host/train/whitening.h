/* The whitening of a run's images. */
#pragma once

#include "host/train/train.h"

/* Compute r->input.whitening from the training images, unless a checkpoint has set it or the model needs none. Stops on
 * a signal. */
dg_err dg_train_whitening(dg_training *r, const dg_model *model);
