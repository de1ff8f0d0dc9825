/* Plurals in messages. */
#ifndef DG_PLURAL_H
#define DG_PLURAL_H

#include <stdint.h>

/* The plural suffix of a noun after the number n: "%d run%s" with n, dg_s(n). */
static inline const char *dg_s(int64_t n) { return n == 1 ? "" : "s"; }

#endif
