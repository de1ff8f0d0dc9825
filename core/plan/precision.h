/* --precision: the type of values in memory, and what convolutions make of them on their way into the products. */
#ifndef DG_PRECISION_H
#define DG_PRECISION_H

#include <stdbool.h>

#include "core/plan/ops.h"

/* Places in dg_precisions, and in the choices of the option. AUTO is what the option is before the device is known. */
enum {
    DG_PRECISION_AUTO,
    DG_PRECISION_FP32,
    DG_PRECISION_FP64,
    DG_PRECISION_TF32,
    DG_PRECISION_BF16,
    DG_PRECISION_FP16,
    DG_PRECISIONS
};

typedef struct {
    const char *name; /* as in --precision, run files and tuning files */
    dg_type real;     /* of weights, sums and activations */
    dg_math math;     /* of the factors of convolutions on tensor cores */
} dg_precision;

extern const dg_precision dg_precisions[DG_PRECISIONS];

/* NULL when there is none of this name; "auto" is none. */
const dg_precision *dg_precision_find(const char *name);

/* GPUs of this architecture have tensor cores that take such factors. */
bool dg_math_on(dg_math math, int arch);

/* The name of a backend's. */
const char *dg_precision_name(dg_type real, dg_math math);

/* How many of them 16 bytes hold, which is the unit that kernels move; 4 of fp32. */
int dg_math_unit(dg_math math);

/* How far a rounded factor is from what it was, as part of it, at most. Of fp16: in its range of normal numbers. */
double dg_math_error(dg_math math);

#endif
