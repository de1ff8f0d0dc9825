/* Computes automatic values of --batch, --epochs, --sample-every and --schedule-length before a run. */
#pragma once

#include "host/train/train.h"

/* Print the automatic values and store them in r->found, r->o and r->config. Requires the device and the dataset. */
dg_err dg_train_settle(dg_training *r, const dg_model *model);
