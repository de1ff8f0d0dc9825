#include "host/data/synthesize/cat.h"

#include <string.h>

typedef dg_dice dice;

/* Returns a random number between a and b with a triangular distribution. */
static double middling(dice *d, double a, double b)
{
    double t = dg_uniform(d, 0, 1);
    return a + (b - a) * 0.5 * (t + dg_uniform(d, 0, 1));
}

static bool chance(dice *d, double p) { return dg_uniform(d, 0, 1) < p; }

static int pick(dice *d, const double *weight, int n)
{
    double sum = 0, at;
    for (int i = 0; i < n; i++) sum += weight[i];
    at = dg_uniform(d, 0, sum);
    for (int i = 0; i < n - 1; i++) {
        if (at < weight[i]) return i;
        at -= weight[i];
    }
    return n - 1;
}

static dg_rgb vary(dice *d, dg_rgb c, double by)
{
    double tone = dg_uniform(d, 1 - by, 1 + by), warm = dg_uniform(d, -by, by) * 0.3;
    return (dg_rgb){c.r * tone * (1 + warm), c.g * tone, c.b * tone * (1 - warm)};
}

static double luma(dg_rgb c) { return 0.3 * c.r + 0.59 * c.g + 0.11 * c.b; }

/* Compute sine and cosine for |a| < 0.6 by Taylor series, because results of libm differ among machines. */
static void turn(double a, double *sine, double *cosine)
{
    double q = a * a;
    *sine = a * (1 - q / 6 * (1 - q / 20 * (1 - q / 42)));
    *cosine = 1 - q / 2 * (1 - q / 12 * (1 - q / 30 * (1 - q / 56)));
}

static const dg_rgb GREY = {.50, .53, .58}, GINGER = {.86, .56, .27}, BLACK = {.16, .15, .16}, WHITE = {.95, .93, .90},
                    CREAM = {.90, .79, .63}, BROWN = {.62, .49, .36}, SILVER = {.72, .73, .74},
                    CHOCOLATE = {.40, .27, .20}, PALE = {.92, .86, .76};

static void choose_coat(dice *d, dg_cat *c)
{
    static const double weight[DG_PATTERNS] = {24, 34, 12, 16, 8, 6};
    c->pattern = (dg_pattern)pick(d, weight, DG_PATTERNS);
    c->white = vary(d, WHITE, .03);
    c->ginger = vary(d, GINGER, .1);
    c->stripe_phase = dg_uniform(d, 0, 1);
    c->patch_x = dg_uniform(d, -.3, .3);
    c->patch_y = dg_uniform(d, -.5, .1);
    c->blaze = dg_uniform(d, .02, .12);
    c->white_face = 0;
    switch (c->pattern) {
    case DG_TABBY:
    case DG_BICOLOUR: {
        static const double share[4] = {3, 3, 2, 1};
        static const dg_rgb stripe[4] = {{.26, .19, .14}, {.66, .35, .13}, {.27, .28, .31}, {.70, .55, .37}};
        const dg_rgb main[4] = {BROWN, GINGER, SILVER, CREAM};
        int kind = pick(d, share, 4);
        c->fur = vary(d, main[kind], .12);
        c->dark = vary(d, stripe[kind], .1);
        c->striped = c->pattern == DG_TABBY || chance(d, .35);
        if (c->pattern == DG_TABBY) {
            c->white_face = chance(d, .6) ? dg_uniform(d, .3, 1) : .15;
        } else {
            c->white_face = 1;
            if (!c->striped && chance(d, .75)) c->fur = vary(d, chance(d, .6) ? BLACK : GREY, .12);
        }
        break;
    }
    case DG_POINTS: {
        static const double share[4] = {4, 2, 2, 2};
        static const dg_rgb point[4] = {{.25, .18, .15}, {.42, .43, .49}, {.76, .48, .30}, {.46, .33, .26}};
        c->fur = vary(d, PALE, .05);
        c->dark = vary(d, point[pick(d, share, 4)], .08);
        c->striped = chance(d, .2);
        break;
    }
    case DG_CALICO:
        c->fur = c->white;
        c->dark = vary(d, BLACK, .15);
        c->white_face = .8;
        break;
    case DG_TORTIE:
        c->fur = vary(d, BLACK, .15);
        c->dark = vary(d, CHOCOLATE, .1);
        c->white_face = chance(d, .3) ? .7 : 0;
        break;
    default: {
        static const double share[6] = {4, 4, 4, 3, 2, 2};
        const dg_rgb main[6] = {GREY, BLACK, WHITE, GINGER, CREAM, CHOCOLATE};
        c->fur = vary(d, main[pick(d, share, 6)], .12);
        c->dark = dg_times(c->fur, .7);
        c->white_face = chance(d, .2) ? .6 : 0;
        break;
    }
    }
}

static void choose_face(dice *d, dg_cat *c)
{
    static const double share[6] = {4, 4, 3, 2, 2, 1};
    static const dg_rgb iris[6] = {{.56, .72, .27}, {.90, .78, .26}, {.88, .58, .16},
                                   {.42, .68, .93}, {.76, .40, .14}, {.42, .78, .70}};
    int eye = c->pattern == DG_POINTS ? 3 : pick(d, share, 6);
    c->iris[0] = c->iris[1] = vary(d, iris[eye], .08);
    if (luma(c->fur) > .8 && c->pattern == DG_SOLID && chance(d, .25)) c->iris[1] = vary(d, iris[3], .05);
    c->eye_x = middling(d, .255, .315);
    c->eye_y = middling(d, -.10, -.01);
    c->eye_w = middling(d, .125, .175);
    c->eye_open[0] = c->eye_open[1] = middling(d, .62, .98);
    if (chance(d, .08)) c->eye_open[0] = c->eye_open[1] = dg_uniform(d, .35, .5);
    turn(dg_uniform(d, .0, .3), &c->sin_eye, &c->cos_eye);
    c->pupil = dg_uniform(d, .18, .85);
    c->gaze_x = middling(d, -.3, .3);
    c->gaze_y = middling(d, -.15, .2);
    c->shut_bend = chance(d, .6) ? -.5 : .45;
    double blink = dg_uniform(d, 0, 1);
    c->shut[0] = blink < .09;
    c->shut[1] = blink < .06 || (blink > .09 && blink < .12);

    static const dg_rgb PINK = {.88, .58, .57}, BRICK = {.66, .38, .34}, SOOT = {.20, .16, .16};
    double fur = luma(c->white_face > .5 ? c->white : c->fur);
    c->nose = vary(d, c->pattern == DG_POINTS ? SOOT : fur < .3 ? SOOT : chance(d, .7) ? PINK : BRICK, .1);
    c->line = dg_times(vary(d, (dg_rgb){.20, .13, .11}, .2), fur < .3 ? .45 : 1);
    c->lid = fur < .3 ? dg_mix(c->fur, c->white, .4) : c->line;
    c->nose_w = middling(d, .070, .105);
    static const double mouths[4] = {5, 4, 1, 1};
    c->mouth = (dg_mouth)pick(d, mouths, 4);
    c->whisker = luma(c->fur) > .75 ? (dg_rgb){.45, .42, .40} : (dg_rgb){.97, .96, .95};
    c->whisker_lift = middling(d, -.10, .18);
    c->whisker_length = middling(d, .48, .72);
}

/* Choose the pose from small ranges, so that a small network generates recognisable cats after a few hundred steps. */
static void choose_pose(dice *d, dg_cat *c)
{
    c->scale = middling(d, .92, 1.16);
    c->shift_x = middling(d, -.12, .12);
    c->shift_y = middling(d, .02, .22);
    turn(middling(d, -.28, .28), &c->sin_tilt, &c->cos_tilt);
    c->yaw = middling(d, -.2, .2);
    c->pitch = middling(d, -.08, .08);
    c->head_w = middling(d, .60, .70);
    c->head_h = middling(d, .50, .59);
    c->cheeks = middling(d, .0, .09);
    c->fluff = chance(d, .3) ? dg_uniform(d, .05, .10) : dg_uniform(d, .0, .03);
    c->ear_x = middling(d, .38, .58);
    c->ear_y = -middling(d, .70, .90);
    c->ear_in = middling(d, .04, .12);
    c->ear_out = c->head_w * middling(d, .84, .94);
    if (chance(d, .06)) {
        c->ear_x = dg_uniform(d, .42, .50);
        c->ear_y = -dg_uniform(d, .58, .64);
    }
    c->ear_skin = vary(d, (dg_rgb){.85, .62, .60}, .1);
    c->body_x = dg_uniform(d, -.25, .25);
    c->body_w = dg_uniform(d, .55, .8);
    c->collar = chance(d, .2);
    c->bell = chance(d, .7);
    double hue = dg_uniform(d, 0, 1), saturation = dg_uniform(d, .6, .9);
    c->collar_colour = dg_hsv(hue, saturation, dg_uniform(d, .5, .9));
    c->light_x = dg_uniform(d, -1, 1);
    c->exposure = dg_uniform(d, .90, 1.08);
    c->warmth = dg_uniform(d, -.05, .05);
}

static void choose_background(dice *d, dg_cat *c)
{
    static const double share[DG_SCENES] = {4, 3, 2, 2, 1.5};
    c->scene = (dg_scene)pick(d, share, DG_SCENES);
    double hue = c->scene == DG_GRASS ? dg_uniform(d, .20, .36) : dg_uniform(d, 0, 1);
    double saturation = c->scene == DG_GRASS ? dg_uniform(d, .4, .7) : dg_uniform(d, .05, .6);
    double value = dg_uniform(d, .3, 1), fur = luma(c->fur);
    if (value - fur < .2 && value - fur > -.2) value += fur > .5 ? -.3 : .3;
    double other = hue + dg_uniform(d, -.12, .12) + 1;
    c->back[0] = dg_hsv(hue, saturation, dg_clamp01(value));
    double paler = saturation * dg_uniform(d, .4, .95);
    c->back[1] = dg_hsv(other - (int)other, paler, dg_clamp01(value * dg_uniform(d, .62, 1.05)));
    turn(dg_uniform(d, -.6, .6), &c->back_x, &c->back_y);
    for (int i = 0; i < 5; i++) {
        c->spot[i][0] = dg_uniform(d, -1, 1);
        c->spot[i][1] = dg_uniform(d, -1, 1);
        c->spot[i][2] = dg_uniform(d, .15, .5);
    }
}

void dg_cat_choose(dg_cat *cat, uint64_t seed, int number)
{
    dice d = dg_dice_of(seed, (uint64_t)number);
    memset(cat, 0, sizeof *cat);
    cat->grain = dg_word(&d);
    choose_coat(&d, cat);
    choose_face(&d, cat);
    choose_pose(&d, cat);
    choose_background(&d, cat);
}

/* Returns 1 in the middle of a stripe and 0 between stripes. Stripes have period 1 in t. */
static double stripe(double t, double width)
{
    t += 64;
    t -= (int)t;
    double from_middle = t < .5 ? .5 - t : t - .5;
    return dg_smooth(width, width * .45, from_middle);
}

/* A tabby has an M on the forehead, and lines from the eyes across the cheeks. */
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

/* The patches of calico and tortoiseshell are large smooth noise with narrow edges. */
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
