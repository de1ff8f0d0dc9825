/* Drawn images: grids of samples, enlarged images, plots, animated GIF. */
#ifndef DG_IMAGES_H
#define DG_IMAGES_H

#include "host/image/encode.h"

/* Draw n images (n, S, S, C) as rows x cols with 2-pixel gaps, like torchvision's make_grid(padding=2). Missing images
 * and gaps are black, or transparent if C = 4. */
dg_err dg_sheet(const uint8_t *pixels, int n, int S, int C, int rows, int cols, dg_image *out);

/* Value of RGB channel k for a pixel of 1, 3 or 4 channels; alpha is composited over white. */
static inline uint8_t dg_opaque_value(const uint8_t *pixel, int channels, int k)
{
    if (channels < 3) return *pixel;
    if (channels == 3) return pixel[k];
    const unsigned a = pixel[3];
    return (uint8_t)((pixel[k] * a + 255 * (255 - a) + 127) / 255);
}
/* Convert an image of 4 channels to 3, composited over white. */
void dg_lay_over_white(dg_image *im);

/* The factor of enlargement for display. scale 0: choose a factor that gives about 800 pixels. */
int dg_scale_of(int scale, int W, int H);
/* Repeat each pixel scale x scale times, without smoothing. */
dg_err dg_enlarge(dg_image *im, int scale);

/* Write a looping GIF by giflib with `ms` milliseconds per frame; frames (n, H, W, 3), enlarged `scale` times, with one
 * palette. */
dg_err dg_gif_write(const char *path, const uint8_t *frames, int n, int W, int H, int scale, int ms);

#endif
