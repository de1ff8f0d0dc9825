/* Tests lines and text pixel by pixel, and the coloured regions of plots. */
#include "host/figure/draw.h"
#include "host/run/log_curves.h"

#include "host/net/gan.h"
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
    dg_draw_paint(&c, RED, .5);
    int wrong = 0;
    for (int y = 0; y < 10; y++)
        for (int x = 0; x < 12; x++) {
            int on = y == 4 && x >= 2 && x <= 8;
            wrong += abs(pixel(&c.im, x, y, 0) - (on ? 228 : 255)) > 1;
            wrong += abs(pixel(&c.im, x, y, 1) - (on ? 128 : 255)) > 1;
        }
    DG_CHECKF(wrong == 0, "%d pixels are wrong", wrong);
    /* a line between two rows of pixels gives each row half of the colour */
    dg_draw_line(&c, 2.5, 7, 8.5, 7, 1);
    dg_draw_paint(&c, (dg_color){0, 0, 0}, 1);
    DG_NEAR(pixel(&c.im, 5, 6, 0), 127.5, 1);
    DG_NEAR(pixel(&c.im, 5, 7, 0), 127.5, 1);
    dg_draw_line(&c, 2.5, 1.5, 8.5, 1.5, .5);
    dg_draw_paint(&c, (dg_color){0, 0, 0}, 1);
    DG_NEAR(pixel(&c.im, 5, 1, 0), 127.5, 1);
    dg_draw_close(&c);
    DG_CHECK(dg_draw_open(&c, 12, 10) == DG_OK);
    dg_draw_clip(&c, 3, 3, 9, 8);
    dg_draw_line(&c, -1e6, 5, 1e6, 5.0, 3);
    dg_draw_line(&c, 6, -1e9, 6, 1e9, 3);
    dg_draw_line(&c, 100, 100, 200, 200, 3);
    dg_draw_paint(&c, RED, 1);
    wrong = 0;
    for (int y = 0; y < 10; y++)
        for (int x = 0; x < 12; x++)
            if (x < 3 || x >= 9 || y < 3 || y >= 8) wrong += pixel(&c.im, x, y, 1) != 255;
    DG_CHECKF(wrong == 0, "%d pixels outside the clip", wrong);
    DG_CHECK(pixel(&c.im, 6, 3, 1) == 0 && pixel(&c.im, 3, 5, 1) == 0);
    dg_draw_close(&c);
    DG_CHECK(dg_draw_open(&c, 0, 10) == DG_USAGE);
    DG_CHECK(dg_draw_open(&c, 10, 20000) == DG_USAGE);
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
        dg_draw_paint(&c, (dg_color){0, 0, 0}, 1);
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
    dg_draw_paint(&flat, (dg_color){0, 0, 0}, 1);
    dg_draw_paint(&up, (dg_color){0, 0, 0}, 1);
    int wrong = 0;
    for (int y = 0; y < 101; y++)
        for (int x = 0; x < 101; x++) wrong += abs(pixel(&flat.im, x, y, 0) - pixel(&up.im, y, 100 - x, 0)) > 1;
    DG_CHECKF(wrong == 0, "%d pixels differ", wrong);
    dg_draw_close(&flat);
    dg_draw_close(&up);
}

static int colored(const dg_image *im, const uint8_t color[3], int from, int to)
{
    int n = 0;
    for (int y = 40; y < im->H; y++)
        for (int x = from; x < to; x++)
            n += abs(pixel(im, x, y, 0) - color[0]) + abs(pixel(im, x, y, 1) - color[1]) +
                     abs(pixel(im, x, y, 2) - color[2]) <
                 30;
    return n;
}

static dg_chart chart;

static void draw(const double *y, int n, dg_image *out)
{
    chart = (dg_chart){.title = "title", .x_label = "epoch", .y_label = "loss", .curves = 1};
    chart.curve[0] = (dg_curve){.label = "curve", .points = n};
    for (int i = 0; i < n; i++) chart.curve[0].x[i] = i, chart.curve[0].y[i] = y[i];
    DG_CHECKF(dg_charts_draw(&chart, 1, NULL, 300, out) == DG_OK && out->W == 900 && out->H == 300, "%s", dg_message());
}

static int drawn(const double *y, int n, int from, int to)
{
    dg_image im;
    draw(y, n, &im);
    const int pixels = colored(&im, dg_chart_color[0], from, to);
    free(im.pixels);
    return pixels;
}

static void plots_hold_odd_curves(void)
{
    enum { N = 300, LEFT = 64, RIGHT = 878 };
    static double y[N];
    /* a gap in the middle third of a curve has no line */
    for (int i = 0; i < N; i++) y[i] = i >= 100 && i < 200 ? INFINITY : sin(i * .1);
    DG_CHECK(drawn(y, N, 70, 330) > 100 && drawn(y, N, 620, RIGHT) > 100);
    DG_CHECKF(drawn(y, N, 345, 600) == 0, "%d pixels in the gap", drawn(y, N, 345, 600));
    DG_CHECK(drawn(y, 1, LEFT, RIGHT) >= 12 && drawn(y, 1, LEFT, RIGHT) < 60);
    DG_CHECK(drawn(y, 0, LEFT, RIGHT) == 0);
    /* infinite values are not drawn, and a constant curve gives a straight line */
    static const double level[] = {NAN, INFINITY, -INFINITY, 0, 1, -3.5, 1e-30, 1e30, -1e99, 1e-310};
    for (size_t k = 0; k < sizeof level / sizeof *level; k++) {
        for (int i = 0; i < 100; i++) y[i] = level[k];
        const int n = drawn(y, 100, 100, 500);
        DG_CHECKF(isfinite(level[k]) ? n >= 700 && n <= 1300 : n == 0, "constant %g: %d pixels", level[k], n);
    }
    static const double wild[] = {1, 1e99, -1e99, NAN, 5, INFINITY, 1e-99, 3, 1e300};
    (void)drawn(wild, 9, LEFT, RIGHT);
    dg_image im;
    DG_CHECK(dg_charts_draw(&chart, 1, NULL, 20000, &im) == DG_USAGE);
}

/* Checks the area of a band from 1 to 3 on the left and from 2 to 2.5 on the right. */
static void bands_are_filled(void)
{
    const uint8_t light[3] = {191, 220, 236}; /* the first curve colour with an opacity of 1/4 on white */
    static const double y[] = {0, 4};
    dg_image im;
    draw(y, 2, &im);
    free(im.pixels);
    chart.y_max = 4;
    chart.curve[0].bins = 4;
    for (int i = 0; i < 4; i++) {
        chart.curve[0].at[i] = i / 3.;
        chart.curve[0].low[i] = i < 2 ? 1 : 2;
        chart.curve[0].high[i] = i < 2 ? 3 : 2.5;
    }
    DG_CHECK(dg_charts_draw(&chart, 1, NULL, 300, &im) == DG_OK);
    /* value 4 is at row 34 and value 0 at row 254, so a difference of 1 has 55 pixels */
    int left = 0, right = 0;
    for (int i = 40; i < 250; i++) {
        left += abs(pixel(&im, 200, i, 0) - light[0]) < 4;
        right += abs(pixel(&im, 800, i, 0) - light[0]) < 4;
    }
    DG_CHECKF(abs(left - 108) <= 6 && abs(right - 27) <= 3, "%d and %d pixels", left, right);
    DG_CHECK(pixel(&im, 200, 34 + 27, 0) == 255 && pixel(&im, 200, 254 - 27, 0) > 240);
    free(im.pixels);
}

static void curves_of_runs(void)
{
    enum { N = 46 * 3 };
    static dg_log_row rows[N];
    const uint8_t blue[3] = {0, 114, 178}, green[3] = {0, 158, 115};
    for (int i = 0; i < N; i++) {
        rows[i].step = (uint64_t)i + 1;
        rows[i].epoch = (uint64_t)i / 46 + 1;
        for (int k = 0; k < DG_METRICS_MAX; k++) rows[i].value[k] = .3 + .1 * (i % 7 == k);
    }
    static const long part[] = {0, 1, 2, 45, 46, 47, 91, 92, 100, N};
    for (size_t k = 0; k < sizeof part / sizeof *part; k++) {
        dg_image im, again;
        if (!DG_WORKS(dg_curves(&dg_gan_recipe, rows, part[k], "a run", &im))) continue;
        DG_CHECK(im.W == 900 && im.H == 1000 && im.C == 3);
        const int right = part[k] ? 500 : 420; /* left end of the legend */
        int n = colored(&im, blue, 66, right), m = colored(&im, green, 66, right);
        DG_CHECKF(part[k] ? n > 15 && m > 15 : n + m == 0, "%ld steps: %d and %d pixels", part[k], n, m);
        DG_CHECK(dg_curves(&dg_gan_recipe, rows, part[k], "a run", &again) == DG_OK);
        DG_CHECK(memcmp(im.pixels, again.pixels, 900 * 1000 * 3) == 0);
        free(im.pixels);
        free(again.pixels);
    }
    dg_image im;
    for (int i = 0; i < N; i++) { /* metrics that are always NaN do not change the plot */
        rows[i].judged = true;
        for (int k = 0; k < DG_LOGGED; k++) rows[i].measure[k] = NAN;
    }
    if (DG_CHECK(dg_curves(&dg_gan_recipe, rows, N, "a run", &im) == DG_OK)) DG_CHECK(im.H == 1000), free(im.pixels);
    for (int i = 45; i < N; i += 46)
        for (int k = 0; k < DG_LOGGED; k++) rows[i].measure[k] = .5 + .1 * k * i / N;
    if (DG_CHECK(dg_curves(&dg_gan_recipe, rows, N, "a run", &im) == DG_OK)) {
        /* three more plots: two with distances, one with the other metrics */
        DG_CHECKF(im.H == 1000 + 3 * 314, "%d high", im.H);
        for (int i = 3; i < 6; i++) {
            const dg_image plot = {.W = 900, .H = 314, .C = 3, .pixels = im.pixels + (size_t)(34 + 314 * i) * 900 * 3};
            const int n = colored(&plot, blue, 66, 500), m = colored(&plot, green, 66, 500);
            DG_CHECKF(n > 300 && (i == 5) == (m > 300), "plot %d: %d and %d pixels", i, n, m);
        }
        free(im.pixels);
    }
    for (int i = 60; i < N; i++)
        for (int k = 0; k < DG_METRICS_MAX; k++) rows[i].value[k] = NAN; /* a diverged run */
    DG_CHECK(dg_curves(&dg_gan_recipe, rows, N, "a run", &im) == DG_OK);
    free(im.pixels);
    const char *title = "a run with a very long name, so long that it does not fit between the two edges of the "
                        "image and is cut off at its right one, which is better than nothing";
    DG_CHECK(dg_curves(&dg_gan_recipe, rows + 60, 20, title, &im) == DG_OK);
    free(im.pixels);
    DG_CHECK(dg_curves(&dg_gan_recipe, rows, -1, "a run", &im) == DG_USAGE);
}

DG_TESTS(lines_are_exact, every_character_is_drawn, text_turns, plots_hold_odd_curves, bands_are_filled, curves_of_runs)
