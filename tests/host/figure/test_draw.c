/* Tests lines and text pixel by pixel. */
#include "failing.h"

#include "host/figure/draw.h"

#include "test.h"

static const dg_color RED = {200, 0, 0};

static int pixel(const dg_image *im, int x, int y, int k) { return im->pixels[(y * im->W + x) * 3 + k]; }

static void lines_are_exact(void)
{
    dg_canvas c;
    DG_CHECK(dg_draw_open(&c, 12, 10) == DG_OK);
    /* seven pixels, from centre 2.5 to centre 8.5, get full colour */
    dg_draw_line(&c, 2.5, 4.5, 8.5, 4.5, 1);
    dg_draw_line(&c, 4.5, 4.5, 6.5, 4.5, 1); /* a second line does not darken pixels */
    dg_draw_paint(&c, RED);
    int wrong = 0;
    for (int y = 0; y < 10; y++)
        for (int x = 0; x < 12; x++) {
            int on = y == 4 && x >= 2 && x <= 8;
            wrong += abs(pixel(&c.im, x, y, 0) - (on ? 200 : 255)) > 1;
            wrong += abs(pixel(&c.im, x, y, 1) - (on ? 0 : 255)) > 1;
        }
    DG_CHECKF(wrong == 0, "%d pixels are wrong", wrong);
    /* a line between two rows of pixels gives each row half of the colour */
    dg_draw_line(&c, 2.5, 7, 8.5, 7, 1);
    dg_draw_paint(&c, (dg_color){0, 0, 0});
    DG_NEAR(pixel(&c.im, 5, 6, 0), 127.5, 1);
    DG_NEAR(pixel(&c.im, 5, 7, 0), 127.5, 1);
    dg_draw_line(&c, 2.5, 1.5, 8.5, 1.5, .5);
    dg_draw_paint(&c, (dg_color){0, 0, 0});
    DG_NEAR(pixel(&c.im, 5, 1, 0), 127.5, 1);
    dg_draw_close(&c);
    DG_CHECK(dg_draw_open(&c, 12, 10) == DG_OK);
    dg_draw_line(&c, -1e6, 5, 1e6, 5.0, 3);
    dg_draw_line(&c, 6, -1e9, 6, 1e9, 3);
    dg_draw_line(&c, 100, 100, 200, 200, 3);
    dg_draw_line(&c, 6, 5, 6, 5, 3); /* a point on a line */
    dg_draw_paint(&c, RED);
    /* lines end at the edges of the image; 12 x 2 and 2 x 8 pixels are fully covered, their neighbours by half */
    int full = 0;
    for (int y = 0; y < 10; y++)
        for (int x = 0; x < 12; x++) full += pixel(&c.im, x, y, 1) == 0;
    DG_CHECKF(full == 12 * 2 + 2 * 8, "%d pixels", full);
    DG_CHECK(pixel(&c.im, 6, 0, 1) == 0 && pixel(&c.im, 11, 5, 1) == 0 && pixel(&c.im, 0, 0, 1) == 255);
    dg_draw_close(&c);
    DG_CHECK(dg_draw_open(&c, 0, 10) == DG_USAGE);
    DG_CHECK(dg_draw_open(&c, 10, 20000) == DG_USAGE && dg_draw_open(&c, 20000, 10) == DG_USAGE);
    DG_CHECK(dg_draw_open(&c, 10, 0) == DG_USAGE);
}

/* Returns the number of dark pixels and sets `box` to their bounding box. */
static int inked(const dg_image *im, int box[4])
{
    int n = 0;
    box[0] = box[1] = 1 << 20;
    box[2] = box[3] = -1;
    for (int y = 0; y < im->H; y++)
        for (int x = 0; x < im->W; x++)
            if (pixel(im, x, y, 0) + pixel(im, x, y, 1) + pixel(im, x, y, 2) < 3 * 200) {
                n++;
                if (x < box[0]) box[0] = x;
                if (y < box[1]) box[1] = y;
                if (x > box[2]) box[2] = x;
                if (y > box[3]) box[3] = y;
            }
    return n;
}

static void every_character_is_drawn(void)
{
    static uint8_t seen[95][60 * 40 * 3];
    for (int i = 0; i < 95; i++) {
        dg_canvas c;
        int box[4];
        const char text[2] = {(char)(32 + i), 0};
        if (!DG_CHECK(dg_draw_open(&c, 60, 40) == DG_OK)) return;
        dg_draw_text(&c, 20, 20, 1, 1.3, false, text);
        dg_draw_paint(&c, (dg_color){0, 0, 0});
        int n = inked(&c.im, box), right = 20 + (int)dg_text_width(1, text);
        DG_CHECKF((n > 0) == (i > 0), "'%s' has %d dark pixels", text, n);
        if (n)
            DG_CHECKF(box[0] >= 19 && box[2] <= right + 1 && box[1] >= 10 && box[3] <= 25, "'%s' covers %d..%d, %d..%d",
                      text, box[0], box[2], box[1], box[3]);
        if (strchr("ABDEFHKLMNPRTUVWXYZ0123456789", text[0]))
            DG_CHECKF(n && box[1] == 11 && box[3] == 20, "'%s' is %d..%d high", text, box[1], box[3]);
        if (text[0] == 'O') { /* the letter fills its width and is symmetric */
            DG_CHECKF(box[0] == 20 && box[2] == 26, "O covers %d..%d", box[0], box[2]);
            int differ = 0;
            for (int y = 0; y < 10; y++)
                for (int x = 18; x < 29; x++) {
                    differ += abs(pixel(&c.im, x, 11 + y, 0) - pixel(&c.im, x, 20 - y, 0)) > 1;
                    differ += abs(pixel(&c.im, x, 11 + y, 0) - pixel(&c.im, 46 - x, 11 + y, 0)) > 1;
                }
            DG_CHECKF(differ == 0, "O is lopsided in %d pixels", differ);
        }
        memcpy(seen[i], c.im.pixels, sizeof seen[i]);
        for (int k = 0; k < i; k++)
            DG_CHECKF(memcmp(seen[i], seen[k], sizeof seen[i]) != 0, "'%c' looks like '%s'", 32 + k, text);
        dg_draw_close(&c);
    }
    DG_NEAR(dg_text_width(1, "ab"), dg_text_width(1, "a") + dg_text_width(1, "b") + 2, 1e-9);
    DG_NEAR(dg_text_width(1, ""), 0, 0);
    DG_NEAR(dg_text_width(2, "x\xc3\xa4\xe7\x8c\xab"), dg_text_width(2, "x??"), 1e-9);
    DG_NEAR(dg_text_width(1, "\x01\x7f\xff"), dg_text_width(1, "???"), 1e-9);
}

static void text_turns(void)
{
    dg_canvas flat, up;
    if (!DG_CHECK(dg_draw_open(&flat, 101, 101) == DG_OK && dg_draw_open(&up, 101, 101) == DG_OK)) return;
    dg_draw_text(&flat, 30, 50, 1, 1.3, false, "Loss of G, 1.5");
    dg_draw_text(&up, 50, 70, 1, 1.3, true, "Loss of G, 1.5");
    dg_draw_paint(&flat, (dg_color){0, 0, 0});
    dg_draw_paint(&up, (dg_color){0, 0, 0});
    int wrong = 0;
    for (int y = 0; y < 101; y++)
        for (int x = 0; x < 101; x++) wrong += abs(pixel(&flat.im, x, y, 0) - pixel(&up.im, y, 100 - x, 0)) > 1;
    DG_CHECKF(wrong == 0, "%d pixels differ", wrong);
    dg_draw_close(&flat);
    dg_draw_close(&up);
}

#if DG_FAILING
static dg_canvas canvas;
static void nothing(void) { canvas = (dg_canvas){0}; }
static dg_err opens(void) { return dg_draw_open(&canvas, 9, 7); }
static void is_open(dg_err e)
{
    DG_CHECK(e ? e == DG_DEVICE && !canvas.im.pixels && !canvas.cover : canvas.im.W == 9);
    dg_draw_close(&canvas);
}
#endif

static void no_memory(void)
{
#if DG_FAILING
    DG_CHECK(each_call("canvas", nothing, opens, is_open) == 4);
#endif
}

DG_TESTS(lines_are_exact, no_memory, every_character_is_drawn, text_turns)
