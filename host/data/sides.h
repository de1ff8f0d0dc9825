/* The image sizes of the stock networks: 4, 5, 6 or 7 times a power of two. */
#ifndef DG_SIDES_H
#define DG_SIDES_H

enum { DG_SIDE_LEAST = 16, DG_SIDE_MOST = 256 };

/* How often `side` must be halved to become *first (4 to 7), 0: not possible. */
static inline int dg_side_halvings(int side, int *first)
{
    int n = 0;
    for (*first = side; *first > 7 && *first % 2 == 0; n++) *first /= 2;
    return side >= DG_SIDE_LEAST && side <= DG_SIDE_MOST && *first <= 7 ? n : 0;
}

/* The largest size of a stock network up to `most`, 0: none. */
static inline int dg_model_side(int most)
{
    int first;
    if (most > DG_SIDE_MOST) most = DG_SIDE_MOST;
    while (most >= DG_SIDE_LEAST && !dg_side_halvings(most, &first)) most--;
    return most >= DG_SIDE_LEAST ? most : 0;
}

#endif
