/* A zip file in the place of a folder. */
#ifndef DG_ZIP_H
#define DG_ZIP_H

#include <stdbool.h>

#include "core/base/err.h"

enum { DG_ZIP_PATH = 4096 };

/* Is this path a file that begins as a zip file does? */
bool dg_zip_inside(const char *path);

/* Unpack it into a new folder, of TMPDIR or /var/tmp, whose files have the times that the zip file says. Names that
 * lead out of it are left out with a warning. DG_DATA: no such file; DG_IO: no room; nothing is left then. */
dg_err dg_zip_unpack(const char *path, char folder[DG_ZIP_PATH]);
void dg_zip_remove(const char *folder);

#endif
