/* Number of parts of the sum of op spectral_dw on a GPU. The number depends only on the shape. */
#ifndef DG_SPECTRAL_H
#define DG_SPECTRAL_H

#include "core/plan/ops.h"

enum { DG_SPECTRAL_PARTS = 256, DG_SPECTRAL_PART = 4096 };

static inline int dg_spectral_parts(const dg_spectral_args *a)
{
    const int64_t parts = ((int64_t)a->rows * a->cols + DG_SPECTRAL_PART - 1) / DG_SPECTRAL_PART;
    return parts < DG_SPECTRAL_PARTS ? (int)parts : DG_SPECTRAL_PARTS;
}

#endif
