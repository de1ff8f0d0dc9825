#include "host/data/synthesize/cat.h"

/* Stripes with period 1 in t: 1 in the middle of a stripe, 0 between stripes. */
static double stripe(double t, double width)
{
    t += 64;
    t -= (int)t;
    double from_middle = t < .5 ? .5 - t : t - .5;
    return dg_smooth(width, width * .45, from_middle);
}

/* The M on a tabby's forehead, and the lines from the eyes across the cheeks. */
static double stripes(const dg_cat *c, double x, double y)
{
    double ax = x < 0 ? -x : x, wobble = dg_cat_noise(c->grain + 1, x * 5, y * 5) - .5;
    double fan = (x + wobble * .05) / (.8 - .9 * ((y < 0 ? y : 0) + .2));
    double af = fan < 0 ? -fan : fan;
    double top = stripe(fan * 8.5 + .5, .3) * dg_smooth(-.16, -.26, y) * dg_smooth(.33, .26, af);
    double cheek = stripe((y + ax * .35 + wobble * .08) * 6 + c->stripe_phase, .28) * dg_smooth(.38, .48, ax) *
                   dg_smooth(-.35, -.2, y);
    return top > cheek ? top : cheek;
}

/* Patches of calico and tortoiseshell: large smooth noise with narrow edges. */
static dg_rgb patches(const dg_cat *c, double x, double y)
{
    double a = dg_cat_noise(c->grain + 2, x * 2.3 + 10, y * 2.3 + 10), b = dg_cat_noise(c->grain + 3, x * 2.6, y * 2.6);
    dg_rgb colour = dg_mix(c->fur, c->ginger, dg_smooth(.50, .56, a));
    return dg_mix(colour, c->dark, dg_smooth(.54, .60, b) * (c->pattern == DG_CALICO ? 1 : .6));
}

dg_rgb dg_cat_coat(const dg_cat *c, double x, double y)
{
    double ax = x < 0 ? -x : x;
    dg_rgb colour = c->fur;
    if (c->pattern == DG_CALICO || c->pattern == DG_TORTIE) {
        colour = patches(c, x, y);
    } else if (c->pattern == DG_POINTS) {
        double mask = dg_smooth(1, .25, dg_length(x / .46, (y - .16) / .48));
        colour = dg_mix(colour, c->dark, mask * .92);
        if (c->striped) colour = dg_mix(colour, c->dark, stripes(c, x, y) * .4);
    } else if (c->striped) {
        colour = dg_mix(colour, c->dark, stripes(c, x, y) * .85);
        double around_eye = dg_smooth(1, .3, dg_length((ax - .28) / .2, (y + .04) / .2));
        colour = dg_mix(colour, dg_times(c->fur, 1.15), around_eye * .6);
    }
    double white = 0;
    if (c->pattern == DG_BICOLOUR || c->pattern == DG_CALICO) {
        double wide = c->blaze + .42 * dg_smooth(-.25, .42, y) - .2 * dg_smooth(-.2, -.5, y);
        double edge = ax + .08 * (dg_cat_noise(c->grain + 4, x * 7, y * 7) - .5);
        white = dg_smooth(wide + .02, wide - .02, edge);
        if (c->pattern == DG_CALICO) white *= dg_smooth(.0, .2, y);
    }
    double muzzle = dg_smooth(1.15, .8, dg_length((ax - .11) / .17, (y - .27) / .15));
    double chin = dg_smooth(1.2, .7, dg_length(x / .2, (y - .42) / .14));
    double face = (muzzle > chin ? muzzle : chin) * c->white_face;
    return dg_mix(colour, c->white, white > face ? white : face);
}

dg_rgb dg_cat_coat_ear(const dg_cat *c, double x, double y)
{
    if (c->pattern == DG_POINTS) return c->dark;
    if (c->pattern == DG_CALICO || c->pattern == DG_TORTIE) return patches(c, x, y);
    return dg_mix(c->fur, c->dark, c->striped ? dg_smooth(-.6, -.95, y) * .6 : 0);
}

dg_rgb dg_cat_coat_body(const dg_cat *c, double x, double y)
{
    dg_rgb colour = dg_times(c->fur, .92);
    if (c->pattern == DG_CALICO || c->pattern == DG_TORTIE) colour = patches(c, x + 3, y);
    if (c->striped && c->pattern != DG_POINTS) {
        double wobble = dg_cat_noise(c->grain + 5, x * 3, y * 3);
        colour = dg_mix(colour, c->dark, stripe((y + wobble * .2 - (x < 0 ? -x : x) * .25) * 5, .3) * .8);
    }
    double bib = dg_smooth(.34, .22, (x < 0 ? -x : x) + .1 * dg_cat_noise(c->grain + 6, x * 6, y * 6));
    double white = c->pattern == DG_BICOLOUR || c->pattern == DG_CALICO ? 1 : c->white_face * .6;
    return dg_mix(colour, c->white, bib * white);
}
