/* Kind of a file by its first bytes, for error messages. */
#ifndef DG_FILE_KIND_H
#define DG_FILE_KIND_H

#include <stddef.h>
#include "core/base/err.h"

/* Returns the kind, such as "a PNG image"; NULL: unknown. */
const char *dg_file_kind(const void *begin, size_t bytes);

/* Call after `path` was refused as a safetensors file with error e. If the kind of the file is known, the new message
 * names it and, for files of torch.save, has a conversion command. Returns e. */
dg_err dg_file_explain(const char *path, dg_err e);

#endif
