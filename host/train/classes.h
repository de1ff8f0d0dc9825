/* Fits a classifier to the classes of the dataset. */
#ifndef DG_TRAIN_CLASSES_H
#define DG_TRAIN_CLASSES_H

#include "host/options/options.h"
#include "host/net/model.h"

/* If `may` is set, replace a built-in classifier by its variant NAME-Nclasses for a dataset of N classes. Returns
 * DG_DATA if the numbers of classes of model and dataset still differ. */
dg_err dg_follow_classes(const dg_options *o, const dg_dataset *d, bool may, dg_model *model);

#endif
