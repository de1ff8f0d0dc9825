/* Plurals in messages. */
#ifndef DG_PLURAL_H
#define DG_PLURAL_H

#include <stdint.h>

/* The suffix of a noun after this number: "%d run%s", n, dg_s(n). */
static inline const char *dg_s(int64_t n) { return n == 1 ? "" : "s"; }

#endif
