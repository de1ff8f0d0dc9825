/* Reads and writes safetensors files, which PyTorch and NumPy can also read: 8 bytes little-endian header length, JSON
 * header, raw row-major data. The header is checked before memory for the data is allocated. Limits: header 1 MiB, 4096
 * tensors, rank 8, unique names of 1 to 127 bytes without control characters; data without holes, overlaps or trailing
 * bytes. F16 and BF16 become F32; unknown keys of a tensor are ignored. Files written by dcgan have a CRC-32 of each
 * tensor and of the header. Each CRC-32 is checked; the flag DG_ST_CHECKED refuses a file without CRC-32. */
#ifndef DG_SAFETENSORS_H
#define DG_SAFETENSORS_H

#include <stdbool.h>
#include "core/base/file_io.h"
#include "core/base/err.h"
#include "core/base/tensor.h"

typedef struct {
    char name[128];
    dg_type type;
    int rank;
    int64_t dim[8];
    const void *data; /* of a dg_st: NULL until dg_st_load(), then 8-byte aligned; in dg_st_write(): the caller's */
    size_t bytes;
} dg_st_tensor;

typedef struct {
    const char *key, *value;
} dg_st_meta;

typedef struct dg_st dg_st;

enum { DG_ST_CHECKED = 1 };

/* Read a file. DG_IO: unreadable or invalid file. Free *out with dg_st_free. */
dg_err dg_st_read(const char *path, int flags, dg_st **out);
/* dg_st_open reads the header and keeps the file open; dg_st_load reads the data. Between the calls, the caller can
 * check names and shapes. After an error of dg_st_load call only dg_st_free. */
dg_err dg_st_open(const char *path, int flags, dg_st **out);
dg_err dg_st_load(dg_st *st);
/* Like dg_st_read, but reads from memory, for fuzzing and tests. name: file name for messages; data is copied. */
dg_err dg_st_parse(const void *data, size_t bytes, const char *name, int flags, dg_st **out);
void dg_st_free(dg_st *st);

int dg_st_count(const dg_st *st);
const dg_st_tensor *dg_st_at(const dg_st *st, int i);
/* Find a tensor by name or, in a file without checksums, by its name without PyTorch's prefixes. NULL: not found. */
const dg_st_tensor *dg_st_find(const dg_st *st, const char *name);
/* Returns the name of tensor i without prefixes of PyTorch's wrappers such as DataParallel (dg_st_plain_name()). */
const char *dg_st_plain(const dg_st *st, int i);
const char *dg_st_stored_type(const dg_st *st, int i); /* dtype in the file, such as "F16" */
const char *dg_st_get(const dg_st *st, const char *key);
int dg_st_meta_count(const dg_st *st);
dg_st_meta dg_st_meta_at(const dg_st *st, int i);

/* Write a file atomically. checked: add checksums. */
dg_err dg_st_write(const char *path, const dg_st_tensor *tensor, int tensors, const dg_st_meta *meta, int metas,
                   bool checked);
/* Like dg_st_write, but into directory dir if dir is not NULL. */
dg_err dg_st_write_in(const dg_directory *dir, const char *path, const dg_st_tensor *tensor, int tensors,
                      const dg_st_meta *meta, int metas, bool checked);

/* Metadata key of the header's CRC-32; the key for the CRC-32 of a tensor is "crc32.NAME". A CRC-32 is eight lower-case
 * hexadecimal digits. The header's CRC-32 covers the length field and the header, with "00000000" for its digits. */
#define DG_ST_CRC "crc32"

extern const char *const dg_st_type_name[DG_TYPES];

#endif
