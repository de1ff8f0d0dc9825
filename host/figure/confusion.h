/* Draws the confusion matrix and the most confident mistakes of a classifier. */
#pragma once

#include "host/figure/images.h"

/* Draw a matrix (classes, classes) of counts, with a row per true class and a column per predicted class. `names`
 * has one name per class. */
dg_err dg_confusion_draw(const long *count, int classes, char *const *names, const char *title, dg_image *out);

typedef struct {
    const uint8_t *pixels; /* (height, width, channels) */
    const char *is, *said;
    double share; /* confidence of the predicted class, 0 to 1 */
} dg_mistake;

dg_err dg_mistakes_draw(const dg_mistake *m, int n, dg_size size, int channels, const char *title, dg_image *out);
