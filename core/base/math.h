/* Minimum, maximum and rounded-up division of whole numbers. */
#pragma once

#include <stdint.h>

static inline int dg_min(int a, int b) { return a < b ? a : b; }
static inline int dg_max(int a, int b) { return a > b ? a : b; }
static inline int dg_ceil_div(int a, int b) { return (a + b - 1) / b; }

static inline double dg_ceil_divf(double a, double b) { return (double)(int64_t)((a + b - 1) / b); }
