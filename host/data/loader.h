/* Copies the training images to the device in the order of training. If the dataset fits into device memory, it is
 * copied once, and each epoch copies only a permutation. For a larger dataset, device memory has two windows, which
 * are buffers for images. Steps read images from one window while the host fills the other window with images of
 * later steps. Before each step, the host gathers some images in pinned memory, which are copied to the device
 * during the step. */
#pragma once

#include "core/plan/backend.h"

/* A record has the bytes of an image and additional data, such as its label. Records are contiguous. */
typedef struct {
    const uint8_t *data;
    size_t bytes;
    int count;
} dg_records;

typedef struct {
    dg_backend *b;
    dg_records records;
    int batch, used; /* batch: images per step; used: images per epoch that steps read */
    int window;      /* images per window, a multiple of batch; 0 if the whole dataset is on the device */
    uint64_t seed;
    void *data, *perm; /* data: images on the device; perm: index of the image at each position of the epoch */
    int32_t *order;    /* host copy of perm */

    bool begun;
    int side;
    struct {
        uint64_t epoch;
        int first, end;
        int given;
    } next;
    int end;
    int32_t *next_order;
    uint8_t *pinned[2];
} dg_loader;

/* Allocate device memory. If window is 0, copy the whole dataset to the device. */
dg_err dg_loader_open(dg_loader *f, dg_backend *b, dg_records records, int batch, int used, int window, uint64_t seed);
void dg_loader_close(dg_loader *f);

/* Call dg_loader_epoch if an epoch starts or is resumed at position `place`. Call dg_loader_step before each step. */
dg_err dg_loader_epoch(dg_loader *f, uint64_t epoch, int place);
dg_err dg_loader_step(dg_loader *f, int place);
