/* What a test of a classifier looks like: which classes it takes for which, and the images that it is surest of and
 * wrong about. */
#ifndef DG_CONFUSION_H
#define DG_CONFUSION_H

#include "host/figure/images.h"

/* An image of a matrix (classes, classes): row true class, column what was said, darker where more of the row's
 * images are; with the shares in percent where there is room. names: one a class. */
dg_err dg_confusion_draw(const long *count, int classes, char *const *names, const char *title, dg_image *out);

typedef struct {
    const uint8_t *pixels; /* (size, size, channels) */
    const char *is, *said; /* names of classes */
    double share;          /* that the class which was said has, from 0 to 1 */
} dg_mistake;

/* n mistakes, some in a row, each under what it is and what was said. n may be 0. */
dg_err dg_mistakes_draw(const dg_mistake *m, int n, int size, int channels, const char *title, dg_image *out);

#endif
