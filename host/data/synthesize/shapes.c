/* Draws images of shapes. The shape is the class; colours, position, size, rotation and noise are random. */
#include "host/data/synthesize/paint.h"
#include "host/data/synthesize/synthesize.h"

const char *const dg_shape_name[DG_SHAPES] = {"disc", "ring",    "square",       "triangle",        "cross",
                                              "star", "checker", "stripes-flat", "stripes-upright", "stripes-slanted"};

enum { DISC, RING, SQUARE, TRIANGLE, CROSS, STAR, CHECKER, FLAT, UPRIGHT, SLANTED };

typedef struct {
    int class;
    double x, y, radius;
    double cos_turn, sin_turn;
    double period, phase_x, phase_y;
    dg_rgb shape[2], back[2]; /* end colours of the colour gradients in the shape and in the background */
    double light_x, light_y, noise;
    uint32_t grain;
} shape;

static double magnitude(double t) { return t < 0 ? -t : t; }
static double larger(double a, double b) { return a > b ? a : b; }
static double smaller(double a, double b) { return a < b ? a : b; }

/* Compute cosine and sine of an angle from t = tan(angle / 2) in -1..1, without libm. */
static void turn(double t, double *x, double *y)
{
    *x = (1 - t * t) / (1 + t * t);
    *y = 2 * t / (1 + t * t);
}

static double apart(dg_rgb a, dg_rgb b)
{
    const double r = a.r - b.r, g = a.g - b.g, c = a.b - b.b;
    return dg_length(dg_length(r, g), c);
}

static dg_rgb colour(dg_dice *d)
{
    const double h = dg_uniform(d, 0, .9999), s = dg_uniform(d, .1, 1);
    return dg_hsv(h, s, dg_uniform(d, .15, 1));
}

static void choose_colours(dg_dice *d, shape *s)
{
    s->back[0] = colour(d);
    s->back[1] = dg_mix(s->back[0], colour(d), .4);
    for (int tries = 0; tries < 50; tries++) {
        s->shape[0] = colour(d);
        s->shape[1] = dg_mix(s->shape[0], colour(d), .3);
        double least = 9;
        for (int i = 0; i < 4; i++) least = smaller(least, apart(s->shape[i / 2], s->back[i % 2]));
        if (least > .55) return;
    }
    const double grey = s->back[0].r + s->back[0].g + s->back[0].b < 1.5 ? .9 : .1;
    s->shape[0] = s->shape[1] = (dg_rgb){grey, grey, grey};
}

static void choose(shape *s, uint64_t seed, int class, int number)
{
    dg_dice d = dg_dice_of(seed, (uint64_t)1 << 32 | ((uint64_t)number * DG_SHAPES + (uint64_t) class));
    s->class = class;
    choose_colours(&d, s);
    s->radius = dg_uniform(&d, .55, .9);
    s->x = dg_uniform(&d, s->radius - 1, 1 - s->radius);
    s->y = dg_uniform(&d, s->radius - 1, 1 - s->radius);
    turn(dg_uniform(&d, -1, 1), &s->cos_turn, &s->sin_turn);
    if (class >= FLAT) turn(dg_uniform(&d, -.12, .12), &s->cos_turn, &s->sin_turn); /* tilt of stripes */
    s->period = dg_uniform(&d, .4, .75);
    s->phase_x = dg_uniform(&d, 8, 9);
    s->phase_y = dg_uniform(&d, 8, 9);
    turn(dg_uniform(&d, -1, 1), &s->light_x, &s->light_y);
    s->noise = dg_uniform(&d, .02, .16);
    s->grain = (uint32_t)dg_uniform(&d, 0, 16777216);
}

/* Triangle wave with period 1 and values from -1 to 1, for t > -8. */
static double wave(double t)
{
    t -= (int)t;
    return 4 * magnitude(t - .5) - 1;
}

/* Returns the signed distance to a five-pointed star. Mirroring at the symmetry axes moves the point next to one
 * edge. */
static double star(double x, double y, double r)
{
    const double c = 0.80901699437494742, s = 0.58778525229247314; /* cosine and sine of 36 degrees */
    x = magnitude(x);
    double over = 2 * larger(c * x - s * y, 0);
    x -= over * c;
    y += over * s;
    over = 2 * larger(-c * x - s * y, 0);
    x = magnitude(x + over * c);
    y += over * s - r;
    const double ex = .45 * s, ey = .45 * c - 1, along = dg_clamp01((x * ex + y * ey) / (ex * ex + ey * ey) / r) * r;
    const double off = dg_length(x - ex * along, y - ey * along);
    return y * ex - x * ey < 0 ? -off : off;
}

/* Returns the approximate signed distance from the shape's edge. */
static double distance(const shape *s, double x, double y)
{
    const double r = s->radius, ax = magnitude(x), ay = magnitude(y), arm = .3 * r;
    const double across = wave(x / s->period + s->phase_x), down = wave(y / s->period + s->phase_y);
    switch (s->class) {
    case DISC: return dg_length(x, y) - .95 * r;
    case RING: return magnitude(dg_length(x, y) - .72 * r) - .23 * r;
    case SQUARE: return larger(ax, ay) - .75 * r;
    case TRIANGLE: return larger(y, .86602540378443865 * ax - .5 * y) - .58 * r;
    case CROSS: return smaller(larger(ax - r, ay - arm), larger(ax - arm, ay - r));
    case STAR: return star(x, y, r);
    case CHECKER: return across * down * s->period / 4;
    case UPRIGHT: return across * s->period / 4;
    case SLANTED: return wave((x + y) * .70710678118654752 / s->period + s->phase_x) * s->period / 4;
    default: return down * s->period / 4;
    }
}

static double grain_at(uint32_t grain, int i)
{
    uint32_t h = grain ^ (uint32_t)i * 0x9E3779B1u;
    h = (h ^ h >> 15) * 0x85EBCA77u;
    h = (h ^ h >> 13) * 0xC2B2AE3Du;
    return (double)(h >> 16) * (1.0 / 65535) - .5;
}

static dg_rgb paint(const shape *s, int side, double u, double v)
{
    const bool whole = s->class >= CHECKER;
    const double dx = whole ? u : u - s->x, dy = whole ? v : v - s->y;
    const double x = dx * s->cos_turn + dy * s->sin_turn, y = dy * s->cos_turn - dx * s->sin_turn;
    const double covered = dg_clamp01(.5 - distance(s, x, y) * side * .5);
    const double light = dg_clamp01(.5 + .5 * (u * s->light_x + v * s->light_y));
    const double cloud = .25 * (dg_cat_noise(s->grain + 1, 3 * u, 3 * v) - .5);
    const dg_rgb back = dg_times(dg_mix(s->back[0], s->back[1], light), 1 + cloud);
    return dg_mix(back, dg_mix(s->shape[0], s->shape[1], 1 - light), covered);
}

static uint8_t byte(double t) { return (uint8_t)(dg_clamp01(t) * 255 + .5); }

void dg_shape_draw(uint8_t *pixels, dg_size size, uint64_t seed, int class, int number)
{
    shape s;
    choose(&s, seed, class, number);
    const int side = dg_shorter_side(size);
    const double right = (double)size.W / side, bottom = (double)size.H / side;
    for (int row = 0, i = 0; row < size.H; row++)
        for (int column = 0; column < size.W; column++, i += 3, pixels += 3) {
            const dg_rgb c = paint(&s, side, (2 * column + 1.0) / side - right, (2 * row + 1.0) / side - bottom);
            pixels[0] = byte(c.r + s.noise * grain_at(s.grain, i));
            pixels[1] = byte(c.g + s.noise * grain_at(s.grain, i + 1));
            pixels[2] = byte(c.b + s.noise * grain_at(s.grain, i + 2));
        }
}
