/* Plurals in messages. */
#ifndef DG_PLURAL_H
#define DG_PLURAL_H

#include <stdint.h>

/* Returns the plural suffix of a noun after the number n, for a message such as "3 runs". */
static inline const char *dg_s(int64_t n) { return n == 1 ? "" : "s"; }

#endif
