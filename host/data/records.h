/* Reads IDX (MNIST) and CIFAR .bin files, which store many images of equal size with 8-bit labels. An invalid file
 * is DG_DATA with a message that begins with "byte N: ". The caller prepends the file name. */
#pragma once

#include "host/data/dataset.h"

typedef struct {
    const uint8_t *pixels, *label; /* addresses of the first image and of the first label; label may be NULL */
    size_t stride, label_stride;   /* distance in bytes between consecutive images, and between consecutive labels */
    int count, width, height;
    int channels;     /* 3 channels are stored as consecutive planes, or else */
    bool interleaved; /* per pixel */
    dg_kind kind;
    bool turned; /* an image is stored column by column, as in EMNIST */
} dg_records;

/* Replace gzipped malloc'd data by the unpacked data. Other data stays unchanged. */
dg_err dg_idx_unpack(uint8_t **data, size_t *bytes);
/* Returns the number of dimensions in the header of an IDX file (gzipped or not), or 0 for another file. */
int dg_idx_dimensions(const uint8_t *head, size_t bytes);
/* limit: 64 MiB more than the IDX header declares, or 8 GiB if gzipped. DG_DATA: the header declares over 8 GiB. */
dg_err dg_idx_limit(const uint8_t *head, size_t bytes, uint64_t *limit);
/* Pointers in out refer to data. Call dg_idx_images first, because dg_idx_labels checks the number of labels. */
dg_err dg_idx_images(const uint8_t *data, size_t bytes, dg_records *out);
dg_err dg_idx_labels(const uint8_t *data, size_t bytes, dg_records *out);

/* The header of a NumPy array (.npy): numpy.lib.format, versions 1 to 3 */
enum { DG_NPY_RANK = 4 };
typedef struct {
    char type[8]; /* "|u1" */
    bool by_column;
    int rank;
    size_t dim[DG_NPY_RANK];
    size_t begin; /* offset of the values */
} dg_npy;
/* Read the header, which must be in the first `bytes` bytes. */
dg_err dg_npy_head(const uint8_t *data, size_t bytes, dg_npy *out);
/* Images: bytes of the shape (count, height, width), or (count, height, width, 1 or 3). Labels: integers 0 to 255 of
 * the shape (count), or (count, 1). Like dg_idx_images and dg_idx_labels. */
dg_err dg_npy_images(const uint8_t *data, size_t bytes, dg_records *out);
dg_err dg_npy_labels(const uint8_t *data, size_t bytes, dg_records *out);

/* An image with its label has 3,073 bytes in CIFAR-10 (10 classes), 3,074 bytes in CIFAR-100 (100 classes). */
size_t dg_cifar_record(int classes);
/* The files of the Python archive are pickles. Unpickling replaces the malloc'd data of a batch by the records of a
 * .bin file, and that of batches.meta or meta by the names of the classes, one per line. Other data stays unchanged. */
bool dg_cifar_pickled(const uint8_t *head, size_t bytes);
dg_err dg_cifar_unpickle(uint8_t **data, size_t *bytes);
dg_err dg_cifar_unpickle_names(uint8_t **data, size_t *bytes);
dg_err dg_cifar_records(const uint8_t *data, size_t bytes, int classes, dg_records *out);

/* Append n images of r, named PART/NUMBER, to the arrays of out. `number` has n indices in the training or test set,
 * in which r's first image has index `first`. `label_of` has the class index of each label, or is NULL if
 * labels are class indices. */
dg_err dg_records_take(const dg_dataset_options *o, const dg_records *r, const char *part, const int *number, int n,
                       int first, const int *label_of, dg_dataset *out);
