/* Defines random values, colours and smooth edges for drawn images. The code uses only + - * / and sqrt of doubles,
 * without libm and without contraction to FMA. IEEE 754 defines these operations exactly, so every machine draws the
 * same bytes. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF /* gcc in ISO mode never contracts, but warns about this pragma */
#endif

typedef struct {
    double r, g, b;
} dg_rgb;

/* A stream of random 32-bit words. Draw one word per statement, because C defines no evaluation order of arguments. */
typedef struct {
    uint64_t seed, subsequence, block;
    uint32_t word[4];
    int used;
} dg_dice;
dg_dice dg_dice_of(uint64_t seed, uint64_t number);
uint32_t dg_word(dg_dice *d);
double dg_uniform(dg_dice *d, double a, double b);
dg_rgb dg_hsv(double h, double s, double v);

static inline double dg_clamp01(double t) { return t < 0 ? 0 : t > 1 ? 1 : t; }
/* Smooth step from 0 at t = a to 1 at t = b. `b` may be less than `a`. */
static inline double dg_smooth(double a, double b, double t)
{
    t = dg_clamp01((t - a) / (b - a));
    return t * t * (3 - 2 * t);
}
static inline dg_rgb dg_mix(dg_rgb a, dg_rgb b, double t)
{
    return (dg_rgb){a.r + (b.r - a.r) * t, a.g + (b.g - a.g) * t, a.b + (b.b - a.b) * t};
}
static inline dg_rgb dg_times(dg_rgb c, double t) { return (dg_rgb){c.r * t, c.g * t, c.b * t}; }
static inline double dg_length(double x, double y) { return sqrt(x * x + y * y); }

/* Returns smooth noise between 0 and 1, with about one bump per unit of x and y. */
double dg_cat_noise(uint32_t grain, double x, double y);
