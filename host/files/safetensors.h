/* Reads and writes safetensors files, which PyTorch and NumPy can also read. A file has a length field (8 bytes,
 * little-endian), a JSON header of this length, and raw row-major data. The header is checked before memory for the
 * data is allocated. Limits: header 1 MiB, 4096 tensors, rank 8. Names must be unique, with 1 to 127 bytes and
 * without control characters. The data must have no holes, overlaps or trailing bytes. F16 and BF16 become F32.
 * Unknown keys of a tensor are ignored. Files written by dcgan have a CRC-32 of the header and of each tensor. A
 * CRC-32 in a file is always checked. With the flag DG_ST_CHECKED, a file without CRC-32 is an error. */
#pragma once

#include <stdbool.h>
#include "core/base/file_io.h"
#include "core/base/err.h"
#include "core/base/tensor.h"

typedef struct {
    char name[128];
    dg_type type;
    int rank;
    int64_t dim[8];
    const void *data; /* 8-byte aligned after dg_st_load(), NULL before; in dg_st_write(): owned by the caller */
    size_t bytes;
} dg_st_tensor;

typedef struct {
    const char *key, *value;
} dg_st_meta;

typedef struct dg_st dg_st;

enum { DG_ST_CHECKED = 1 };

/* Read a file. Returns DG_IO for an unreadable or invalid file. Free *out with dg_st_free. */
dg_err dg_st_read(const char *path, int flags, dg_st **out);
/* dg_st_open reads the header and keeps the file open. The function dg_st_load reads the data. Before dg_st_load,
 * the caller can check names and shapes. After an error of dg_st_load, call only dg_st_free. */
dg_err dg_st_open(const char *path, int flags, dg_st **out);
dg_err dg_st_load(dg_st *st);
/* Like dg_st_read, but copies the data from memory, for fuzzing and tests. `name` is the file name for messages. */
dg_err dg_st_parse(const void *data, size_t bytes, const char *name, int flags, dg_st **out);
void dg_st_free(dg_st *st);

int dg_st_count(const dg_st *st);
const dg_st_tensor *dg_st_at(const dg_st *st, int i);
/* Find a tensor by name. In a file without checksums, names without PyTorch's prefixes are found, too. Returns NULL
 * if not found. */
const dg_st_tensor *dg_st_find(const dg_st *st, const char *name);
/* Returns the name of tensor i without prefixes of PyTorch's wrappers such as DataParallel (dg_st_plain_name()). */
const char *dg_st_plain(const dg_st *st, int i);
const char *dg_st_stored_type(const dg_st *st, int i); /* dtype in the file, such as "F16" */
const char *dg_st_get(const dg_st *st, const char *key);
int dg_st_meta_count(const dg_st *st);
dg_st_meta dg_st_meta_at(const dg_st *st, int i);

/* Write a file atomically, with checksums if `checked` is true. */
dg_err dg_st_write(const char *path, const dg_st_tensor *tensor, int tensors, const dg_st_meta *meta, int metas,
                   bool checked);
/* Like dg_st_write, but into directory dir if dir is not NULL. */
dg_err dg_st_write_in(const dg_directory *dir, const char *path, const dg_st_tensor *tensor, int tensors,
                      const dg_st_meta *meta, int metas, bool checked);

/* Metadata key of the header's CRC-32. The key for the CRC-32 of a tensor is "crc32.NAME". A CRC-32 is stored as
 * eight hexadecimal digits in lower case. The header's CRC-32 covers the length field and the header. The digits of
 * the header's CRC-32 count as "00000000". */
#define DG_ST_CRC "crc32"

extern const char *const dg_st_type_name[DG_TYPES];
