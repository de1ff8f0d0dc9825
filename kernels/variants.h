/* What the parts of variants.c share. */
#ifndef DG_VARIANTS_H
#define DG_VARIANTS_H

#include "tune.h"

/* Keeps the words for this thread and returns them: why something cannot be. */
const char *dg_variant_no(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Parts of a sum, so that there are about `want` blocks, each with at least `least` steps. */
int dg_variant_parts(int blocks, int want, int steps, int least);

/* Variant mma (variants_mma.c): fill in what t leaves open; NULL, or why this convolution cannot run so. */
const char *dg_variant_check_mma(dg_op_kind kind, const dg_conv_args *a, dg_tune *t, const dg_gpu *gpu);

/* Its rule for tile and split. */
void dg_variant_choose_mma(dg_op_kind kind, const dg_conv_args *a, dg_tune *t, const dg_gpu *gpu);

#endif
