/* Plurals in messages. */
#ifndef DG_PLURAL_H
#define DG_PLURAL_H

#include <stdint.h>

/* Returns the plural suffix "s" of a noun after the number n, or "" if n is 1. */
static inline const char *dg_s(int64_t n) { return n == 1 ? "" : "s"; }

#endif
