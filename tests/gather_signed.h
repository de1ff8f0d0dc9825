/* Sets arguments of op gather for a GAN: pixels are scaled to [-1, 1], and there are no labels. */
#pragma once

#include "core/plan/gather.h"

static inline void gather_signed(dg_gather_args *a)
{
    a->prepared = 0;
    a->record = dg_gather_record(a, DG_F32, false);
    for (int c = 0; c < DG_CHANNELS_MAX; c++) a->dev[c] = 127.5, a->shift[c] = 1;
}
