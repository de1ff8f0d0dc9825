/* Random numbers of a drawn picture. */
#include "host/data/synthesize/synthesize.h"

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
