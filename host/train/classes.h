/* Adapts a model to the number of classes of the dataset. */
#pragma once

#include "host/options/options.h"
#include "host/net/model.h"

/* If `may` is set, replace a built-in classifier by its variant NAME-Nclasses for N classes. Returns DG_DATA if model
 * and dataset still have different numbers of classes.
 * With --conditional and `may`, replace a GAN by its variant NAME-Nclasses. Returns DG_DATA if the dataset has no
 * classes, or classes with few images without --force. A dataset of a single class causes a warning. */
dg_err dg_follow_classes(const dg_options *o, const dg_dataset *d, bool may, dg_model *model);

/* Make a GAN conditional. Its name gets the suffix -Nclasses. */
dg_err dg_add_classes(dg_model *model, int classes);

/* Count the training images of each class. `out` (d->classes) is malloc'd. */
dg_err dg_class_images(const dg_dataset *d, int **out);

/* True if the labels of the dataset are read for this model. */
bool dg_needs_labels(const dg_options *o, const dg_model *model);
