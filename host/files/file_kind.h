/* Kind of a file by its first bytes, for error messages. */
#ifndef DG_FILE_KIND_H
#define DG_FILE_KIND_H

#include <stddef.h>
#include "core/base/err.h"

/* Returns the kind, such as "a PNG image"; NULL: unknown. */
const char *dg_file_kind(const void *begin, size_t bytes);

/* Improves the message after `path` was refused as a safetensors file with error e: names the kind of the file, if
 * known, and for files of torch.save a conversion command. Returns e. */
dg_err dg_file_explain(const char *path, dg_err e);

#endif
