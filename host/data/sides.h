/* The image sizes of built-in networks are 4, 5, 6 or 7 times a power of two. */
#pragma once

enum { DG_SIDE_LEAST = 16, DG_SIDE_MOST = 256 };

/* Returns n with side = *first * 2^n and 4 <= *first <= 7, or 0 if there is no such n. */
static inline int dg_side_halvings(int side, int *first)
{
    int n = 0;
    for (*first = side; *first > 7 && *first % 2 == 0; n++) *first /= 2;
    return side >= DG_SIDE_LEAST && side <= DG_SIDE_MOST && *first <= 7 ? n : 0;
}

/* Returns the largest image size of a built-in network up to `most`, or 0. */
static inline int dg_model_side(int most)
{
    int first;
    if (most > DG_SIDE_MOST) most = DG_SIDE_MOST;
    while (most >= DG_SIDE_LEAST && !dg_side_halvings(most, &first)) most--;
    return most >= DG_SIDE_LEAST ? most : 0;
}
