#include "host/figure/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/base/base64.h"
#include "core/base/memory_file.h"
#include "host/figure/images.h"

enum { COLUMN = 10, LEVELS = 6, COLORS = LEVELS * LEVELS * LEVELS, BAND = 6, PIECE = 3072, EACH = 12 };

static bool says(const char *name, const char *part)
{
    const char *value = getenv(name);
    return value && strstr(value, part);
}

dg_terminal_way dg_terminal_best(void)
{
    if (says("TMUX", "") || says("TERM", "screen")) return DG_TERMINAL_BLOCKS; /* tmux and screen support no graphics */
    if (says("KITTY_WINDOW_ID", "") || says("TERM", "kitty") || says("TERM_PROGRAM", "ghostty") ||
        says("TERM_PROGRAM", "WezTerm"))
        return DG_TERMINAL_KITTY;
    if (says("TERM", "sixel") || says("TERM", "foot") || says("TERM", "mlterm") || says("TERM_PROGRAM", "mintty"))
        return DG_TERMINAL_SIXEL;
    return DG_TERMINAL_BLOCKS;
}

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

static int color_of(const dg_image *im, int x, int y)
{
    const uint8_t *p = at(im, x, y);
    int color = 0;
    for (int k = 0; k < 3; k++) color = color * LEVELS + (p[im->C == 3 ? k : 0] * (LEVELS - 1) + 127) / 255;
    return color;
}

static int bits_of(const dg_image *im, int x, int top, int color)
{
    int bits = 0;
    for (int i = 0; i < BAND && top + i < im->H; i++) bits |= (color_of(im, x, top + i) == color) << i;
    return bits;
}

static void put_run(FILE *to, int n, int bits)
{
    if (n > 3) fprintf(to, "!%d%c", n, bits + 63);
    else
        while (n-- > 0) fputc(bits + 63, to);
}

static void put_band(FILE *to, const dg_image *im, int top)
{
    bool used[COLORS] = {false};
    for (int y = top; y < top + BAND && y < im->H; y++)
        for (int x = 0; x < im->W; x++) used[color_of(im, x, y)] = true;
    for (int color = 0; color < COLORS; color++) {
        int run = 0, before = 0;
        if (!used[color]) continue;
        fprintf(to, "#%d", color);
        for (int x = 0; x < im->W; x++, run++) {
            const int bits = bits_of(im, x, top, color);
            if (bits != before) put_run(to, run, before), run = 0;
            before = bits;
        }
        put_run(to, run, before);
        fputc('$', to);
    }
    fputc('-', to);
}

/* Write DEC sixels with a palette of LEVELS^3 colours. RGB values are in percent. */
static void put_sixel(FILE *to, const dg_image *im)
{
    fprintf(to, "\033P0;1q\"1;1;%d;%d", im->W, im->H);
    for (int c = 0; c < COLORS; c++)
        fprintf(to, "#%d;2;%d;%d;%d", c, c / LEVELS / LEVELS * 20, c / LEVELS % LEVELS * 20, c % LEVELS * 20);
    for (int y = 0; y < im->H; y += BAND) put_band(to, im, y);
    fputs("\033\\\n", to);
}

/* Write a PNG by kitty's protocol: base64, in chunks of 4096 characters. */
static dg_err put_kitty(FILE *to, const dg_image *im)
{
    void *data;
    size_t bytes;
    const dg_err e = dg_png_encode(im, NULL, 0, &data, &bytes);
    if (e) return e;
    for (size_t i = 0; i < bytes; i += PIECE) {
        const size_t n = bytes - i < PIECE ? bytes - i : PIECE;
        fprintf(to, "\033_G%sm=%d;", i ? "" : "a=T,f=100,q=2,", i + n < bytes);
        dg_base64(to, (const uint8_t *)data + i, n);
        fputs("\033\\", to);
    }
    fputc('\n', to);
    free(data);
    return DG_OK;
}

/* Resize an image to width W. For graphics protocols, enlarge only by integer factors, without smoothing. */
static dg_err fit(const dg_image *im, int W, bool graphics, dg_image *out)
{
    if (W > im->W && graphics) {
        const size_t bytes = (size_t)im->W * (size_t)im->H * (size_t)im->C;
        *out = (dg_image){im->W, im->H, im->C, malloc(bytes)};
        if (!out->pixels) return dg_fail(DG_DEVICE, "out of memory for a preview");
        memcpy(out->pixels, im->pixels, bytes);
        return dg_enlarge(out, W / im->W);
    }
    if (W > im->W) W = im->W;
    const int H = (int)((int64_t)im->H * W / im->W);
    return dg_image_resize(im, W, H > 0 ? H : 1, out);
}

dg_err dg_terminal_draw(const dg_image *im, dg_terminal_way way, int columns, char **text)
{
    dg_image shown = {0};
    dg_memory_file m = {0};
    dg_err e = fit(im, way == DG_TERMINAL_BLOCKS ? columns : columns * COLUMN, way != DG_TERMINAL_BLOCKS, &shown);
    FILE *to = e ? NULL : dg_memory_open(&m);
    if (!e && !to) e = dg_fail(DG_DEVICE, "out of memory for a preview");
    if (!e && way == DG_TERMINAL_BLOCKS) put_blocks(to, &shown);
    if (!e && way == DG_TERMINAL_SIXEL) put_sixel(to, &shown);
    if (!e && way == DG_TERMINAL_KITTY) e = put_kitty(to, &shown);
    dg_image_free(&shown);
    if (to && !dg_memory_close(to, &m) && !e) e = dg_fail(DG_DEVICE, "out of memory for a preview");
    if (e) free(m.text);
    else *text = m.text;
    return e;
}

dg_err dg_terminal_grid(const uint8_t *pixels, int S, int C, int rows, int cols, dg_terminal_way way, char **text)
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
    e = dg_terminal_draw(&im, way, columns - 1, text);
    dg_image_free(&im);
    return e;
}
