/* What images are gathered from: records of a data set, each an image and perhaps its label. */
#ifndef DG_GATHER_H
#define DG_GATHER_H

#include <stdbool.h>

#include "core/base/tensor.h"
#include "core/plan/ops.h"

/* Bytes of a record: the image, and 4 of a label where there are labels. */
int64_t dg_gather_record(const dg_gather_args *a, dg_type real, bool labels);

/* Pixels to -1 .. 1, from records without labels, as a GAN reads them? Fused kernels read such images alone. */
bool dg_gather_is_signed(const dg_gather_args *a);

#endif
