/* The sources of a data set that are files of records. */
#ifndef DG_RECORDS_INTERNAL_H
#define DG_RECORDS_INTERNAL_H

#include "host/data/dataset_internal.h"
#include "host/data/records.h"

enum { DG_RECORD_FILES = 64 }; /* a folder with more files than that is one of images */

typedef enum { DG_PART_TRAIN, DG_PART_TEST, DG_PARTS } dg_part;

/* A file of the folder that may be one of records. */
typedef struct {
    char *name;
    bool labels; /* IDX: it has labels, not images */
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

/* Read the file whole, at most `limit` bytes; error messages have its path in front. */
dg_err dg_record_file_read(const dg_dataset_options *o, const dg_folder *folder, size_t limit, dg_record_file *f);
/* "DIR/NAME: " in front of the message. */
dg_err dg_record_file_wrong(const dg_dataset_options *o, const dg_record_file *f, dg_err e);
/* Are the images of the test part of any use? */
bool dg_test_wanted(const dg_dataset_options *o);
/* Room for what these files have of each part that is wanted; then all their images. d->train, usable and aside. */
dg_err dg_records_into(const dg_dataset_options *o, const dg_record_files *f, const int *label_of, dg_dataset *d);

bool dg_idx_named(const char *name);
dg_err dg_idx_read(const dg_dataset_options *o, dg_record_files *f, dg_dataset *out);
bool dg_cifar_named(const char *name);
dg_err dg_cifar_read(const dg_dataset_options *o, dg_record_files *f, dg_dataset *out);

#endif
