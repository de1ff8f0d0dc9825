/* The images' way to the device, and their order.
 *
 * Where the data set fits it lies there whole, and only an epoch's permutation is written. Where it does not, two
 * windows of it lie there: steps read one, while the other is filled with the images that the following steps will
 * read, in their order, for the permutations of all epochs are known in advance. The host gathers some of them into
 * pinned memory before each step, and their copy runs beside the steps. The ops are the same in both cases (the
 * permutation then names places in the windows), and so are the results, bit for bit. */
#ifndef DG_LOADER_H
#define DG_LOADER_H

#include "core/plan/backend.h"

/* What is loaded: records one behind the other, images and whatever each has besides. */
typedef struct {
    const uint8_t *data;
    size_t bytes; /* of one record */
    int count;
} dg_records;

typedef struct {
    dg_backend *b;
    dg_records records;
    int batch, used; /* records of a step, and those of an epoch that any step reads */
    int window;      /* records of a window, a multiple of batch; 0: the whole data set is there */
    uint64_t seed;
    void *data, *perm; /* on the device: records, and which of them each place of the epoch is */
    int32_t *order;    /* what was written there */

    bool begun;
    int side; /* the window that steps read */
    struct {
        uint64_t epoch;
        int first, end;  /* places of its epoch */
        int given;       /* records already on their way */
    } next;              /* what the other window is filled with */
    int end;             /* of the window that steps read */
    int32_t *next_order; /* the permutation of next.epoch */
    uint8_t *pinned[2];
} dg_loader;

/* Allocate on the device, and copy the data set there if window is 0. used: see above. */
dg_err dg_loader_open(dg_loader *f, dg_backend *b, dg_records records, int batch, int used, int window, uint64_t seed);
void dg_loader_close(dg_loader *f);

/* An epoch begins, or goes on at this place; then before each step, the first of the session included. */
dg_err dg_loader_epoch(dg_loader *f, uint64_t epoch, int place);
dg_err dg_loader_step(dg_loader *f, int place);

#endif
