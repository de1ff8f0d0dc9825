/* Pictures that we write: PNG with text chunks, grids of samples, loss curves, animated GIF. */
#ifndef DG_PICTURES_H
#define DG_PICTURES_H

#include "core/base/file_io.h"
#include "core/base/err.h"
#include "host/image/image.h"
#include "host/run/log_text.h"

typedef struct {
    const char *key, *value; /* Latin-1 keyword of 1..79 bytes, value */
} dg_text;

/* 8-bit PNG, written whole or not at all (file_io.h). The same pixels and texts give the same bytes. */
dg_err dg_png_write(const char *path, const dg_image *im, const dg_text *text, int texts);
/* Into this directory (file_io.h); dir = NULL: the one that the path names. */
dg_err dg_png_write_in(const dg_directory *dir, const char *path, const dg_image *im, const dg_text *text, int texts);
/* Encode into memory: *data malloc'd. */
dg_err dg_png_encode(const dg_image *im, const dg_text *text, int texts, void **data, size_t *bytes);
/* The tEXt chunks of a PNG file: *text malloc'd (one block, freed with free). For `dcgan info`. */
dg_err dg_png_texts(const char *path, dg_text **text, int *texts, int *W, int *H);

/* n pictures (n, S, S, C) into rows x cols with a 2-pixel gap, like torchvision's make_grid(padding=2): missing
 * ones stay black. */
dg_err dg_sheet(const uint8_t *pixels, int n, int S, int C, int rows, int cols, dg_image *out);

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

/* A run's curves.png, 900 wide: the plots of its recipe, each step thin and each epoch's mean thick, over epochs. n may
 * be 0. */
dg_err dg_curves(const dg_recipe *r, const dg_log_row *rows, long n, const char *title, dg_image *out);

/* Animated GIF through giflib, looping, `ms` milliseconds a frame; frames (n, H, W, 3); one palette for all. */
dg_err dg_gif_write(const char *path, const uint8_t *frames, int n, int W, int H, int ms);

#endif
