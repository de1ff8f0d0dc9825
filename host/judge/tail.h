/* Tests whether training images have smaller errors than held-out images, as attacks on the membership in a training
 * set do: by the share of training images at a small share of held-out images (Carlini et al. 2022). A few memorised
 * images change this share much more than means or the rank statistic. */
#pragma once

typedef struct {
    double share;     /* share of training images with an error below that of `expected` of the held-out images */
    double low, high; /* 95% confidence interval of the share (Wilson) */
    double expected;  /* expected share if both sets have one distribution: about 5%, at least 1 / (m + 1) */
    double p;         /* probability of this share or a larger one if both sets have one distribution */
} dg_tail;

/* Compare the errors of n training images x with those of m held-out images y. n, m >= 1. */
void dg_tail_compare(const double *x, int n, const double *y, int m, dg_tail *out);
