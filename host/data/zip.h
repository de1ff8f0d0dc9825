/* Reads a dataset from a zip file instead of a folder, unpacking it in memory only. */
#ifndef DG_ZIP_H
#define DG_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

typedef struct dg_zip dg_zip;

/* A file in a zip file, whose name has no empty components and no "..". */
typedef struct {
    char *name;
    uint64_t index, bytes; /* index in the zip file; unpacked size by the zip's directory */
    int64_t seconds;
} dg_zip_file;

/* True if path is a file with the magic number of a zip file; false also after errors. */
bool dg_zip_inside(const char *path);
/* Like dg_zip_inside; DG_IO, DG_DEVICE: path cannot be read. */
dg_err dg_zip_look(const char *path, bool *zip);

/* Open the file and check its directory against the limits of SECURITY.md. Duplicate names, and names outside the root,
 * are left out with a warning. DG_DATA: damaged or over a limit; DG_IO: cannot be read; DG_DEVICE: no memory. */
dg_err dg_zip_open(const char *path, dg_zip **out);
void dg_zip_close(dg_zip *z);

const dg_zip_file *dg_zip_files(const dg_zip *z, long *n);
const dg_zip_file *dg_zip_find(const dg_zip *z, const char *name);
bool dg_zip_has_folder(const dg_zip *z, const char *name);

/* Read the file's first n bytes into `to`. If n is the file's size, compare the checksum. Thread-safe. DG_DATA: damaged
 * or not supported; DG_IO: *error is the errno, or -1 if the zip became shorter; DG_DEVICE: no memory. */
dg_err dg_zip_read(dg_zip *z, const dg_zip_file *file, uint8_t *to, size_t n, int *error);

#endif
