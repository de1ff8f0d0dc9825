/* Drawn cat faces. The file cat.c chooses random properties and computes the coat's colour. The file cat_draw.c
 * paints each pixel. Lengths are in face units, in which the head measures about 1.3 x 1.1. In face coordinates, x
 * points right and y points down. The point (0, 0) is between the eyes and slightly below them. */
#pragma once

#include "core/base/image_size.h"
#include "host/data/synthesize/paint.h"

typedef enum { DG_SOLID, DG_TABBY, DG_POINTS, DG_BICOLOUR, DG_CALICO, DG_TORTIE, DG_PATTERNS } dg_pattern;
typedef enum { DG_GRADIENT, DG_ROOM, DG_BOKEH, DG_CURTAIN, DG_GRASS, DG_SCENES } dg_scene;
typedef enum { DG_MOUTH_PLAIN, DG_MOUTH_SMILE, DG_MOUTH_OPEN, DG_MOUTH_TONGUE } dg_mouth;

typedef struct {
    uint32_t grain; /* random key of the noise in the coat */

    dg_scene scene;
    dg_rgb back[2];
    double back_x, back_y; /* direction of the background's colour gradient, as a unit vector */
    double spot[5][3];

    dg_pattern pattern;
    bool striped;
    dg_rgb fur, dark, white; /* fur: main colour; dark: stripes, points or patches; white: bib and muzzle */
    dg_rgb ginger;
    double white_face; /* share of the muzzle that is white, 0 to 1 */
    double blaze, stripe_phase, patch_x, patch_y;

    double scale, shift_x, shift_y, sin_tilt, cos_tilt, yaw, pitch;
    double head_w, head_h, cheeks, fluff;
    double ear_x, ear_y, ear_in, ear_out; /* (ear_x, ear_y): tip of an ear; ear_in, ear_out: ends of the ear's base */
    dg_rgb ear_skin;
    double body_x, body_w;

    double eye_x, eye_y, eye_w, eye_open[2], sin_eye, cos_eye, pupil, gaze_x, gaze_y;
    bool shut[2];
    double shut_bend; /* curvature of closed eyes: > 0 asleep, < 0 happy */
    dg_rgb iris[2];
    dg_rgb nose, line, lid;
    double nose_w;
    dg_mouth mouth;
    dg_rgb whisker;
    double whisker_lift, whisker_length;

    bool collar, bell;
    dg_rgb collar_colour;
    double light_x, exposure, warmth;
} dg_cat;

void dg_cat_choose(dg_cat *cat, uint64_t seed, int number);
void dg_cat_draw(uint8_t *pixels, dg_size size, const dg_cat *cat); /* (size.H, size.W, 3) */

dg_rgb dg_cat_coat(const dg_cat *cat, double x, double y);
dg_rgb dg_cat_coat_ear(const dg_cat *cat, double x, double y);
dg_rgb dg_cat_coat_body(const dg_cat *cat, double x, double y);
