#include "host/data/synthesize/paint.h"

#include "core/base/rng.h"

uint32_t dg_word(dg_dice *d)
{
    if (d->used == 4) {
        dg_philox(d->word, d->seed, d->subsequence, d->block++);
        d->used = 0;
    }
    return d->word[d->used++];
}

dg_dice dg_dice_of(uint64_t seed, uint64_t number)
{
    return (dg_dice){.seed = seed, .subsequence = dg_subsequence(DG_STREAM_SYNTH, number), .used = 4};
}

double dg_uniform(dg_dice *d, double a, double b) { return a + (b - a) * ((dg_word(d) >> 8) * (1.0 / 16777216)); }

dg_rgb dg_hsv(double h, double s, double v)
{
    double f = h * 6;
    int i = (int)f % 6;
    f -= (int)f;
    double p = v * (1 - s), q = v * (1 - s * f), t = v * (1 - s * (1 - f));
    const double r[6] = {v, q, p, p, t, v}, g[6] = {t, v, v, q, p, p}, b[6] = {p, p, t, v, v, q};
    return (dg_rgb){r[i], g[i], b[i]};
}

static double lattice(uint32_t grain, int32_t x, int32_t y)
{
    uint32_t h = grain ^ (uint32_t)x * 0x9E3779B1u ^ (uint32_t)y * 0x85EBCA77u; /* primes and mixing of xxHash */
    h = (h ^ h >> 15) * 0x85EBCA77u;
    h = (h ^ h >> 13) * 0xC2B2AE3Du;
    return (double)(h >> 16) * (1.0 / 65535);
}

double dg_cat_noise(uint32_t grain, double x, double y)
{
    int32_t ix = (int32_t)(x + 4096) - 4096, iy = (int32_t)(y + 4096) - 4096; /* floor, for x, y > -4096 */
    double fx = x - ix, fy = y - iy;
    fx = fx * fx * (3 - 2 * fx);
    fy = fy * fy * (3 - 2 * fy);
    double top = lattice(grain, ix, iy) * (1 - fx) + lattice(grain, ix + 1, iy) * fx;
    double low = lattice(grain, ix, iy + 1) * (1 - fx) + lattice(grain, ix + 1, iy + 1) * fx;
    return top * (1 - fy) + low * fy;
}
