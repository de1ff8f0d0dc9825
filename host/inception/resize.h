/* The two conventions of resizing for FID, on square images. */
#pragma once

#include "host/inception/inception.h"

/* Resize pixels (size, size, channels) to out (to, to, 3), in about -1 to 1. Returns DG_DEVICE if out of memory. */
dg_err dg_fid_resized(dg_fid_resize how, const uint8_t *pixels, int size, int channels, int to, float *out);
