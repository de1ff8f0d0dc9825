/* The two conventions of resizing for FID. Rectangles are stretched. */
#pragma once

#include "core/base/image_size.h"
#include "host/inception/inception.h"

/* Resize pixels (height, width, channels) to out (to, to, 3), in about -1 to 1. Returns DG_DEVICE if out of memory. */
dg_err dg_fid_resized(dg_fid_resize how, const uint8_t *pixels, dg_size size, int channels, int to, float *out);
