/* Checks of variants, the rule that chooses variants, and helpers of the variants' rows (core/plan/variant.h). */
#ifndef DG_VARIANTS_H
#define DG_VARIANTS_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/plan/op_info.h"

/* Fills in the members of tune that are 0. Returns NULL, or the reason why the op cannot run with tune, valid until
 * this thread's next call. real: the backend's type. */
const char *dg_variant_check(const dg_op *op, dg_tune *tune, dg_type real, const dg_gpu *gpu);

/* Chooses the variant of an op without a tuning row, by its shape. Returns NULL, or the reason why no variant can run
 * the op. */
const char *dg_variant_choose(const dg_op *op, dg_tune *out, dg_type real, const dg_gpu *gpu);

/* Returns NULL, or the reason why this GPU cannot round to gpu->math. */
const char *dg_variant_refuses_math(const dg_gpu *gpu);

/* Returns the op's variant with this name, or NULL. */
const dg_variant *dg_variant_find(dg_op_kind kind, const char *name);

/* Writes every valid choice for the op to out: each combination of variant, tile and stages, with some splits and block
 * sizes. Writes at most `room` choices and returns their number. */
enum { DG_VARIANT_LIST = 4096 };
int dg_variant_list(const dg_op *op, dg_tune *out, int room, dg_type real, const dg_gpu *gpu);

/* Stores the reason of a refusal for this thread and returns it. */
const char *dg_variant_no(const char *format, ...) __attribute__((format(printf, 1, 2)));

bool dg_variant_aligned(const dg_op *op, dg_type real);

/* The check function of variants with one thread per item. A block has 256 threads unless t sets a number. */
const char *dg_variant_check_sweep(const dg_op *op, dg_tune *t, dg_type real, const dg_gpu *gpu);

#endif
