/* Plurals in messages. */
#ifndef DG_PLURAL_H
#define DG_PLURAL_H

#include <stdint.h>

static inline const char *dg_s(int64_t n) { return n == 1 ? "" : "s"; }

#endif
