/* Checks of variants, the rule that chooses variants, and helpers for functions of dg_variant (core/plan/variant.h). */
#pragma once

#include <stdbool.h>

#include "core/base/err.h"
#include "core/plan/op_info.h"

/* Replaces the zeros in tune by defaults. Returns NULL, or the reason why the op cannot run with tune. The reason is
 * valid until this thread's next call. `real` is the backend's type. */
const char *dg_variant_check(const dg_op *op, dg_tune *tune, dg_type real, const dg_gpu *gpu);

/* Selects the variant of an op by its shape, without a tuning row. Returns NULL, or the reason why no variant can run
 * the op. */
const char *dg_variant_choose(const dg_op *op, dg_tune *out, dg_type real, const dg_gpu *gpu);

/* Returns NULL, or the reason why this GPU does not support operands rounded to gpu->math. */
const char *dg_variant_refuses_math(const dg_gpu *gpu);

const dg_variant *dg_variant_find(dg_op_kind kind, const char *name);

/* Writes at most `room` of the valid launches of an op to out and returns their number. The list has each combination
 * of variant, tile and stages, with some splits and block sizes. */
enum { DG_VARIANT_LIST = 4096 };
int dg_variant_list(const dg_op *op, dg_tune *out, int room, dg_type real, const dg_gpu *gpu);

/* Stores the reason why a variant cannot run an op, and returns the stored text. The storage is per thread. */
const char *dg_variant_no(const char *format, ...) __attribute__((format(printf, 1, 2)));

bool dg_variant_aligned(const dg_op *op, dg_type real);

/* The check function of variants with one thread per value. A block has 256 threads unless t sets a number. */
const char *dg_variant_check_sweep(const dg_op *op, dg_tune *t, dg_type real, const dg_gpu *gpu);
