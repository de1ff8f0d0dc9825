/* Properties of a dataset that affect training, such as duplicate and small images. */
#pragma once

#include "host/data/dataset.h"

typedef struct {
    uint64_t hash;
    int index;
    int group; /* index of the first image with equal pixels, which have equal hashes */
} dg_twin;

typedef struct {
    int grey;
    int did[DG_DIDS];   /* number of images that decoding changed, per kind of change */
    int small, side;    /* small: number of images below the network's size; side: median of their shorter sides */
    int copies, groups; /* copies: images that duplicate an earlier image; groups: groups of duplicates */
    dg_twin *twin;
} dg_looks;

/* The images have hashes, as after dg_dataset_read. */
dg_err dg_looks_at(const dg_dataset *d, dg_looks *out);
void dg_looks_free(dg_looks *l);

/* Write sentences about notable properties, such as advice to the user. Returns the number of sentences. */
enum { DG_ADVICE = 5, DG_ADVICE_BYTES = 256 };
int dg_looks_advice(const dg_looks *l, const dg_dataset *d, const dg_dataset_options *o,
                    char out[DG_ADVICE][DG_ADVICE_BYTES]);
