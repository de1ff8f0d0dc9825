/* safetensors files: 8 bytes little-endian header length, JSON header, raw row-major data. The one container
 * that we write weights in; PyTorch, NumPy and anything else can open it. Reading trusts nothing: every rule is
 * checked before anything is returned, of the header before memory is taken for the data (limits: header 1 MiB,
 * 4096 tensors, rank 8, names of 1 to 127 bytes without control characters, no holes, no overlaps, no trailing bytes,
 * sizes exact, no duplicate keys). F16 and BF16 become F32 while they are read; unknown keys of a tensor are ignored.
 * Files of our own carry a CRC-32 of every tensor and of the header itself; where they are present they are checked,
 * and DG_ST_CHECKED refuses a file without them. */
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
    const void *data; /* reading: 8-aligned, NULL before dg_st_load(); writing: the caller's */
    size_t bytes;
} dg_st_tensor;

typedef struct {
    const char *key, *value; /* UTF-8 */
} dg_st_meta;

typedef struct dg_st dg_st;

enum { DG_ST_CHECKED = 1 };

/* DG_IO with file and reason. *out is freed with dg_st_free. */
dg_err dg_st_read(const char *path, int flags, dg_st **out);
/* The same in two steps, so that names and shapes can be refused before the data are read: the header, and then, of the
 * file that is still open, the data. After an error of dg_st_load there is only dg_st_free. */
dg_err dg_st_open(const char *path, int flags, dg_st **out);
dg_err dg_st_load(dg_st *st);
/* The same from memory; name appears in messages; data is copied. (For fuzzing and tests.) */
dg_err dg_st_parse(const void *data, size_t bytes, const char *name, int flags, dg_st **out);
void dg_st_free(dg_st *st);

int dg_st_count(const dg_st *st);
const dg_st_tensor *dg_st_at(const dg_st *st, int i);
/* By its name, or in a file without checksums by its plain name; NULL: not there. */
const dg_st_tensor *dg_st_find(const dg_st *st, const char *name);
/* The name of tensor i without what wrappers of PyTorch put before it: see dg_st_plain_name(). */
const char *dg_st_plain(const dg_st *st, int i);
const char *dg_st_stored_type(const dg_st *st, int i);   /* as the file says it: "F16" */
const char *dg_st_get(const dg_st *st, const char *key); /* metadata value, NULL: not there */
int dg_st_meta_count(const dg_st *st);
dg_st_meta dg_st_meta_at(const dg_st *st, int i);

/* Write all of it or nothing: see file_io.h. checked adds the checksums. */
dg_err dg_st_write(const char *path, const dg_st_tensor *tensor, int tensors, const dg_st_meta *meta, int metas,
                   bool checked);
/* Into this directory (file_io.h); dir = NULL: the one that the path names. */
dg_err dg_st_write_in(const dg_directory *dir, const char *path, const dg_st_tensor *tensor, int tensors,
                      const dg_st_meta *meta, int metas, bool checked);

/* The metadata key of the header's own CRC-32; those of the tensors are "crc32.NAME". Each value is eight
 * lower-case hexadecimal digits. The header's covers the length field and the whole header with its own eight
 * digits as zeros. */
#define DG_ST_CRC "crc32"

extern const char *const dg_st_type_name[DG_TYPES];

#endif
