/* --precision: the type of values in memory, and the rounding of convolutions' operands. */
#pragma once

#include <stdbool.h>

#include "core/plan/ops.h"

/* Values of --precision, in the order of dg_precisions. DG_PRECISION_AUTO is replaced when the device is known. */
enum { DG_PRECISION_AUTO, DG_PRECISION_FP32, DG_PRECISION_FP64, DG_PRECISION_BF16, DG_PRECISION_FP16, DG_PRECISIONS };

typedef struct {
    const char *name;
    dg_type real;
    dg_math math;
} dg_precision;

extern const dg_precision dg_precisions[DG_PRECISIONS];

/* Returns NULL for "auto" and for an unknown name. */
const dg_precision *dg_precision_find(const char *name);

/* True for tf32, which config.ini, checkpoints and tuning files of older versions may contain. */
bool dg_precision_removed(const char *name);

/* True if tensor cores of architecture `arch` support operands that are rounded to `math`. */
bool dg_math_on(dg_math math, int arch);

const char *dg_precision_name(dg_type real, dg_math math);

/* Returns the largest relative error of rounding a normal floating-point number to `math`. */
double dg_math_error(dg_math math);
