/* Lines and text are checked pixel by pixel, plots by regions that must or must not have colour. */
#include "host/figure/draw.h"
#include "host/run/log_curves.h"

#include <time.h>
#include "host/net/gan.h"
#include "test.h"

static const dg_color RED = {200, 0, 0};

static int pixel(const dg_image *im, int x, int y, int k) { return im->pixels[(y * im->W + x) * 3 + k]; }

static void lines_are_exact(void)
{
    dg_canvas c;
    DG_CHECK(dg_draw_open(&c, 12, 10) == DG_OK);
    /* A line of width 1 through pixel centres from x = 2.5 to 8.5 gives seven pixels of full colour and no other
     * pixels. */
    dg_draw_line(&c, 2.5, 4.5, 8.5, 4.5, 1);
    dg_draw_line(&c, 4.5, 4.5, 6.5, 4.5, 1); /* drawing over the same pixels does not darken them */
    dg_draw_paint(&c, RED, .5);
    int wrong = 0;
    for (int y = 0; y < 10; y++)
        for (int x = 0; x < 12; x++) {
            int on = y == 4 && x >= 2 && x <= 8;
            wrong += abs(pixel(&c.im, x, y, 0) - (on ? 228 : 255)) > 1;
            wrong += abs(pixel(&c.im, x, y, 1) - (on ? 128 : 255)) > 1;
        }
    DG_CHECKF(wrong == 0, "%d pixels are wrong", wrong);
    /* A line between two rows colours both by half. A line of half a pixel's width has half the colour. */
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

/* The number of dark pixels and their bounding box. */
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
        if (text[0] == 'O') { /* strokes reach the left and right edge, and both halves are symmetric */
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

/* Pixels close to the series' colour in columns [from, to). */
static int colored(const dg_image *im, const uint8_t color[3], int from, int to)
{
    int n = 0;
    for (int y = 40; y < im->H; y++) /* below the legend */
        for (int x = from; x < to; x++)
            n += abs(pixel(im, x, y, 0) - color[0]) + abs(pixel(im, x, y, 1) - color[1]) +
                     abs(pixel(im, x, y, 2) - color[2]) <
                 30;
    return n;
}

static dg_err draw(dg_series s, dg_image *out)
{
    dg_plot p = {.title = "title", .x_label = "epoch", .y_label = "loss", .series = &s, .count = 1};
    s.label = "series";
    s.color[0] = 200;
    s.color[1] = s.color[2] = 0;
    return dg_plots_draw(&p, 1, 600, 300, out);
}

static void plots_hold_odd_series(void)
{
    enum { N = 600 };
    static double x[N], y[N];
    const uint8_t red[3] = {200, 0, 0};
    dg_image im, again;
    for (int i = 0; i < N; i++) {
        x[i] = i;
        y[i] = i >= 200 && i < 400 ? NAN : sin(i * .05);
    }
    /* With a gap in the middle third, the line is drawn to the left and right of it. */
    DG_CHECK(draw((dg_series){.n = N, .x = x, .y = y}, &im) == DG_OK);
    DG_CHECK(colored(&im, red, 70, 230) > 100 && colored(&im, red, 430, 578) > 100);
    DG_CHECKF(colored(&im, red, 250, 400) == 0, "%d pixels in the gap", colored(&im, red, 250, 400));
    DG_CHECK(draw((dg_series){.n = N, .x = x, .y = y}, &again) == DG_OK);
    DG_CHECK(memcmp(im.pixels, again.pixels, 600 * 300 * 3) == 0);
    free(im.pixels);
    free(again.pixels);
    DG_CHECK(draw((dg_series){.n = 1, .x = x + 5, .y = y + 5}, &im) == DG_OK);
    DG_CHECKF(colored(&im, red, 65, 580) >= 12 && colored(&im, red, 65, 580) < 60, "%d", colored(&im, red, 65, 580));
    free(im.pixels);
    static double lone[100], at[100];
    for (int i = 0; i < 100; i++) {
        at[i] = i;
        lone[i] = i == 50 ? 3 : NAN;
    }
    DG_CHECK(draw((dg_series){.n = 100, .x = at, .y = lone}, &im) == DG_OK);
    DG_CHECK(colored(&im, red, 65, 580) >= 4);
    free(im.pixels);
    /* Empty series, NaN, infinities and constants can be drawn. A constant becomes a straight line. */
    DG_CHECK(draw((dg_series){.n = 0}, &im) == DG_OK);
    free(im.pixels);
    static const double level[] = {NAN, INFINITY, -INFINITY, 0, 1, -3.5, 1e-30, 1e30, -1e99, 1e300, 1e-310};
    for (size_t k = 0; k < sizeof level / sizeof *level; k++) {
        for (int i = 0; i < 100; i++) lone[i] = level[k];
        DG_CHECK(draw((dg_series){.n = 100, .x = at, .y = lone}, &im) == DG_OK);
        int n = colored(&im, red, 100, 500), visible = fabs(level[k]) < 1e100;
        DG_CHECKF(visible ? n >= 700 && n <= 1300 : n == 0, "constant %g: %d pixels", level[k], n);
        free(im.pixels);
    }
    static const double wild[] = {1, 1e99, -1e99, NAN, 5, INFINITY, 1e-99, 3};
    DG_CHECK(draw((dg_series){.n = 8, .x = at, .y = wild}, &im) == DG_OK);
    free(im.pixels);
    for (int i = 0; i < 100; i++) at[i] = 7; /* all points have one x */
    DG_CHECK(draw((dg_series){.n = 100, .x = at, .y = lone, .thin = true}, &im) == DG_OK);
    free(im.pixels);
    dg_plot bad = {.fixed_y = true, .y_min = 1, .y_max = 1};
    DG_CHECK(dg_plots_draw(&bad, 1, 600, 300, &im) == DG_USAGE);
    bad.y_max = NAN;
    DG_CHECK(dg_plots_draw(&bad, 1, 600, 300, &im) == DG_USAGE);
    bad.fixed_y = false;
    DG_CHECK(dg_plots_draw(&bad, 1, 60, 300, &im) == DG_USAGE);
    DG_CHECK(dg_plots_draw(&bad, 1, 600, 30, &im) == DG_USAGE);
}

/* Three million points look like the full curve: each column spans from its smallest to its largest value. */
static void many_points(void)
{
    enum { N = 3000000 };
    double *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y);
    if (!x || !y) abort();
    for (int i = 0; i < N; i++) {
        x[i] = i;
        y[i] = i % 1000 == 300 ? 0 : i % 1000 == 600 ? 1 + (i > N / 2) : .5;
    }
    dg_series s = {.color = {0, 0, 200}, .n = N, .x = x, .y = y};
    dg_plot p = {.series = &s, .count = 1, .fixed_y = true, .y_max = 2};
    dg_image im;
    clock_t begin = clock();
    DG_CHECK(dg_plots_draw(&p, 1, 600, 300, &im) == DG_OK);
    double took = (double)(clock() - begin) / CLOCKS_PER_SEC;
    DG_CHECKF(took < 2, "%g s", took);
    /* The frame is from y = 34 (value two) to y = 274 (value zero). The left half is filled below 154, the right half
     * completely. */
    int wrong = 0;
    for (int i = 40; i < 270; i++) {
        wrong += (pixel(&im, 150, i, 0) == 0) != (i > 154) && abs(i - 154) > 2;
        wrong += pixel(&im, 500, i, 0) != 0;
    }
    DG_CHECKF(wrong == 0, "%d pixels", wrong);
    free(im.pixels);
    free(x);
    free(y);
}

/* A spike of one step must not flatten the other values, but a spike of an epoch's mean must be visible. */
static void spikes(void)
{
    enum { N = 2000 };
    static double x[N], y[N];
    const uint8_t red[3] = {200, 0, 0};
    dg_image im;
    for (int i = 0; i < N; i++) {
        x[i] = i;
        y[i] = i == 1000 ? 1e6 : i % 2 ? 2 : 3;
    }
    dg_series s = {.color = {200, 0, 0}, .n = N, .x = x, .y = y, .thin = true};
    dg_plot p = {.series = &s, .count = 1};
    const uint8_t light[3] = {237, 173, 173}; /* 32% opacity over white */
    DG_CHECK(dg_plots_draw(&p, 1, 600, 300, &im) == DG_OK);
    DG_CHECKF(colored(&im, light, 100, 300) > 200 * 60, "%d pixels", colored(&im, light, 100, 300));
    free(im.pixels);
    s.thin = false;
    DG_CHECK(dg_plots_draw(&p, 1, 600, 300, &im) == DG_OK);
    DG_CHECKF(colored(&im, red, 100, 300) < 200 * 6, "%d pixels", colored(&im, red, 100, 300));
    free(im.pixels);
    /* A line to a spike far outside of the frame is still drawn. */
    for (int i = 0; i < 300; i++) y[i] = i == 100 ? 1e60 : i < 200 ? 2 : 3;
    s.n = 300;
    s.thin = true;
    DG_CHECK(dg_plots_draw(&p, 1, 600, 300, &im) == DG_OK);
    for (int i = 50; i < 270; i += 20) {
        int n = 0;
        for (int k = 225; k < 247; k++) n += pixel(&im, k, i, 0) > pixel(&im, k, i, 1) + 20;
        DG_CHECKF(n >= 1 && n <= 6, "%d pixels in row %d", n, i);
    }
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
        if (!DG_CHECKF(dg_curves(&dg_gan_recipe, rows, part[k], "a run", &im) == DG_OK, "%s", dg_message())) continue;
        DG_CHECK(im.W == 900 && im.H == 1000 && im.C == 3);
        const int right = part[k] ? 500 : 420; /* left of the legends */
        int n = colored(&im, blue, 66, right), m = colored(&im, green, 66, right);
        DG_CHECKF(part[k] ? n > 15 && m > 15 : n + m == 0, "%ld steps: %d and %d pixels", part[k], n, m);
        DG_CHECK(dg_curves(&dg_gan_recipe, rows, part[k], "a run", &again) == DG_OK);
        DG_CHECK(memcmp(im.pixels, again.pixels, 900 * 1000 * 3) == 0);
        free(im.pixels);
        free(again.pixels);
    }
    dg_image im;
    for (int i = 0; i < N; i++) { /* columns of metrics without values give the same plot as no columns */
        rows[i].judged = true;
        for (int k = 0; k < DG_LOGGED; k++) rows[i].measure[k] = NAN;
    }
    if (DG_CHECK(dg_curves(&dg_gan_recipe, rows, N, "a run", &im) == DG_OK)) DG_CHECK(im.H == 1000), free(im.pixels);
    for (int i = 45; i < N; i += 46)
        for (int k = 0; k < DG_LOGGED; k++) rows[i].measure[k] = .5 + .1 * k * i / N;
    if (DG_CHECK(dg_curves(&dg_gan_recipe, rows, N, "a run", &im) == DG_OK)) {
        DG_CHECKF(im.H == 1000 + 3 * 314, "%d high", im.H); /* two plots of distances and one of the other metrics */
        for (int i = 3; i < 6; i++) {
            const dg_image plot = {.W = 900, .H = 314, .C = 3, .pixels = im.pixels + (size_t)(34 + 314 * i) * 900 * 3};
            const int n = colored(&plot, blue, 66, 500), m = colored(&plot, green, 66, 500);
            DG_CHECKF(n > 300 && (i == 5) == (m > 300), "plot %d: %d and %d pixels", i, n, m);
        }
        free(im.pixels);
    }
    for (int i = 60; i < N; i++)
        for (int k = 0; k < DG_METRICS_MAX; k++) rows[i].value[k] = NAN; /* values of a run that diverged */
    DG_CHECK(dg_curves(&dg_gan_recipe, rows, N, "a run", &im) == DG_OK);
    free(im.pixels);
    const char *title = "a run with a very long name, so long that it does not fit between the two edges of the "
                        "image and is cut off at its right one, which is better than nothing";
    DG_CHECK(dg_curves(&dg_gan_recipe, rows + 60, 20, title, &im) == DG_OK);
    free(im.pixels);
    DG_CHECK(dg_curves(&dg_gan_recipe, rows, -1, "a run", &im) == DG_USAGE);
}

int main(void)
{
    lines_are_exact();
    every_character_is_drawn();
    text_turns();
    plots_hold_odd_series();
    many_points();
    spikes();
    curves_of_runs();
    return dg_test_report();
}
