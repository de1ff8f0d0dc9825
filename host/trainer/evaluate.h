/* The test of a classifier: metrics over held-out images, and the files confusion.csv, confusion.png and worst.png. */
#ifndef DG_EVALUATE_H
#define DG_EVALUATE_H

#include "host/data/dataset.h"
#include "host/net/job.h"
#include "host/rundir/rundir.h"

typedef struct {
    int classes, n;
    double loss, accuracy; /* mean cross entropy without label smoothing; accuracy */
    long *is, *right;      /* (classes): images, correct predictions */
    long *confusion;       /* (classes, classes): row: label, column: prediction; NULL: too many classes */
    int *said;
    double *share;
} dg_evaluation;

/* Max classes of the matrix: 16,384 classes would need 2 GB. */
enum { DG_CONFUSED_CLASSES = 1024 };

/* Run plan "test" on n records; ties predict the lower class. DG_DEVICE: out of memory. */
dg_err dg_evaluate(dg_job *job, const uint8_t *records, const int32_t *label, int n, dg_evaluation *out);
void dg_evaluation_free(dg_evaluation *v);

/* Write confusion.csv, confusion.png and worst.png. With too many classes, confusion.csv has only accuracies, and
 * confusion.png is omitted. The tested images of d start at index d->train. */
dg_err dg_evaluation_write(const dg_evaluation *v, const dg_dataset *d, const dg_rundir *dir, uint64_t epoch);

/* Remove the test's files if they belong to an epoch after `epoch`. */
void dg_evaluation_cut(const dg_rundir *dir, uint64_t epoch);

#endif
