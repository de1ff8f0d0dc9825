/* Datasets that consist of IDX or CIFAR files or NumPy arrays, which store many images per file. */
#pragma once

#include "host/data/dataset_internal.h"
#include "host/data/records.h"

enum { DG_RECORD_FILES = 64 }; /* max number of IDX or CIFAR files in a folder */

typedef enum { DG_PART_TRAIN, DG_PART_TEST, DG_PARTS } dg_part;

typedef struct {
    char *name;
    bool labels;
    dg_part part;
    uint8_t *data;
    size_t bytes;
    dg_records records;
} dg_record_file;

typedef struct {
    const dg_folder *folder;
    int files;
    dg_record_file file[DG_RECORD_FILES];
} dg_record_files;

dg_err dg_record_file_read(const dg_dataset_options *o, const dg_folder *folder, size_t limit, dg_record_file *f);
dg_err dg_record_file_wrong(const dg_dataset_options *o, const dg_record_file *f, dg_err e);
bool dg_test_wanted(const dg_dataset_options *o);
dg_err dg_records_into(const dg_dataset_options *o, const dg_record_files *f, const int *label_of, dg_dataset *d);

/* The file with the images or labels of a part, or NULL */
dg_record_file *dg_record_find(dg_record_files *f, dg_part part, bool labels);
/* Like dg_records_into, with a class for each label of the training images. */
dg_err dg_records_labelled(const dg_dataset_options *o, dg_record_files *f, dg_dataset *out);

bool dg_npz_named(const char *name);
dg_err dg_npz_read(const dg_dataset_options *o, dg_record_files *f, dg_dataset *out);
bool dg_idx_named(const char *name);
dg_err dg_idx_read(const dg_dataset_options *o, dg_record_files *f, dg_dataset *out);
bool dg_cifar_named(const char *name);
/* True for a batch of the Python archive; its contents must be a pickle. */
bool dg_cifar_batch_named(const char *name);
dg_err dg_cifar_read(const dg_dataset_options *o, dg_record_files *f, dg_dataset *out);
