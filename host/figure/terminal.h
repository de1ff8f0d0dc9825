/* Shows images in a terminal. */
#ifndef DG_TERMINAL_H
#define DG_TERMINAL_H

#include "host/image/image.h"

/* Methods to show an image in a terminal: half blocks in 24-bit colours, sixel graphics, kitty's protocol. */
typedef enum { DG_TERMINAL_BLOCKS, DG_TERMINAL_SIXEL, DG_TERMINAL_KITTY } dg_terminal_way;

dg_terminal_way dg_terminal_best(void);

/* Convert an image to malloc'd terminal output of width `columns`. A column is 1 pixel with half blocks, and 10
 * pixels with graphics. */
dg_err dg_terminal_draw(const dg_image *im, dg_terminal_way way, int columns, char **text);

/* Draw a grid of at most rows x cols images (n, S, S, C) that fits into half the height of the terminal. */
dg_err dg_terminal_grid(const uint8_t *pixels, int S, int C, int rows, int cols, dg_terminal_way way, char **text);

#endif
