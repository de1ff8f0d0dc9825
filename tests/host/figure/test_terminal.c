/* Decodes the text that draws an image in a terminal, and compares it with the image. */
#include "host/figure/terminal.h"

#include <string.h>

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
    DG_CHECK(dg_terminal_grid(pixels, 8, 3, 8, 8, &text) == DG_OK);
    int lines = 0;
    for (const char *c = text; *c; c++) lines += *c == '\n';
    DG_CHECKF(lines == 11, "%d lines", lines); /* a line shows two of the 22 rows of pixels */
    free(text);
    DG_CHECK(dg_terminal_grid(pixels, 8, 3, 1, 1, &text) == DG_OK);
    free(text);
}

int main(void)
{
    fclose(stderr);
    blocks(3);
    blocks(1);
    grids();
    return dg_test_report();
}
