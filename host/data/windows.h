/* Reads the images of the coming windows of a dataset into pinned memory, ahead of training. A window is a buffer for
 * the images of some consecutive steps. Two windows are read in advance, by two threads. */
#pragma once

#include "core/plan/backend.h"
#include "host/data/images.h"

/* A record has the bytes of an image and, if `label` is not NULL, the image's label as an int32. If `data` is not NULL,
 * the records are stored there consecutively, and `images` and `label` are unused. */
typedef struct {
    dg_images images;
    const int32_t *label;
    const uint8_t *data;
    size_t bytes;
    int count;
} dg_training_records;

/* Copy record i to `to`. Several threads may read at the same time. */
dg_err dg_record_read(const dg_training_records *r, int i, uint8_t *to);

typedef struct {
    int batch;  /* images per step */
    int used;   /* images per epoch that steps read */
    int window; /* images per window, a multiple of the batch; 0 if the whole dataset is on the device */
    /* Each batch is divided into `shards` shards, of which this process computes `own`, from shard `first_shard` on.
     * Windows have only the images of these shards. */
    int shards, first_shard, own;
    uint64_t seed;
} dg_loader_options;

/* Returns the number of images of own shards in a window. */
int dg_window_images(const dg_loader_options *o);
/* The places of an epoch's batch that begins at `place`, whose images are of own shards. */
typedef struct {
    int from, n;
} dg_places;
dg_places dg_own_places(const dg_loader_options *o, int place);

typedef struct {
    uint64_t epoch;
    int end;    /* place of the epoch after its images */
    int images; /* images of own shards */
    uint8_t *pinned;
} dg_window;

typedef struct dg_windows dg_windows;
dg_err dg_windows_open(const dg_loader_options *o, const dg_training_records *records, dg_backend *b, dg_windows **out);
void dg_windows_close(dg_windows *w);

/* Start reading the window of an epoch that begins at place `first`, and the window after it. Call it once. */
void dg_windows_begin(dg_windows *w, uint64_t epoch, int first);
/* Returns the next window to copy to the device. */
const dg_window *dg_windows_next(const dg_windows *w);
/* Wait until the first n images of the next window are in its pinned memory. Returns the error of reading them. */
dg_err dg_windows_wait(dg_windows *w, int n);
/* Let the window after the next one become the next one. Call dg_windows_refill once the pinned memory of the previous
 * window has been copied: it then receives the images of a further window. */
void dg_windows_advance(dg_windows *w);
void dg_windows_refill(dg_windows *w);
/* Returns the seconds that dg_windows_wait waited. */
double dg_windows_waited(const dg_windows *w);
