/* Decodes the text that draws an image in a terminal, and compares it with the image. */
#include "failing.h"

#include "host/figure/terminal.h"

#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "host/figure/images.h"
#include "test.h"

enum { W = 9, H = 7 };

static dg_image make(int C)
{
    dg_image im = {W, H, C, malloc((size_t)(W * H * C))};
    for (int i = 0; i < W * H * C; i++) im.pixels[i] = (uint8_t)(i * 53);
    return im;
}

static const char *draw(const dg_image *im, int columns)
{
    static char *text;
    free(text);
    text = NULL;
    if (!DG_WORKS(dg_terminal_draw(im, columns, &text))) return "";
    return text;
}

/* Each half-block character shows two pixels as foreground and background colour. */
static void blocks(int C)
{
    dg_image im = make(C);
    const char *s = draw(&im, 80);
    int wrong = 0;
    for (int y = 0; y < H; y += 2) {
        for (int x = 0; x < W; x++)
            for (int half = 0; half < 2 && y + half < H; half++) {
                int ground, r, g, b, n = 0;
                const uint8_t *p = im.pixels + ((y + half) * W + x) * C;
                if (sscanf(s, "\033[%d;2;%d;%d;%dm%n", &ground, &r, &g, &b, &n) != 4) wrong++;
                wrong += ground != (half ? 48 : 38) || r != p[0] || g != p[C / 2] || b != p[C - 1];
                s += n;
                if (half || y + 1 == H) wrong += strncmp(s, "▀", 3) != 0, s += 3;
            }
        wrong += strncmp(s, "\033[0m\n", 5) != 0;
        s += 5;
    }
    DG_CHECKF(!wrong && !*s, "%d of %d channels wrong, %zu bytes left", wrong, C, strlen(s));
    const char *narrow = draw(&im, 4);
    int lines = 0, cells = 0;
    for (const char *c = narrow; *c; c++) lines += *c == '\n', cells += strncmp(c, "▀", 3) == 0;
    DG_CHECKF(lines == 2 && cells == 8, "%d lines, %d cells", lines, cells);
    dg_image_free(&im);
}

/* Without a terminal, the size is 80 columns and 24 lines, which is enough for six images in two rows. */
static void grids(void)
{
    static uint8_t pixels[64 * 8 * 8 * 3];
    char *text = NULL;
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(i * 7);
    DG_CHECK(dg_terminal_grid(pixels, dg_square(8), 3, 8, 8, &text) == DG_OK);
    int lines = 0;
    for (const char *c = text; *c; c++) lines += *c == '\n';
    DG_CHECKF(lines == 11, "%d lines", lines); /* a line shows two of the 22 rows of pixels */
    free(text);
    DG_CHECK(dg_terminal_grid(pixels, dg_square(8), 3, 1, 1, &text) == DG_OK);
    free(text);
}

/* On a terminal, the grid fits into half of its height and into its width. */
static void sizes(void)
{
    static const struct {
        struct winsize w;
        int lines;
    } t[] = {{{.ws_row = 24, .ws_col = 80}, 11},
             {{.ws_row = 40, .ws_col = 30}, 16},
             {{.ws_row = 5, .ws_col = 11}, 5},
             {{.ws_row = 24}, 11},
             {{.ws_col = 80}, 11}};
    static uint8_t pixels[64 * 8 * 8];
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY); /* gets the number of stderr */
    if (!DG_CHECKF(terminal == STDERR_FILENO, "terminal %d", terminal)) return;
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        char *text = NULL;
        DG_CHECK(!ioctl(terminal, TIOCSWINSZ, &t[i].w) && !dg_terminal_grid(pixels, dg_square(8), 1, 8, 8, &text));
        int lines = 0;
        for (const char *c = text; c && *c; c++) lines += *c == '\n';
        DG_CHECKF(lines == t[i].lines, "%d x %d: %d lines", t[i].w.ws_col, t[i].w.ws_row, lines);
        free(text);
    }
    close(terminal);
}

#if DG_FAILING
static char *grid;
static void nothing(void) { grid = NULL; }
static dg_err draws(void)
{
    static const uint8_t pixels[8 * 8];
    return dg_terminal_grid(pixels, dg_square(8), 1, 1, 1, &grid);
}
static void is_drawn(dg_err e)
{
    DG_CHECK(e ? e == DG_DEVICE && *dg_message() && !grid : *grid == '\033');
    free(grid);
}
#endif

int main(void)
{
    fclose(stderr);
    blocks(3);
    blocks(1);
    grids();
    sizes();
#if DG_FAILING
    DG_CHECK(each_call("grid", nothing, draws, is_drawn) > 2);
#endif
    return dg_test_report();
}
