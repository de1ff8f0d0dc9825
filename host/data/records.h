/* Files that hold many small images of one size, each perhaps with a label of a byte: IDX (MNIST) and CIFAR's .bin.
 * What is wrong with a file is DG_DATA, and the message begins with "byte N: "; whoever knows the file's name puts it
 * in front. */
#ifndef DG_RECORDS_H
#define DG_RECORDS_H

#include "host/data/dataset.h"

typedef struct {
    const uint8_t *pixels, *label; /* of the first image; label NULL: there are none */
    size_t stride, label_stride;   /* bytes from one to the next */
    int count, width, height;
    int channels; /* 3: the planes one after the other */
} dg_records;

/* gzipped data, which the caller allocated, is replaced by what is in it; other data stays. */
dg_err dg_idx_unpack(uint8_t **data, size_t *bytes);
/* How the data begins, gzipped or not: the number of dimensions of an IDX file of bytes, 0: it is none. */
int dg_idx_dimensions(const uint8_t *head, size_t bytes);
/* Bytes that a file which begins so may have at most: 64 MiB more than its header promises, for a message that names
 * the byte where it should end. DG_DATA: its header promises more than 8 GiB. */
dg_err dg_idx_limit(const uint8_t *head, size_t bytes, uint64_t *limit);
/* out points into data. Labels are those of images that were taken before. */
dg_err dg_idx_images(const uint8_t *data, size_t bytes, dg_records *out);
dg_err dg_idx_labels(const uint8_t *data, size_t bytes, dg_records *out);

/* CIFAR-10 has 10 classes and records of 3,073 bytes, CIFAR-100 has 100 and 3,074. */
size_t dg_cifar_record(int classes);
dg_err dg_cifar_records(const uint8_t *data, size_t bytes, int classes, dg_records *out);

/* Append n images as PART/NUMBER, number[i] being that of each; those of r count from `first`. label_of: the class of
 * each label, NULL: they are the same; there is room. */
dg_err dg_records_take(const dg_dataset_options *o, const dg_records *r, const char *part, const int *number, int n,
                       int first, const int *label_of, dg_dataset *out);

#endif
