/* Files with many small images of one size, and 8-bit labels: IDX (MNIST) and CIFAR .bin. For an invalid file, returns
 * DG_DATA with a message that begins with "byte N: "; the caller prepends the file name. */
#ifndef DG_RECORDS_H
#define DG_RECORDS_H

#include "host/data/dataset.h"

typedef struct {
    const uint8_t *pixels, *label; /* addresses of the first image and the first label; label NULL: no labels */
    size_t stride, label_stride;   /* bytes from one image to the next, and from one label to the next */
    int count, width, height;
    int channels; /* 3: consecutive planes */
} dg_records;

/* Replace gzipped data, which the caller allocated, by its contents; leave other data unchanged. */
dg_err dg_idx_unpack(uint8_t **data, size_t *bytes);
/* Returns the number of dimensions in the header of an IDX file of bytes (gzipped or not), or 0 for another file. */
int dg_idx_dimensions(const uint8_t *head, size_t bytes);
/* Get the size limit of an IDX file: 64 MiB more than its header declares, so that a message can name the byte where
 * the file should end. DG_DATA: the header declares more than 8 GiB. */
dg_err dg_idx_limit(const uint8_t *head, size_t bytes, uint64_t *limit);
/* out points into data. Call dg_idx_images first; dg_idx_labels compares the number of labels with out->count. */
dg_err dg_idx_images(const uint8_t *data, size_t bytes, dg_records *out);
dg_err dg_idx_labels(const uint8_t *data, size_t bytes, dg_records *out);

/* CIFAR-10: 10 classes, records of 3,073 bytes; CIFAR-100: 100 classes, 3,074 bytes. */
size_t dg_cifar_record(int classes);
dg_err dg_cifar_records(const uint8_t *data, size_t bytes, int classes, dg_records *out);

/* Append n images of r, named PART/NUMBER, to out. number: the images' numbers in the part; `first`: number of r's
 * first image. label_of: class of each label; NULL: the class is the label. The arrays of out have enough room. */
dg_err dg_records_take(const dg_dataset_options *o, const dg_records *r, const char *part, const int *number, int n,
                       int first, const int *label_of, dg_dataset *out);

#endif
