/* Drawn data sets. */
#ifndef DG_SYNTHESIZE_H
#define DG_SYNTHESIZE_H

#include <stdint.h>
#include "core/base/err.h"

/* Draw `count` images of size x size into dir (made if missing) as PNG files. classes 0: cat faces cat-00000.png ...,
 * varied in fur, pose, eyes and background, a pure function of (seed, number). Else so many kinds of shapes, in turn,
 * in a folder each, disc/disc-00000.png ...: a pure function of (seed, class, number). */
dg_err dg_synthesize(const char *dir, int count, int size, uint64_t seed, int classes);
/* Cat number `i` alone: pixels (size, size, 3). */
void dg_synthesize_one(uint8_t *pixels, int size, uint64_t seed, int i);

#endif
