/* What the parts of variants.c share. */
#ifndef DG_VARIANTS_H
#define DG_VARIANTS_H

#include "tune.h"

/* Keeps the words for this thread and returns them: why something cannot be. */
const char *dg_variant_no(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Variant mma (variants_mma.c): fill in what t leaves open; NULL, or why this convolution cannot run so. */
const char *dg_variant_check_mma(dg_op_kind kind, const dg_conv_args *a, dg_tune *t, const dg_gpu *gpu);

/* Its rule for tile and split. */
void dg_variant_choose_mma(const dg_op *op, dg_tune *t, const dg_gpu *gpu);

#endif
