/* Declarations shared by the optimizers on CPUs. */
#pragma once

#include "core/group/slices.h"
#include "kernels/cpu/cpu.h"

#include <float.h>
#include <math.h>

/* PIECE: values per piece; a slice of the weights has whole pieces. MANY: min number of values for which several
 * threads are faster. */
enum { DG_SWEEP_PIECE = DG_SLICE_PIECE, DG_SWEEP_MANY = 1 << 15 };

#if DG_FP == 64
static inline real dg_root(real x) { return sqrt(x); }
static inline int dg_finite(real x) { return fabs(x) <= DBL_MAX; }
#else
static inline real dg_root(real x) { return sqrtf(x); }
static inline int dg_finite(real x) { return fabsf(x) <= FLT_MAX; }
#endif
