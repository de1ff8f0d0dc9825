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

static const char *draw(const dg_image *im, dg_terminal_way way, int columns)
{
    static char *text;
    free(text);
    text = NULL;
    if (!DG_WORKS(dg_terminal_draw(im, way, columns, &text))) return "";
    return text;
}

/* Each half-block character shows two pixels as foreground and background colour. */
static void blocks(int C)
{
    dg_image im = make(C);
    const char *s = draw(&im, DG_TERMINAL_BLOCKS, 80);
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
    const char *narrow = draw(&im, DG_TERMINAL_BLOCKS, 4);
    int lines = 0, cells = 0;
    for (const char *c = narrow; *c; c++) lines += *c == '\n', cells += strncmp(c, "▀", 3) == 0;
    DG_CHECKF(lines == 2 && cells == 8, "%d lines, %d cells", lines, cells);
    dg_image_free(&im);
}

/* Decodes sixels: palette colours, six pixels of a column per character, and run lengths. */
static void sixels(int C)
{
    dg_image im = make(C);
    /* one column has only 10 pixels, so the image is not enlarged */
    const char *s = draw(&im, DG_TERMINAL_SIXEL, 1);
    static int color[256][3], pixel[12][16];
    int w = 0, h = 0, n = 0, x = 0, top = 0, now = 0, most = 0;
    memset(pixel, -1, sizeof pixel);
    DG_CHECK(sscanf(s, "\033P0;1q\"1;1;%d;%d%n", &w, &h, &n) == 2 && w == W && h == H);
    for (s += n; *s && *s != '\033';) {
        int k, r, g, b, run = 1;
        n = 0;
        if (sscanf(s, "#%d;2;%d;%d;%d%n", &k, &r, &g, &b, &n) == 4) {
            color[k][0] = r, color[k][1] = g, color[k][2] = b;
        } else if (sscanf(s, "#%d%n", &now, &n) == 1) {
        } else if (*s == '$' || *s == '-') {
            if (*s == '-') top += 6;
            x = 0;
            n = 1;
        } else {
            if (*s == '!') sscanf(s, "!%d%n", &run, &n);
            for (int i = 0; i < run; i++, x++)
                for (int bit = 0; bit < 6 && x < 16 && top + bit < 12; bit++)
                    if ((s[n] - 63) >> bit & 1) pixel[top + bit][x] = now;
            n++;
        }
        s += n;
    }
    DG_CHECK(!strcmp(s, "\033\\\n"));
    for (int y = 0; y < 12; y++)
        for (x = 0; x < 16; x++) {
            if (y >= H || x >= W) most += pixel[y][x] == -1 ? 0 : 1000;
            for (int k = 0; y < H && x < W && k < 3; k++) {
                const int is = pixel[y][x] < 0 ? 999 : color[pixel[y][x]][k] * 255 / 100;
                const int off = abs(is - im.pixels[(y * W + x) * C + (C == 3 ? k : 0)]);
                if (off > most) most = off;
            }
        }
    DG_CHECKF(most <= 26, "%d channels: off by %d", C, most); /* six palette levels per channel */
    dg_image_free(&im);
}

static int digit(char c)
{
    static const char all[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(all, c) : NULL;
    return at ? (int)(at - all) : -1;
}

/* The terminal kitty receives a PNG as base64 in chunks. */
static void kitty(void)
{
    dg_image im = {60, 50, 3, malloc(60 * 50 * 3)}, back;
    unsigned long long state = 5;
    for (int i = 0; i < 60 * 50 * 3; i++) im.pixels[i] = (uint8_t)(127.5 + 127 * dg_test_random(&state));
    const char *s = draw(&im, DG_TERMINAL_KITTY, 13); /* 13 columns have 130 pixels, so the image is enlarged by 2 */
    static uint8_t file[1 << 17];
    size_t bytes = 0;
    int pieces = 0, more = 1;
    while (more && !strncmp(s, "\033_G", 3)) {
        s += 3;
        if (!pieces++) DG_CHECK(!strncmp(s, "a=T,f=100,", 10));
        more = *(strstr(s, "m=") + 2) == '1';
        s = strchr(s, ';') + 1;
        const char *end = strchr(s, '\033');
        DG_CHECK(end - s <= 4096 && (end - s) % 4 == 0 && (!more || end[-1] != '='));
        for (; s < end; s += 4) {
            unsigned v = 0;
            for (int i = 0; i < 4; i++) v = v << 6 | (unsigned)(digit(s[i]) & 63);
            for (int i = 0; i < 3; i++)
                if (i == 0 || digit(s[i + 1]) >= 0) file[bytes++] = (uint8_t)(v >> (16 - 8 * i));
        }
        s += 2;
    }
    DG_CHECKF(pieces > 2 && !strcmp(s, "\n"), "%d pieces", pieces);
    if (!DG_CHECK(dg_image_decode(file, bytes, &(dg_decode_options){0}, &back) == DG_OK)) return;
    int wrong = back.W != 120 || back.H != 100;
    for (int i = 0; !wrong && i < 120 * 100; i++)
        wrong += memcmp(back.pixels + 3 * i, im.pixels + 3 * (i / 120 / 2 * 60 + i % 120 / 2), 3) != 0;
    DG_CHECK(!wrong);
    dg_image_free(&im);
    dg_image_free(&back);
}

static void ways(void)
{
    static const char *const name[] = {"TMUX", "TERM", "TERM_PROGRAM", "KITTY_WINDOW_ID"};
    static const struct {
        const char *value[4];
        dg_terminal_way way;
    } t[] = {{{NULL, "xterm-256color"}, DG_TERMINAL_BLOCKS},  {{NULL, "xterm-kitty"}, DG_TERMINAL_KITTY},
             {{NULL, "xterm", NULL, "1"}, DG_TERMINAL_KITTY}, {{NULL, "foot"}, DG_TERMINAL_SIXEL},
             {{"/tmp/x", "xterm-kitty"}, DG_TERMINAL_BLOCKS}, {{NULL, "xterm", "WezTerm"}, DG_TERMINAL_KITTY},
             {{NULL, "screen.foot"}, DG_TERMINAL_BLOCKS},     {{NULL, NULL}, DG_TERMINAL_BLOCKS}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        for (int k = 0; k < 4; k++) {
            if (t[i].value[k]) setenv(name[k], t[i].value[k], 1);
            else unsetenv(name[k]);
        }
        DG_CHECKF(dg_terminal_best() == t[i].way, "%s: %d", t[i].value[1] ? t[i].value[1] : "", dg_terminal_best());
    }
}

/* Without a terminal, the size is 80 columns and 24 lines, which is enough for six images in two rows. */
static void grids(void)
{
    static uint8_t pixels[64 * 8 * 8 * 3];
    char *text = NULL;
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(i * 7);
    DG_CHECK(dg_terminal_grid(pixels, 8, 3, 8, 8, DG_TERMINAL_BLOCKS, &text) == DG_OK);
    int lines = 0;
    for (const char *c = text; *c; c++) lines += *c == '\n';
    DG_CHECKF(lines == 11, "%d lines", lines); /* a line shows two of the 22 rows of pixels */
    free(text);
    DG_CHECK(dg_terminal_grid(pixels, 8, 3, 1, 1, DG_TERMINAL_BLOCKS, &text) == DG_OK);
    free(text);
}

int main(void)
{
    fclose(stderr);
    blocks(3);
    blocks(1);
    sixels(3);
    sixels(1);
    kitty();
    ways();
    grids();
    return dg_test_report();
}
