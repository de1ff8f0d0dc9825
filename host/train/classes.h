/* The classes of a classifier follow the dataset. */
#ifndef DG_TRAIN_CLASSES_H
#define DG_TRAIN_CLASSES_H

#include "host/options/options.h"
#include "host/net/model.h"

/* A built-in classifier with another number of classes than the dataset becomes that of the same name with -Nclasses at
 * its end, if it may. DG_DATA: the classes of the dataset are not those of the model. */
dg_err dg_follow_classes(const dg_options *o, const dg_dataset *d, bool may, dg_model *model);

#endif
