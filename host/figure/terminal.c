#include "host/figure/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/base/memory_file.h"
#include "host/figure/images.h"

enum { EACH = 12 }; /* min columns per image */

static const uint8_t *at(const dg_image *im, int x, int y)
{
    return im->pixels + ((size_t)y * (size_t)im->W + (size_t)x) * (size_t)im->C;
}

static void put_color(FILE *to, int ground, const dg_image *im, int x, int y)
{
    const uint8_t *p = at(im, x, y);
    fprintf(to, "\033[%d;2;%d;%d;%dm", ground, p[0], p[im->C == 3], p[im->C == 3 ? 2 : 0]);
}

/* A character shows two pixels: its upper half in the foreground colour, and its lower half in the background
 * colour. */
static void put_blocks(FILE *to, const dg_image *im)
{
    for (int y = 0; y < im->H; y += 2) {
        for (int x = 0; x < im->W; x++) {
            put_color(to, 38, im, x, y);
            if (y + 1 < im->H) put_color(to, 48, im, x, y + 1);
            fputs("\u2580", to);
        }
        fputs("\033[0m\n", to);
    }
}

dg_err dg_terminal_draw(const dg_image *im, int columns, char **text)
{
    dg_image shown = {0};
    dg_memory_file m = {0};
    const int W = columns < im->W ? columns : im->W, H = (int)((int64_t)im->H * W / im->W);
    dg_err e = dg_image_resize(im, W, H > 0 ? H : 1, &shown);
    FILE *to = e ? NULL : dg_memory_open(&m);
    if (!e && !to) e = dg_fail(DG_DEVICE, "out of memory for a preview");
    if (!e) put_blocks(to, &shown);
    dg_image_free(&shown);
    if (to && !dg_memory_close(to, &m) && !e) e = dg_fail(DG_DEVICE, "out of memory for a preview");
    if (e) free(m.text);
    else *text = m.text;
    return e;
}

dg_err dg_terminal_grid(const uint8_t *pixels, dg_size S, int C, int rows, int cols, char **text)
{
    struct winsize w;
    const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 && w.ws_row > 0;
    const int columns = known ? w.ws_col : 80, lines = known ? w.ws_row : 24;
    const int across = columns / EACH, down = lines / EACH; /* a terminal's line is twice as high as a column is wide */
    dg_image im;
    cols = across < 1 ? 1 : across < cols ? across : cols;
    rows = down < 1 ? 1 : down < rows ? down : rows;
    dg_err e = dg_sheet(pixels, rows * cols, S, C, rows, cols, &im);
    if (e) return e;
    dg_lay_over_white(&im);
    e = dg_terminal_draw(&im, columns - 1, text);
    dg_image_free(&im);
    return e;
}
