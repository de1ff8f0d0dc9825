/* What the rows of variants share (core/plan/variant.h). */
#ifndef DG_VARIANTS_H
#define DG_VARIANTS_H

#include "core/tune/tune.h"

/* Keeps the words for this thread and returns them: why something cannot be. */
const char *dg_variant_no(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Do all operands start at 16 bytes? */
bool dg_variant_aligned(const dg_op *op, dg_type real);

/* A check of variants that are launched with a thread an item: 256 threads, unless t says how many. */
const char *dg_variant_check_sweep(const dg_op *op, dg_tune *t, dg_type real, const dg_gpu *gpu);

#endif
