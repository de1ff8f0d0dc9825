/* A trained classifier opened for use: `classify` and `eval`. */
#ifndef DG_LABELLER_H
#define DG_LABELLER_H

#include "host/checkpoint/checkpoint.h"
#include "host/net/job.h"
#include "host/infer/open.h"

typedef struct {
    dg_model model;
    dg_checkpoint_info info;
    dg_backend *backend;
    dg_job job;
    int classes;
    char **name; /* of the classes; within info */
} dg_labeller;

enum { DG_LABELLER_CHUNK = 64 }; /* images at a time */

/* Of the checkpoint `path`; d without a precision: the one that it was trained with. DG_USAGE: it is none of a
 * classifier. *out is freed with dg_labeller_close, after errors too. */
dg_err dg_labeller_open(const dg_device *d, const char *path, dg_labeller **out);
void dg_labeller_close(dg_labeller *l); /* may be NULL */

/* The share of each class, (n, classes), of n images of the model's size; hidden, unless NULL: what its last layer
 * reads, (n, dg_labeller_features), of a map the mean over its pixels. */
dg_err dg_labeller_shares(dg_labeller *l, const uint8_t *pixels, int n, double *p, double *hidden);
int dg_labeller_features(const dg_labeller *l);

#endif
