/* A trained classifier for the commands `classify` and `eval`. */
#pragma once

#include "host/checkpoint/checkpoint.h"
#include "host/net/job.h"
#include "host/infer/open.h"

typedef struct {
    dg_model model;
    dg_checkpoint_info info;
    dg_backend *backend;
    dg_job job;
    int classes;
    char **name;
} dg_labeller;

enum { DG_LABELLER_CHUNK = 64 }; /* images per batch */

/* Open a classifier, with the training precision unless d->precision is set. Close *out even after an error. */
dg_err dg_labeller_open(const dg_device *d, const char *path, dg_labeller **out);
void dg_labeller_close(dg_labeller *l);

/* Classify n images of the model's size. `p` (n, classes) becomes the confidence of each class. `hidden` (n,
 * dg_labeller_features) becomes the inputs of the last layer, averaged over the pixels of each feature map. The
 * pointer `hidden` may be NULL. */
dg_err dg_labeller_shares(dg_labeller *l, const uint8_t *pixels, int n, double *p, double *hidden);
int dg_labeller_features(const dg_labeller *l);
