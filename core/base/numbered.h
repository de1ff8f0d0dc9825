/* File names with a number, such as "epoch-0012.png". */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { DG_NUMBERED_MAX = 999999999 };

/* Returns the number NNNN (1 to DG_NUMBERED_MAX) of a name "beforeNNNNafter", or 0 for any other name. */
static inline uint64_t dg_numbered(const char *name, const char *before, const char *after)
{
    const size_t k = strlen(before), n = strncmp(name, before, k) ? 0 : strspn(name + k, "0123456789");
    if (n < 4 || n > 9 || (n > 4 && name[k] == '0') || strcmp(name + k + n, after)) return 0;
    return strtoul(name + k, NULL, 10);
}
