/* Draws grids of samples, enlarged images and animated GIFs. */
#pragma once

#include "host/image/encode.h"

/* Draw n images (n, S.H, S.W, C) as a grid of rows x cols images with 2-pixel gaps, like torchvision's
 * make_grid(padding=2). Gaps and cells without an image are black, or transparent if C = 4. */
dg_err dg_sheet(const uint8_t *pixels, int n, dg_size S, int C, int rows, int cols, dg_image *out);

/* Returns RGB channel k of a pixel with 1, 3 or 4 channels, composited over white. */
static inline uint8_t dg_opaque_value(const uint8_t *pixel, int channels, int k)
{
    if (channels < 3) return *pixel;
    if (channels == 3) return pixel[k];
    const unsigned a = pixel[3];
    return (uint8_t)((pixel[k] * a + 255 * (255 - a) + 127) / 255);
}
/* Convert n pixels with 1, 3 or 4 channels to RGB, composited over white. rgb must not overlap pixels. */
void dg_to_rgb(const uint8_t *pixels, size_t n, int channels, uint8_t *rgb);
/* Composite an RGBA image over white, which gives an RGB image. */
void dg_lay_over_white(dg_image *im);

/* Returns scale or, if scale is 0, the factor that enlarges the longer side to about 800 pixels. */
int dg_scale_of(int scale, int W, int H);
/* Repeat each pixel scale x scale times, without smoothing. */
dg_err dg_enlarge(dg_image *im, int scale);

/* Write frames (n, H, W, 3), enlarged `scale` times, as a looping GIF with one palette and `ms` ms per frame. */
dg_err dg_gif_write(const char *path, const uint8_t *frames, int n, int W, int H, int scale, int ms);
