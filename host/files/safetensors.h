/* safetensors files, the only format for weights: 8 bytes little-endian header length, JSON header, raw row-major data.
 * PyTorch and NumPy can read these files.
 *
 * Reading checks every rule of the header before it allocates memory for the data. Limits: header 1 MiB, 4096 tensors,
 * rank 8, names of 1 to 127 bytes without control characters or duplicates, exact sizes, no holes, overlaps or trailing
 * bytes. F16 and BF16 become F32; unknown keys of a tensor are ignored. Files of dcgan have a CRC-32 of every tensor
 * and of the header, which is checked if present; DG_ST_CHECKED refuses a file without CRC-32. */
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
    const void *data; /* reading: 8-aligned, NULL before dg_st_load(); writing: the caller's memory */
    size_t bytes;
} dg_st_tensor;

typedef struct {
    const char *key, *value;
} dg_st_meta;

typedef struct dg_st dg_st;

enum { DG_ST_CHECKED = 1 };

/* Read a file. Errors are DG_IO with file and reason. Free *out with dg_st_free. */
dg_err dg_st_read(const char *path, int flags, dg_st **out);
/* dg_st_read in two steps, so that a caller can check names and shapes in between: dg_st_open reads the header,
 * dg_st_load the data from the still open file. After an error of dg_st_load call only dg_st_free. */
dg_err dg_st_open(const char *path, int flags, dg_st **out);
dg_err dg_st_load(dg_st *st);
/* dg_st_read from memory, for fuzzing and tests. name: file name for messages; data is copied. */
dg_err dg_st_parse(const void *data, size_t bytes, const char *name, int flags, dg_st **out);
void dg_st_free(dg_st *st);

int dg_st_count(const dg_st *st);
const dg_st_tensor *dg_st_at(const dg_st *st, int i);
/* Find a tensor by its name or, in a file without checksums, by its plain name. NULL: none. */
const dg_st_tensor *dg_st_find(const dg_st *st, const char *name);
/* Returns the name of tensor i without the prefixes of PyTorch's wrappers (dg_st_plain_name()). */
const char *dg_st_plain(const dg_st *st, int i);
const char *dg_st_stored_type(const dg_st *st, int i); /* dtype in the file: "F16" */
const char *dg_st_get(const dg_st *st, const char *key);
int dg_st_meta_count(const dg_st *st);
dg_st_meta dg_st_meta_at(const dg_st *st, int i);

/* Write the file atomically (file_io.h). checked: add the checksums. */
dg_err dg_st_write(const char *path, const dg_st_tensor *tensor, int tensors, const dg_st_meta *meta, int metas,
                   bool checked);
/* Like dg_st_write, into directory dir; NULL: the path's directory. */
dg_err dg_st_write_in(const dg_directory *dir, const char *path, const dg_st_tensor *tensor, int tensors,
                      const dg_st_meta *meta, int metas, bool checked);

/* Metadata key of the header's CRC-32; the key of a tensor is "crc32.NAME". Values are eight lower-case hexadecimal
 * digits. The header's CRC covers the length field and the header, in which the digits of this CRC count as zeros. */
#define DG_ST_CRC "crc32"

extern const char *const dg_st_type_name[DG_TYPES];

#endif
