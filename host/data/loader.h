/* Copies the training images to the device in the order of training. If the dataset fits into device memory, it is
 * copied once, and each epoch copies only a permutation. For a larger dataset, device memory has two windows. Steps
 * read images from one window while images of later steps are copied to the other one. */
#pragma once

#include "host/data/windows.h"

typedef struct {
    dg_backend *b;
    dg_training_records records;
    dg_loader_options o;
    void *data, *perm; /* data: images on the device; perm: index of the image at each place of the epoch */
    int32_t *order;    /* host copy of perm */

    dg_windows *windows; /* windows that are read in advance, or NULL without windows */
    bool begun;
    bool copying; /* the pinned memory of the last window may still be read by a copy */
    int side;     /* window on the device that steps read */
    int end;      /* place of the epoch at which this window ends */
    int given;    /* images of the next window that were copied to the device */
} dg_loader;

/* Allocate device memory. If o->window is 0, copy the whole dataset to the device. Call dg_loader_close also after
 * errors. */
dg_err dg_loader_open(dg_loader *f, dg_backend *b, const dg_training_records *records, const dg_loader_options *o);
void dg_loader_close(dg_loader *f);

/* Call dg_loader_epoch if an epoch starts or is resumed at position `place`. Call dg_loader_step before each launch of
 * n steps, where n is at most dg_loader_steps. */
dg_err dg_loader_epoch(dg_loader *f, uint64_t epoch, int place);
dg_err dg_loader_step(dg_loader *f, int place, int n);
/* Returns the max number of steps of one launch from `place` on: the full batches that are left of the window and of
 * the epoch, or 1 for the short last batch. */
int dg_loader_steps(const dg_loader *f, int place);
