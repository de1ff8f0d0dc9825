/* The variants of ops: what a choice is checked by, the rule, and what the rows of variants share
 * (core/plan/variant.h). */
#ifndef DG_VARIANTS_H
#define DG_VARIANTS_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/plan/op_info.h"

/* Fill in what the variant decides itself; then NULL if the op can run so, else why not (valid until this thread's
 * next call). real is the backend's type. */
const char *dg_variant_check(const dg_op *op, dg_tune *tune, dg_type real, const dg_gpu *gpu);

/* The rule: what this op runs when no row says otherwise. NULL, or why no variant can run the op. */
const char *dg_variant_choose(const dg_op *op, dg_tune *out, dg_type real, const dg_gpu *gpu);

/* NULL, or why this GPU cannot round to gpu->math. */
const char *dg_variant_refuses_math(const dg_gpu *gpu);

/* The variant of that name among those of the op; NULL: it has none. */
const dg_variant *dg_variant_find(dg_op_kind kind, const char *name);

/* Every legal choice for this op, completed: all variants, tiles and stages, some splits and blocks, each once. At most
 * `room` into out; how many there are there. */
enum { DG_VARIANT_LIST = 4096 };
int dg_variant_list(const dg_op *op, dg_tune *out, int room, dg_type real, const dg_gpu *gpu);

/* Keeps the words for this thread and returns them: why something cannot be. */
const char *dg_variant_no(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Do all operands start at 16 bytes? */
bool dg_variant_aligned(const dg_op *op, dg_type real);

/* A check of variants that are launched with a thread an item: 256 threads, unless t says how many. */
const char *dg_variant_check_sweep(const dg_op *op, dg_tune *t, dg_type real, const dg_gpu *gpu);

#endif
