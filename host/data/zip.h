/* Reads files of a dataset from a zip file, and unpacks them in memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

typedef struct dg_zip dg_zip;

/* The path of a file in a zip file has no empty components and no "..". */
typedef struct {
    char *name;
    uint64_t index, bytes; /* index in the zip file; unpacked size in the central directory */
    int64_t seconds;
} dg_zip_file;

/* True if the file at path has the magic number of zip files. False after errors. */
bool dg_zip_inside(const char *path);
/* Like dg_zip_inside, but returns DG_IO or DG_DEVICE if path cannot be read. */
dg_err dg_zip_look(const char *path, bool *zip);

/* Open a zip file and check its central directory against the limits of SECURITY.md. Files with duplicate paths, or
 * with paths outside the root, are left out with a warning. Returns DG_DATA if the zip file is damaged or exceeds a
 * limit. */
dg_err dg_zip_open(const char *path, dg_zip **out);
void dg_zip_close(dg_zip *z);

const dg_zip_file *dg_zip_files(const dg_zip *z, long *n);
const dg_zip_file *dg_zip_find(const dg_zip *z, const char *name);
/* The letter case of `name` is ignored. */
bool dg_zip_has_folder(const dg_zip *z, const char *name);

/* Read the first n bytes of `file` into `to`. Thread-safe. If n is the size of `file`, also check the checksum.
 * DG_DATA: damaged file. DG_DEVICE: no memory. After DG_IO, *error is the errno, or -1 if the zip file became
 * shorter. */
dg_err dg_zip_read(dg_zip *z, const dg_zip_file *file, uint8_t *to, size_t n, int *error);
