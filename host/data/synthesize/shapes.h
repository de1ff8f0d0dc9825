/* Drawn shapes, one kind per class. */
#ifndef DG_SHAPES_H
#define DG_SHAPES_H

#include <stdint.h>

/* dg_shape_draw draws image `number` of a class into pixels (size, size, 3). */
enum { DG_SHAPES = 10 };
extern const char *const dg_shape_name[DG_SHAPES];
void dg_shape_draw(uint8_t *pixels, int size, uint64_t seed, int class, int number);

#endif
