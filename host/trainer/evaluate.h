/* The test of a classifier behind an epoch: how it does on images that no step has seen, and what that leaves in the
 * run directory: confusion.csv and confusion.png, worst.png. */
#ifndef DG_EVALUATE_H
#define DG_EVALUATE_H

#include "host/data/dataset.h"
#include "host/net/job.h"
#include "host/rundir/rundir.h"

typedef struct {
    int classes, n;
    double loss, accuracy; /* mean cross entropy of labels that are not smoothed; share of right ones */
    long *is, *right;      /* (classes): images of each class, and those of them that were taken for it */
    long *confusion;       /* (classes, classes): row what it is, column what was said; NULL: too many classes */
    int *said;             /* class of each image */
    double *share;         /* of that class */
} dg_evaluation;

/* With more classes than this nobody looks at who is taken for whom, and the matrix of 16,384 has 2 GB. */
enum { DG_CONFUSED_CLASSES = 1024 };

/* n records through plan "test"; of equal shares the first class is said. DG_DEVICE: out of memory. */
dg_err dg_evaluate(dg_job *job, const uint8_t *records, const int32_t *label, int n, dg_evaluation *out);
void dg_evaluation_free(dg_evaluation *v);

/* Write the three files; of too many classes confusion.csv has the accuracy of each alone, and there is no
 * confusion.png. d: the images that were tested, from number d->train on. */
dg_err dg_evaluation_write(const dg_evaluation *v, const dg_dataset *d, const dg_rundir *dir, uint64_t epoch);

/* Remove them where they are of an epoch behind this one. */
void dg_evaluation_cut(const dg_rundir *dir, uint64_t epoch);

#endif
