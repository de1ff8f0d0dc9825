/* The image sizes of built-in networks: the shorter side is 4, 5, 6 or 7 times a power of two, and the longer side is a
 * multiple of that power. */
#pragma once

#include "core/base/image_size.h"

enum { DG_SIDE_LEAST = 16, DG_SIDE_MOST = 256 };

/* Returns n with side = *first * 2^n and 4 <= *first <= 7, or 0 if there is no such n. */
static inline int dg_side_halvings(int side, int *first)
{
    int n = 0;
    for (*first = side; *first > 7 && *first % 2 == 0; n++) *first /= 2;
    return side >= DG_SIDE_LEAST && side <= DG_SIDE_MOST && *first <= 7 ? n : 0;
}

/* Returns n with size = *first * 2^n, where the shorter side of *first is 4 to 7, or 0 if there is no such n. */
static inline int dg_size_halvings(dg_size size, dg_size *first)
{
    int shorter;
    const int n = dg_side_halvings(dg_shorter_side(size), &shorter), parts = 1 << n;
    *first = (dg_size){size.W / parts, size.H / parts};
    return size.W % parts || size.H % parts || dg_longer_side(size) > DG_SIDE_MOST ? 0 : n;
}

/* Returns the largest image side of a built-in network up to `most`, or 0. */
static inline int dg_model_side(int most)
{
    int first;
    if (most > DG_SIDE_MOST) most = DG_SIDE_MOST;
    while (most >= DG_SIDE_LEAST && !dg_side_halvings(most, &first)) most--;
    return most >= DG_SIDE_LEAST ? most : 0;
}

/* Returns a size of a built-in network near `size`: the shorter side of dg_model_side, and a longer side that fits. */
static inline dg_size dg_model_size(dg_size size)
{
    int first, shorter = dg_model_side(dg_shorter_side(size)), longer = dg_longer_side(size);
    if (!shorter) shorter = DG_SIDE_LEAST;
    const int parts = 1 << dg_side_halvings(shorter, &first);
    if (longer > DG_SIDE_MOST) longer = DG_SIDE_MOST;
    longer = longer < shorter || dg_is_square(size) ? shorter : longer / parts * parts;
    return size.W < size.H ? (dg_size){shorter, longer} : (dg_size){longer, shorter};
}
