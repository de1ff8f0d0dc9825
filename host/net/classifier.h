/* The recipe of a classifier: one network C, which computes one logit per class. The loss is softmax cross entropy.
 * Plan "test" is a forward pass in evaluation mode over held-out images. */
#pragma once

#include "host/net/recipe.h"

/* Indices into dg_metrics. The last two metrics come from the test on held-out images after an epoch. */
enum {
    DG_CLASS_LOSS,
    DG_CLASS_RIGHT,
    DG_CLASS_BAD, /* number of non-finite weights after the update */
    DG_CLASS_TEST_LOSS,
    DG_CLASS_TEST_RIGHT
};

extern const dg_recipe dg_classifier_recipe;

int dg_classifier_classes(const dg_model *m);
