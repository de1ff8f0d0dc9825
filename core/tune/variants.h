/* Checks of variants, the rule, and helpers of the variants' rows (core/plan/variant.h). */
#ifndef DG_VARIANTS_H
#define DG_VARIANTS_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/plan/op_info.h"

/* Fills in the open members of tune; NULL, or why the op cannot run so (valid until this thread's next call). real: the
 * backend's type. */
const char *dg_variant_check(const dg_op *op, dg_tune *tune, dg_type real, const dg_gpu *gpu);

/* The rule: the choice for an op without a row. NULL, or why no variant can run the op. */
const char *dg_variant_choose(const dg_op *op, dg_tune *out, dg_type real, const dg_gpu *gpu);

/* NULL, or why this GPU cannot round to gpu->math. */
const char *dg_variant_refuses_math(const dg_gpu *gpu);

/* The op's variant of that name; NULL: none. */
const dg_variant *dg_variant_find(dg_op_kind kind, const char *name);

/* Every legal choice for this op, completed, once: variants, tiles, stages, some splits and blocks. Writes at most
 * `room` to out; returns their number. */
enum { DG_VARIANT_LIST = 4096 };
int dg_variant_list(const dg_op *op, dg_tune *out, int room, dg_type real, const dg_gpu *gpu);

/* Stores the reason of a refusal for this thread and returns it. */
const char *dg_variant_no(const char *format, ...) __attribute__((format(printf, 1, 2)));

bool dg_variant_aligned(const dg_op *op, dg_type real);

/* Check of variants with a thread per item: 256 threads unless t has a number. */
const char *dg_variant_check_sweep(const dg_op *op, dg_tune *t, dg_type real, const dg_gpu *gpu);

#endif
