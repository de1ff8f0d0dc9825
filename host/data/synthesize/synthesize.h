/* Drawn cat faces. A cat is chosen from random words (synthesize_cat.c), its coat is a function of the place on
 * it (synthesize_coat.c), and it is painted pixel by pixel with analytic coverage (synthesize_draw.c).
 *
 * Only + - * / and sqrt on doubles are used, which IEEE 754 rounds the same everywhere: no libm, no float
 * contraction. So the same (seed, number) gives the same bytes on every machine.
 *
 * Lengths are in face units: x right, y down, (0, 0) between and a little below the eyes, the head about 1.3
 * wide and 1.1 high. */
#ifndef DG_SYNTHESIZE_H
#define DG_SYNTHESIZE_H

#include <math.h>
#include <stdint.h>
#include "host/data/dataset.h"

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF /* gcc has it off in ISO mode, and warns about the pragma */
#endif

typedef struct {
    double r, g, b;
} dg_rgb;

/* Random words one after the other. One draw a statement or argument list at most: C leaves the order of arguments to
 * the compiler. */
typedef struct {
    uint64_t seed, subsequence, block;
    uint32_t word[4];
    int used;
} dg_dice;
dg_dice dg_dice_of(uint64_t seed, uint64_t number); /* of the picture with this number */
uint32_t dg_word(dg_dice *d);
double dg_uniform(dg_dice *d, double a, double b);
dg_rgb dg_hsv(double h, double s, double v);

/* Picture `number` of a class: size x size x 3. */
enum { DG_SHAPES = 10 };
extern const char *const dg_shape_name[DG_SHAPES];
void dg_shape_draw(uint8_t *pixels, int size, uint64_t seed, int class, int number);

typedef enum { DG_SOLID, DG_TABBY, DG_POINTS, DG_BICOLOUR, DG_CALICO, DG_TORTIE, DG_PATTERNS } dg_pattern;
typedef enum { DG_GRADIENT, DG_ROOM, DG_BOKEH, DG_CURTAIN, DG_GRASS, DG_SCENES } dg_scene;
typedef enum { DG_MOUTH_PLAIN, DG_MOUTH_SMILE, DG_MOUTH_OPEN, DG_MOUTH_TONGUE } dg_mouth;

typedef struct {
    uint32_t grain; /* key of every noise on this cat */

    dg_scene scene;
    dg_rgb back[2];        /* background, two tones */
    double back_x, back_y; /* direction of the gradient, of length 1 */
    double spot[5][3];     /* bokeh: x, y, radius in picture units (-1..1) */

    dg_pattern pattern;
    bool striped;            /* stripes on what is not white */
    dg_rgb fur, dark, white; /* main colour, stripes or points or patches, bib and muzzle */
    dg_rgb ginger;           /* second patch colour of calico and tortie */
    double white_face;       /* how much of the muzzle is white, 0..1 */
    double blaze, stripe_phase, patch_x, patch_y;

    double scale, shift_x, shift_y, sin_tilt, cos_tilt, yaw, pitch;
    double head_w, head_h, cheeks, fluff;
    double ear_x, ear_y, ear_in, ear_out; /* tip, and where the base starts and ends */
    dg_rgb ear_skin;
    double body_x, body_w;

    double eye_x, eye_y, eye_w, eye_open[2], sin_eye, cos_eye, pupil, gaze_x, gaze_y;
    bool shut[2];
    double shut_bend; /* shut eyes: > 0 asleep, < 0 happy */
    dg_rgb iris[2];
    dg_rgb nose, line, lid; /* line: mouth, rims of the eyes; lid: shut eyes */
    double nose_w;
    dg_mouth mouth;
    dg_rgb whisker;
    double whisker_lift, whisker_length;

    bool collar, bell;
    dg_rgb collar_colour;
    double light_x, exposure, warmth;
} dg_cat;

void dg_cat_choose(dg_cat *cat, uint64_t seed, int number);
void dg_cat_draw(uint8_t *pixels, int size, const dg_cat *cat); /* (size, size, 3) */

/* Colour of the fur at a place on the head, the ears or the body. */
dg_rgb dg_cat_coat(const dg_cat *cat, double x, double y);
dg_rgb dg_cat_coat_ear(const dg_cat *cat, double x, double y);
dg_rgb dg_cat_coat_body(const dg_cat *cat, double x, double y);

static inline double dg_clamp01(double t) { return t < 0 ? 0 : t > 1 ? 1 : t; }
/* 0 at or before a, 1 at or behind b (which may be less than a), smooth between. */
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

/* Smooth noise in 0..1, one bump a unit. */
double dg_cat_noise(uint32_t grain, double x, double y);

#endif
