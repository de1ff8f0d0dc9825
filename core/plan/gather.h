/* Records of a dataset: each record is an image, optionally with a label. */
#pragma once

#include <stdbool.h>

#include "core/base/tensor.h"
#include "core/plan/ops.h"

int64_t dg_gather_record(const dg_gather_args *a, dg_type real, bool labels);

/* True if op gather reads no labels and scales pixels to -1 .. 1, as fused kernels require. */
bool dg_gather_is_signed(const dg_gather_args *a);
