/* Plurals in messages. */
#pragma once

#include <stdint.h>

static inline const char *dg_s(int64_t n) { return n == 1 ? "" : "s"; }
