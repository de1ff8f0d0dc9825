/* What a file is that was taken for another one: by its first bytes, never by its name. */
#ifndef DG_FILE_KIND_H
#define DG_FILE_KIND_H

#include <stddef.h>
#include "core/base/err.h"

/* "a PNG image", NULL: not known. */
const char *dg_file_kind(const void *begin, size_t bytes);

/* After `path` was refused as a safetensors file with the error e: where its kind is known, the message says that
 * instead, and what to do with what torch.save wrote. Returns e. */
dg_err dg_file_explain(const char *path, dg_err e);

#endif
