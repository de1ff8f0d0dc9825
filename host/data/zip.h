/* A zip file in the place of a folder, read in memory: nothing is unpacked to a disk. */
#ifndef DG_ZIP_H
#define DG_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

typedef struct dg_zip dg_zip;

/* One file of it. The name has no empty components and stays inside. */
typedef struct {
    char *name;
    uint64_t index, bytes; /* its number in the zip file; its size, as the zip file says */
    int64_t seconds;       /* time of last change */
} dg_zip_file;

/* Is this path a file that begins as a zip file does? */
bool dg_zip_inside(const char *path);
/* The same. DG_IO, DG_DEVICE: it cannot be read. */
dg_err dg_zip_look(const char *path, bool *zip);

/* Open it and check its directory against the limits of SECURITY.md. Names that lead out of it or that another file has
 * are left out with a warning. DG_DATA: damaged or over a limit; DG_IO: cannot be read; DG_DEVICE: no memory. */
dg_err dg_zip_open(const char *path, dg_zip **out);
void dg_zip_close(dg_zip *z); /* NULL is closed */

/* Its files in bytewise order of names. */
const dg_zip_file *dg_zip_files(const dg_zip *z, long *n);
const dg_zip_file *dg_zip_find(const dg_zip *z, const char *name); /* NULL: there is none */
bool dg_zip_has_folder(const dg_zip *z, const char *name);

/* The first n bytes of the file into `to`, which are checked against its checksum when they are all of it. Safe to call
 * by several threads. DG_DATA: damaged or not supported; DG_IO: *error is the errno, -1 when the zip file became
 * shorter; DG_DEVICE: no memory. */
dg_err dg_zip_read(dg_zip *z, const dg_zip_file *file, uint8_t *to, size_t n, int *error);

#endif
