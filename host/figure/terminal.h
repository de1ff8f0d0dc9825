/* Images in a terminal. */
#ifndef DG_TERMINAL_H
#define DG_TERMINAL_H

#include "host/image/image.h"

/* 24-bit half blocks, supported nearly everywhere; sixel graphics; kitty's protocol. */
typedef enum { DG_TERMINAL_BLOCKS, DG_TERMINAL_SIXEL, DG_TERMINAL_KITTY } dg_terminal_way;

/* The best method for this terminal, from TERM, TERM_PROGRAM and similar variables. */
dg_terminal_way dg_terminal_best(void);

/* Convert the image to malloc'd text, `columns` wide: one pixel per half block, 10 per column for graphics. */
dg_err dg_terminal_draw(const dg_image *im, dg_terminal_way way, int columns, char **text);

/* Draw a grid of at most rows x cols images (n, S, S, C) that fits into half the height of the terminal. */
dg_err dg_terminal_grid(const uint8_t *pixels, int S, int C, int rows, int cols, dg_terminal_way way, char **text);

#endif
