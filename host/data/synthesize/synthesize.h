/* Draws datasets of cat faces or shapes. */
#pragma once

#include <stdint.h>
#include "core/base/err.h"
#include "core/base/image_size.h"

/* Draw `count` PNG images into dir, which is created if missing. If classes is 0, the images
 * are cat faces (cat-00000.png ...). A cat depends only on seed and number. If classes is not 0, the images are
 * shapes, in a folder per class (disc/disc-00000.png ...). A shape depends only on seed, class and number. */
dg_err dg_synthesize(const char *dir, int count, dg_size size, uint64_t seed, int classes);
/* Draw cat `i` into pixels (size.H, size.W, 3). */
void dg_synthesize_one(uint8_t *pixels, dg_size size, uint64_t seed, int i);

/* dg_shape_draw draws image `number` of a class into pixels (size.H, size.W, 3). */
enum { DG_SHAPES = 10 };
extern const char *const dg_shape_name[DG_SHAPES];
void dg_shape_draw(uint8_t *pixels, dg_size size, uint64_t seed, int class, int number);
