/* `--batch auto`: found before a run begins, as `dcgan batch` finds it. */
#ifndef DG_TRAIN_BATCH_H
#define DG_TRAIN_BATCH_H

#include "host/run/train.h"

/* r has its backend and its pictures, and nothing else yet. r->o is with the number then, and so is r->config; both are
 * as they were where a number was given. */
dg_err dg_train_batch(dg_training *r, const dg_model *model);

#endif
