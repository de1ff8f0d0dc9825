/* Images in a terminal. */
#ifndef DG_TERMINAL_H
#define DG_TERMINAL_H

#include "host/image/image.h"

/* Half blocks in 24-bit colour, which nearly all terminals have; sixel graphics; the protocol of kitty. */
typedef enum { DG_TERMINAL_BLOCKS, DG_TERMINAL_SIXEL, DG_TERMINAL_KITTY } dg_terminal_way;

/* What this terminal can, by TERM, TERM_PROGRAM and the like. */
dg_terminal_way dg_terminal_best(void);

/* The image as malloc'd text, so many columns wide: of half blocks each is a pixel, of graphics 10. */
dg_err dg_terminal_draw(const dg_image *im, dg_terminal_way way, int columns, char **text);

/* The first of rows x cols images (n, S, S, C), as many as the user's terminal has room for in half its height. */
dg_err dg_terminal_grid(const uint8_t *pixels, int S, int C, int rows, int cols, dg_terminal_way way, char **text);

#endif
