/* Adapts a classifier to the number of classes of the dataset. */
#pragma once

#include "host/options/options.h"
#include "host/net/model.h"

/* If `may` is set, replace a built-in classifier by its variant NAME-Nclasses for N classes. Returns DG_DATA if model
 * and dataset still have different numbers of classes. */
dg_err dg_follow_classes(const dg_options *o, const dg_dataset *d, bool may, dg_model *model);
