/* Copies the images to the device in the order of training.
 *
 * If the dataset fits, the device stores all of it, and each epoch copies only a permutation. Otherwise the device has
 * two windows: steps read images from one window while the host fills the other window with images of later steps,
 * whose order is known in advance. Before each step the host gathers some images in pinned memory, and their copy runs
 * concurrently with the steps. Ops and results are identical with and without windows, bit for bit. */
#ifndef DG_LOADER_H
#define DG_LOADER_H

#include "core/plan/backend.h"

/* Contiguous records: an image and its additional data. */
typedef struct {
    const uint8_t *data;
    size_t bytes;
    int count;
} dg_records;

typedef struct {
    dg_backend *b;
    dg_records records;
    int batch, used; /* batch: records per step; used: records per epoch that steps read */
    int window;      /* records per window, a multiple of batch; 0: the dataset is on the device */
    uint64_t seed;
    void *data, *perm; /* on the device: records, and the index of the record for each position of the epoch */
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

/* Allocate device memory; with window 0, copy the dataset to the device. used: see dg_loader. */
dg_err dg_loader_open(dg_loader *f, dg_backend *b, dg_records records, int batch, int used, int window, uint64_t seed);
void dg_loader_close(dg_loader *f);

/* Call dg_loader_epoch when an epoch starts or resumes at position `place`, and dg_loader_step before each step. */
dg_err dg_loader_epoch(dg_loader *f, uint64_t epoch, int place);
dg_err dg_loader_step(dg_loader *f, int place);

#endif
