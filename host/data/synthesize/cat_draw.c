#include "host/data/synthesize/cat.h"

#include <stddef.h>

/* A pixel is painted in layers from background to whiskers. A layer's coverage of the pixel is computed from the
 * signed distance between pixel centre and layer edge. */
typedef struct {
    const dg_cat *cat;
    double pixel; /* side of a pixel in face units */
    dg_rgb colour;
} point;

static double absolute(double t) { return t < 0 ? -t : t; }

static double cover(const point *p, double distance) { return dg_clamp01(.5 - distance / p->pixel); }

static void paint(point *p, dg_rgb colour, double alpha)
{
    if (alpha > 0) p->colour = dg_mix(p->colour, colour, alpha > 1 ? 1 : alpha);
}

/* Returns the fraction of the pixel that a line of width w covers. A line thinner than a pixel is painted fainter. */
static double cover_line(const point *p, double from_middle, double w)
{
    double most = w < p->pixel ? w / p->pixel : 1;
    double part = (w * .5 + p->pixel * .5 - from_middle) / p->pixel;
    return part < 0 ? 0 : part > most ? most : part;
}

static double ellipse(double x, double y, double rx, double ry)
{
    double k = dg_length(x / rx, y / ry), gradient = dg_length(x / (rx * rx), y / (ry * ry));
    return gradient > 0 ? k * (k - 1) / gradient : -(rx < ry ? rx : ry);
}

static double segment(double x, double y, double ax, double ay, double bx, double by)
{
    double dx = bx - ax, dy = by - ay, t = dg_clamp01(((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy));
    return dg_length(x - ax - t * dx, y - ay - t * dy);
}

/* Returns the signed distance to a triangle with corners in clockwise or counterclockwise order. */
static double triangle(double x, double y, const double corner[3][2])
{
    double nearest = 1e9;
    int left = 0, right = 0;
    for (int i = 0; i < 3; i++) {
        const double *a = corner[i], *b = corner[(i + 1) % 3];
        double d = segment(x, y, a[0], a[1], b[0], b[1]);
        if (d < nearest) nearest = d;
        if ((b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]) > 0) left++;
        else right++;
    }
    return left == 3 || right == 3 ? -nearest : nearest;
}

static double smooth_union(double a, double b, double k)
{
    double h = dg_clamp01(.5 + .5 * (b - a) / k);
    return b + (a - b) * h - k * h * (1 - h);
}

static void paint_background(point *p, double u, double v)
{
    const dg_cat *c = p->cat;
    double t = dg_clamp01(.5 + .5 * (u * c->back_x + v * c->back_y));
    switch (c->scene) {
    case DG_ROOM: {
        double floor = dg_smooth(.28, .34, v + .15 * c->back_x * u);
        p->colour = dg_mix(c->back[0], c->back[1], floor);
        p->colour = dg_times(p->colour, 1 - .15 * dg_smooth(.2, .34, v) * (1 - floor));
        break;
    }
    case DG_BOKEH:
        p->colour = dg_mix(c->back[1], c->back[0], t * .5);
        for (int i = 0; i < 5; i++) {
            double d = dg_length(u - c->spot[i][0], v - c->spot[i][1]) / c->spot[i][2];
            paint(p, dg_times(c->back[0], i % 2 ? 1.15 : .9), .5 * dg_smooth(1, .85, d));
        }
        break;
    case DG_CURTAIN: {
        double fold = dg_cat_noise(c->grain + 7, u * 4 + v * c->back_x * .5, 0);
        p->colour = dg_mix(c->back[0], c->back[1], fold * .9 + .1 * t);
        break;
    }
    case DG_GRASS: {
        double blade = dg_cat_noise(c->grain + 8, u * 14, v * 4) * .6 + dg_cat_noise(c->grain + 9, u * 4, v * 3) * .4;
        p->colour = dg_mix(c->back[1], c->back[0], blade);
        break;
    }
    default: p->colour = dg_mix(c->back[0], c->back[1], t);
    }
}

static void paint_body(point *p, double x, double y)
{
    const dg_cat *c = p->cat;
    double shape = smooth_union(ellipse(x, y - 1.28, c->body_w, .72), ellipse(x, y - .7, .38, .4), .25);
    shape += (.02 + c->fluff * .6) * (dg_cat_noise(c->grain + 10, x * 9, y * 9) - .5);
    double rim = dg_clamp01(1 + shape / .3), inside = cover(p, shape);
    if (inside <= 0) return;
    double under_chin = dg_smooth(.95, .5, y);
    dg_rgb fur = dg_cat_coat_body(c, x, y);
    double hair = dg_cat_noise(c->grain + 11, x * 12, y * 5) - .5;
    paint(p, dg_times(fur, 1 - .25 * rim * rim - .3 * under_chin + .1 * hair), inside);
    if (!c->collar) return;
    double band = absolute(y - .66 + .35 * x * x) - .055;
    paint(p, dg_times(c->collar_colour, 1 - .3 * absolute(x)), cover(p, band > shape ? band : shape));
    if (c->bell) {
        double bell = dg_length(x, y - .755) - .075;
        paint(p, (dg_rgb){.35, .25, .08}, cover(p, bell - .015));
        double shine = dg_smooth(.06, 0, dg_length(x + .02, y - .73));
        paint(p, dg_mix((dg_rgb){.93, .78, .30}, (dg_rgb){1, .95, .75}, shine), cover(p, bell));
    }
}

static void paint_ears(point *p, double x, double y)
{
    const dg_cat *c = p->cat;
    for (int side = -1; side <= 1; side += 2) {
        double sx = x * side, narrow = 1 + c->yaw * side * .5;
        const double outer[3][2] = {{c->ear_in * narrow, -.36},
                                    {c->ear_out * narrow, -.02},
                                    {c->ear_x * narrow, c->ear_y}};
        double ragged = dg_cat_noise(c->grain + 12, x * 11, y * 11) - .5;
        double shape = triangle(sx, y, outer) - .05 + c->fluff * .4 * ragged;
        double inside = cover(p, shape);
        if (inside <= 0) continue;
        dg_rgb fur = dg_cat_coat_ear(c, x, y);
        paint(p, dg_times(fur, .92 + .1 * c->light_x * side), inside);
        double mx = (c->ear_in + c->ear_out) * .5 * narrow, my = -.2;
        double inner[3][2];
        for (int i = 0; i < 3; i++) {
            double pull = i == 2 ? .76 : .66;
            inner[i][0] = mx + (outer[i][0] - mx) * pull;
            inner[i][1] = my + (outer[i][1] - my) * pull;
        }
        double hollow = triangle(sx, y, (const double(*)[2])inner) - .01;
        dg_rgb skin = dg_mix(c->ear_skin, fur, .25);
        skin = dg_times(skin, .8 + .3 * dg_smooth(-.3, -.8, y));
        double tuft = dg_smooth(.5, .75, dg_cat_noise(c->grain + 13, (sx + y * .3) * 22, y * 3));
        tuft *= dg_smooth(.05, -.15, hollow - .25 * (y + .55));
        paint(p, dg_mix(skin, dg_mix(c->white, fur, .4), tuft * .7), dg_smooth(.02, -.05, hollow) * inside);
    }
}

static double head_shape(const dg_cat *c, double x, double y)
{
    double ax = absolute(x);
    double shape = ellipse(x, y, c->head_w, c->head_h);
    shape = smooth_union(shape, ellipse(ax - .3 - c->cheeks, y - .17, .34, .30), .12);
    shape = smooth_union(shape, ellipse(x, y - .36, .27, .22), .1);
    double far = dg_length(x, y) + 1e-9;
    double tuft = dg_cat_noise(c->grain + 14, x / far * 8, y / far * 8) - .5;
    return shape + (.02 + c->fluff * 1.6 * dg_smooth(-.2, .3, y)) * tuft;
}

static void paint_head(point *p, double x, double y, double fx, double fy)
{
    const dg_cat *c = p->cat;
    double shape = head_shape(c, x, y), inside = cover(p, shape);
    paint(p, dg_times(p->colour, .6), dg_smooth(.12, -.02, shape) * .35 * dg_smooth(-.1, .3, y));
    if (inside <= 0) return;
    dg_rgb fur = dg_cat_coat(c, fx, fy);
    double rim = dg_clamp01(1 + shape / .28);
    double light = 1.02 + .10 * (c->light_x * x - y) - .22 * rim * rim;
    light += .16 * (dg_cat_noise(c->grain + 15, fx * 13, fy * 6 - absolute(fx) * 3) - .5);
    light += .05 * dg_smooth(.10, .02, absolute(fx)) * dg_smooth(-.3, -.1, fy) * dg_smooth(.2, .1, fy);
    double socket = dg_smooth(.16, .04, absolute(absolute(fx) - .12));
    light -= .10 * socket * dg_smooth(-.22, -.05, fy) * dg_smooth(.16, .02, fy);
    paint(p, dg_times(fur, light), inside);
}

static void paint_shut_eye(point *p, double x, double y, double w)
{
    const dg_cat *c = p->cat;
    double t = x / w, bend = c->shut_bend * w;
    double slope = -2 * bend * t / w, off = absolute(y - bend * (1 - t * t) + .02) / dg_length(1, slope);
    double beyond = absolute(t) > 1 ? (absolute(t) - 1) * w : 0;
    paint(p, c->lid, cover_line(p, dg_length(off, beyond), .045));
}

static void paint_eye(point *p, double fx, double fy, int which)
{
    const dg_cat *c = p->cat;
    double side = which ? 1 : -1, x = (fx - side * c->eye_x) * side, y = fy - c->eye_y, w = c->eye_w;
    if (absolute(x) > 2 * w || absolute(y) > 2 * w) return;
    double outward = x * c->cos_eye - y * c->sin_eye, down = x * c->sin_eye + y * c->cos_eye;
    if (c->shut[which]) {
        paint_shut_eye(p, outward, down, w);
        return;
    }
    double h = w * c->eye_open[which], radius = (w * w + h * h) / (2 * h), lift = radius - h;
    double up = dg_length(outward, down - lift) - radius, low = dg_length(outward, down + lift) - radius;
    double lens = up > low ? up : low;
    paint(p, c->line, cover(p, lens - .022 - .012 * dg_smooth(.02, -.05, down)));
    double inside = cover(p, lens);
    if (inside <= 0) return;
    double gx = outward - c->gaze_x * w * .4 * side, gy = down - c->gaze_y * h * .4;
    double from_middle = dg_length(gx, gy) / w;
    dg_rgb iris = dg_times(c->iris[which], 1.12 - .5 * dg_smooth(.55, 1.1, from_middle));
    iris = dg_times(iris, 1 - .35 * dg_smooth(-.2, -1, down / h));
    paint(p, iris, inside);
    double pupil = ellipse(gx, gy, w * (.14 + .55 * c->pupil), h * (.72 + .2 * c->pupil));
    paint(p, (dg_rgb){.05, .05, .06}, cover(p, pupil) * inside);
    double hx = x * side - (c->light_x < 0 ? -.32 : .32) * w, hy = y + .36 * h;
    paint(p, (dg_rgb){1, 1, 1}, cover(p, dg_length(hx, hy) - .24 * w) * inside * .95);
    double second = dg_length(hx + .5 * w * (c->light_x < 0 ? -1 : 1), hy - .75 * h) / (.2 * w);
    paint(p, (dg_rgb){1, 1, 1}, dg_smooth(1, 0, second) * inside * .4);
}

static void paint_mouth(point *p, double x, double y)
{
    const dg_cat *c = p->cat;
    double ax = absolute(x);
    if (ax > .4 || y < .05 || y > .6) return;
    if (c->mouth == DG_MOUTH_OPEN) {
        paint(p, c->line, cover(p, ellipse(x, y - .36, .095, .095)));
        paint(p, (dg_rgb){.82, .42, .44}, cover(p, ellipse(x, y - .41, .06, .045)));
    } else if (c->mouth == DG_MOUTH_TONGUE) {
        double tongue = ellipse(x, y - .34, .05, .075);
        paint(p, (dg_rgb){.55, .28, .30}, cover(p, tongue - .012));
        paint(p, (dg_rgb){.92, .55, .57}, cover(p, tongue));
    }
    double r = c->mouth == DG_MOUTH_SMILE ? .095 : .075, off = absolute(dg_length(ax - r, y - .27) - r);
    double arc = y > .262 ? off : .1;
    double stem = segment(x, y, 0, .2, 0, .275);
    paint(p, c->line, cover_line(p, arc < stem ? arc : stem, .026) * .9);
    const double w = c->nose_w, corner[3][2] = {{-w, .135}, {w, .135}, {0, .205}};
    double nose = triangle(x, y, corner) - .022;
    paint(p, c->line, cover(p, nose - .012) * .6);
    paint(p, dg_times(c->nose, .85 + .3 * dg_smooth(.2, .12, y)), cover(p, nose));
    double shine = dg_smooth(1, 0, dg_length(x - .02 * c->light_x, (y - .135) * 1.6) / .04);
    paint(p, dg_mix(c->nose, (dg_rgb){1, 1, 1}, .5), shine * .5);
}

static void paint_whiskers(point *p, double x, double y)
{
    const dg_cat *c = p->cat;
    double ax = absolute(x), strength = 0;
    for (int i = 0; i < 3; i++) {
        double spot = dg_length((ax - .13 - .035 * (i % 2)) * 1.1, y - .235 - .045 * i);
        paint(p, c->line, cover(p, spot - .008) * .45);
        double y0 = .24 + .035 * i, x1 = .17 + c->whisker_length, y1 = y0 - c->whisker_lift + .11 * (i - 1);
        double xm = (.17 + x1) * .5, ym = (y0 + y1) * .5 - .05 * absolute(i - .5);
        double a = segment(ax, y, .17, y0, xm, ym), b = segment(ax, y, xm, ym, x1, y1);
        double line = cover_line(p, a < b ? a : b, .016);
        if (line > strength) strength = line;
    }
    paint(p, c->whisker, strength * .85);
}

static uint8_t byte(double t) { return (uint8_t)(dg_clamp01(t) * 255 + .5); }

void dg_cat_draw(uint8_t *pixels, dg_size size, const dg_cat *c)
{
    const double side = dg_shorter_side(size), right = size.W / side, bottom = size.H / side;
    for (int row = 0; row < size.H; row++)
        for (int column = 0; column < size.W; column++) {
            double u = (2 * column + 1.0) / side - right, v = (2 * row + 1.0) / side - bottom;
            point p = {.cat = c, .pixel = 2.0 / side / c->scale};
            paint_background(&p, u, v);
            double dx = (u - c->shift_x) / c->scale, dy = (v - c->shift_y) / c->scale;
            paint_body(&p, dx - c->body_x, dy);
            double x = dx * c->cos_tilt + dy * c->sin_tilt, y = dy * c->cos_tilt - dx * c->sin_tilt;
            paint_ears(&p, x, y);
            /* Turning the head shifts the middle of the face most. The rim of the head stays in place. */
            double round = dg_clamp01(1 - x * x / .5 - y * y / .5);
            double fx = x - c->yaw * round, fy = y - c->pitch * round;
            paint_head(&p, x, y, fx, fy);
            paint_eye(&p, fx, fy, 0);
            paint_eye(&p, fx, fy, 1);
            paint_mouth(&p, fx, fy);
            paint_whiskers(&p, fx, fy);
            double light = c->exposure * (1 - .08 * (u * u + v * v) * .5);
            uint8_t *out = pixels + ((size_t)row * (size_t)size.W + (size_t)column) * 3;
            out[0] = byte(p.colour.r * light * (1 + c->warmth));
            out[1] = byte(p.colour.g * light);
            out[2] = byte(p.colour.b * light * (1 - c->warmth));
        }
}
