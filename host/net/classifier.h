/* The recipe of a classifier: one network C, which makes a logit for each class from an image. A step is: gather B
 * images and their labels, forward, cross entropy of softmax, backward, the optimiser. A test is a pass forward in
 * evaluation mode over images that no step has seen. */
#ifndef DG_CLASSIFIER_H
#define DG_CLASSIFIER_H

#include "host/net/recipe.h"

/* What a step leaves, and what the test behind an epoch adds to its last one. */
enum {
    DG_CLASS_LOSS,  /* mean cross entropy */
    DG_CLASS_RIGHT, /* share of images whose largest logit is that of their label */
    DG_CLASS_BAD,   /* how many weights are not finite after the update */
    DG_CLASS_TEST_LOSS,
    DG_CLASS_TEST_RIGHT
};

extern const dg_recipe dg_classifier_recipe;

/* How many classes its last layer tells apart. */
int dg_classifier_classes(const dg_model *m);

#endif
