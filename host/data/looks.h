/* What images are like, as far as it matters to whoever trains on them. */
#ifndef DG_LOOKS_H
#define DG_LOOKS_H

#include "host/data/dataset.h"

/* An image among those with the same pixels. */
typedef struct {
    uint64_t hash;
    int index;
    int group; /* index of the first of them */
} dg_twin;

typedef struct {
    int grey;           /* images without colour */
    int did[DG_DIDS];   /* images to which decoding did this */
    int small, side;    /* with a side shorter than the network's; the median of their shorter sides */
    int copies, groups; /* images that have a twin earlier in order; groups of equal images */
    dg_twin *twin;      /* of each image, sorted by group, then index */
} dg_looks;

/* DG_DEVICE: no memory. */
dg_err dg_looks_at(const dg_dataset *d, int threads, dg_looks *out);
void dg_looks_free(dg_looks *l);

/* What was done about that, or can be: a sentence each. Returns how many there are. */
enum { DG_ADVICE = 4, DG_ADVICE_BYTES = 256 };
int dg_looks_advice(const dg_looks *l, const dg_dataset *d, const dg_dataset_options *o,
                    char out[DG_ADVICE][DG_ADVICE_BYTES]);

#endif
