/* Shows images in a terminal by half-block characters in 24-bit colours. */
#pragma once

#include "host/image/image.h"

/* Convert an image to malloc'd terminal output of at most `columns` columns of one pixel. */
dg_err dg_terminal_draw(const dg_image *im, int columns, char **text);

/* Draw a grid of at most rows x cols images (n, S.H, S.W, C) that fits into half the height of the terminal. */
dg_err dg_terminal_grid(const uint8_t *pixels, dg_size S, int C, int rows, int cols, char **text);
