/* Images that are drawn: grids of samples, enlarged images, plots, animated GIF. */
#ifndef DG_IMAGES_H
#define DG_IMAGES_H

#include "host/image/encode.h"

/* n images (n, S, S, C) into rows x cols with a 2-pixel gap, like torchvision's make_grid(padding=2): missing
 * ones stay black, with four channels they and the gaps transparent. */
dg_err dg_sheet(const uint8_t *pixels, int n, int S, int C, int rows, int cols, dg_image *out);

/* Value k of the three that a pixel of 1, 3 or 4 channels has where there is no alpha: it is laid over white. */
static inline uint8_t dg_opaque_value(const uint8_t *pixel, int channels, int k)
{
    if (channels < 3) return *pixel;
    if (channels == 3) return pixel[k];
    const unsigned a = pixel[3];
    return (uint8_t)((pixel[k] * a + 255 * (255 - a) + 127) / 255);
}
/* The same for a whole image of four channels, which has three then. */
void dg_lay_over_white(dg_image *im);

/* So that people can look at it: how many times an image of this size is enlarged; scale 0: to about 800 pixels. */
int dg_scale_of(int scale, int W, int H);
/* Each pixel becomes scale x scale of them, so that nothing is smoothed. */
dg_err dg_enlarge(dg_image *im, int scale);

/* Line plots with axes, ticks, labels, legend. */
typedef struct {
    const char *label;
    uint8_t color[3];
    int n;
    const double *x, *y; /* NaN y: a gap */
    bool thin;           /* per-step: light line; per-epoch means are drawn thick over it */
} dg_series;
typedef struct {
    const char *title, *x_label, *y_label;
    const dg_series *series;
    int count;
    bool fixed_y; /* y axis from y_min to y_max instead of from the data */
    double y_min, y_max;
} dg_plot;
/* `count` plots one above the other, W x H pixels in all. */
dg_err dg_plots_draw(const dg_plot *plots, int count, int W, int H, dg_image *out);

/* Animated GIF through giflib, looping, `ms` milliseconds a frame; frames (n, H, W, 3), enlarged `scale` times; one
 * palette for all. */
dg_err dg_gif_write(const char *path, const uint8_t *frames, int n, int W, int H, int scale, int ms);

#endif
