/* Size of an image in pixels. As text, width first: "64" for 64 x 64 pixels, "64x96" for 64 x 96 pixels. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "core/base/tensor.h"

typedef struct {
    int W, H;
} dg_size;

enum { DG_SIZE_TEXT = 24 };

static inline dg_size dg_square(int side) { return (dg_size){side, side}; }
static inline bool dg_is_square(dg_size s) { return s.W == s.H; }
static inline bool dg_same_size(dg_size a, dg_size b) { return a.W == b.W && a.H == b.H; }
static inline int dg_shorter_side(dg_size s) { return s.W < s.H ? s.W : s.H; }
static inline int dg_longer_side(dg_size s) { return s.W > s.H ? s.W : s.H; }

static inline size_t dg_size_pixels(dg_size s) { return (size_t)s.W * (size_t)s.H; }
static inline size_t dg_size_values(dg_size s, int channels) { return dg_size_pixels(s) * (size_t)channels; }
static inline dg_shape dg_size_shape(int N, dg_size s, int channels) { return (dg_shape){N, s.H, s.W, channels}; }

/* Write the size as text to out. Returns out. */
const char *dg_size_text(dg_size s, char out[DG_SIZE_TEXT]);

/* Parse "64" or "64x96" at the start of text. Returns the text after it, or NULL if the text is neither. Sides are at
 * most 9999. */
const char *dg_size_parse(const char *text, dg_size *out);
