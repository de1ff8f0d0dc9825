/* Tests a classifier on held-out images; writes confusion.csv, confusion.png and worst.png. */
#pragma once

#include "host/data/dataset.h"
#include "host/net/job.h"
#include "host/rundir/rundir.h"

typedef struct {
    int classes, n;
    double loss, accuracy; /* loss: mean cross entropy without label smoothing */
    long *is, *right;      /* per class: number of images, number of correct predictions */
    long *confusion;       /* counts (label, prediction), or NULL for too many classes */
    int *said;
    double *share;
} dg_evaluation;

/* max classes of a confusion matrix; with 16,384 classes, it would need 2 GB */
enum { DG_CONFUSED_CLASSES = 1024 };

/* Run plan "test" on n records, from record `first` on, with these labels. If logits are equal, the lower class is
 * predicted. Returns DG_DEVICE if out of memory. */
dg_err dg_evaluate(dg_job *job, const dg_training_records *r, int first, const int32_t *label, int n,
                   dg_evaluation *out);
void dg_evaluation_free(dg_evaluation *v);

/* Write confusion.csv, confusion.png and worst.png. With too many classes, confusion.csv has only accuracies and
 * confusion.png is omitted. The tested images of d start at index d->train. */
dg_err dg_evaluation_write(const dg_evaluation *v, const dg_dataset *d, const dg_rundir *dir, uint64_t epoch);

/* Remove the files of dg_evaluation_write if they belong to an epoch after `epoch`. */
void dg_evaluation_cut(const dg_rundir *dir, uint64_t epoch);
