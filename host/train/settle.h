/* --batch auto, --epochs auto and --sample-every auto: their numbers, found before a run begins. */
#ifndef DG_TRAIN_SETTLE_H
#define DG_TRAIN_SETTLE_H

#include "host/train/train.h"

/* The device is open and the images are here. Where something was left open the numbers are told, r->o and r->config
 * have them, and r->found is used. */
dg_err dg_train_settle(dg_training *r, const dg_model *model);

#endif
