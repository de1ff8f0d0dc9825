#include "host/figure/draw.h"

#include <math.h>
#include <stdlib.h>

enum { WIDTH = 900, HEIGHT = 1000, HEADLINE = 34, CURVES = 7 };
enum { LOSS_D, LOSS_G, D_REAL, D_FAKE, D_X, D_GZ1, D_GZ2 };

typedef struct {
    long n, epochs;
    double *memory;
    double *x, *y[CURVES];         /* a value a step */
    double *mean_x, *mean[CURVES]; /* a value an epoch */
} curves;

static double value(const dg_log_row *r, int curve)
{
    static const int metric[CURVES] = {-1, DG_LOSS_G, DG_LOSS_D_REAL, DG_LOSS_D_FAKE, DG_D_X, DG_D_GZ1, DG_D_GZ2};
    return curve == LOSS_D ? r->value[DG_LOSS_D_REAL] + r->value[DG_LOSS_D_FAKE] : r->value[metric[curve]];
}

/* Steps of the longest epoch: what an unfinished last one will have. */
static void count_epochs(const dg_log_row *rows, long n, long *epochs, long *longest)
{
    *epochs = *longest = 0;
    for (long i = 0, begin = 0; i < n; i++) {
        if (i == 0 || rows[i].epoch != rows[i - 1].epoch) {
            begin = i;
            ++*epochs;
        }
        if (i - begin + 1 > *longest) *longest = i - begin + 1;
    }
}

static dg_err collect(const dg_log_row *rows, long n, curves *c)
{
    long longest;
    c->n = n;
    count_epochs(rows, n, &c->epochs, &longest);
    size_t each = (size_t)n, total = (each + (size_t)c->epochs) * (CURVES + 1);
    c->memory = malloc((total ? total : 1) * sizeof(double));
    if (!c->memory) return dg_fail(DG_DEVICE, "curves: out of memory for %ld steps", n);
    c->x = c->memory;
    c->mean_x = c->x + each * (CURVES + 1);
    for (int k = 0; k < CURVES; k++) {
        c->y[k] = c->x + each * (size_t)(k + 1);
        c->mean[k] = c->mean_x + c->epochs * (k + 1);
    }
    long epoch = 0;
    for (long begin = 0, end; begin < n; begin = end, epoch++) {
        for (end = begin; end < n && rows[end].epoch == rows[begin].epoch; end++) {}
        /* An epoch that is under way, or whose log begins late, does not fill its unit of the axis. */
        bool last = end == n, first = begin == 0;
        double steps = last || first ? (double)longest : (double)(end - begin), start = (double)rows[begin].epoch - 1;
        double skipped = first && !last ? steps - (double)(end - begin) : 0;
        for (long i = begin; i < end; i++) {
            c->x[i] = start + ((double)(i - begin) + skipped + .5) / steps;
            for (int k = 0; k < CURVES; k++) c->y[k][i] = value(&rows[i], k);
        }
        c->mean_x[epoch] = (c->x[begin] + c->x[end - 1]) / 2;
        for (int k = 0; k < CURVES; k++) {
            double sum = 0;
            for (long i = begin; i < end; i++) sum += c->y[k][i];
            c->mean[k][epoch] = sum / (double)(end - begin);
        }
    }
    return DG_OK;
}

/* Colours that people with any colour vision tell apart: Okabe & Ito 2008. */
#define BLUE        \
    {               \
        0, 114, 178 \
    }
#define RED        \
    {              \
        213, 94, 0 \
    }
#define GREEN       \
    {               \
        0, 158, 115 \
    }

typedef struct {
    const char *label;
    uint8_t color[3];
    int curve;
} shown;

static int add_series(dg_series *out, const curves *c, const shown *s, int count)
{
    for (int i = 0; i < count; i++) {
        dg_series each = {.label = s[i].label, .n = (int)c->epochs, .x = c->mean_x, .y = c->mean[s[i].curve]};
        for (int k = 0; k < 3; k++) each.color[k] = s[i].color[k];
        *out++ = each;
        each.label = NULL;
        each.n = (int)c->n;
        each.x = c->x;
        each.y = c->y[s[i].curve];
        each.thin = true;
        *out++ = each;
    }
    return 2 * count;
}

dg_err dg_curves(const dg_log_row *rows, long n, const char *title, dg_image *out)
{
    static const shown loss[] = {{"D", BLUE, LOSS_D}, {"G", RED, LOSS_G}};
    static const shown output[] = {{"D(x)", BLUE, D_X},
                                   {"D(G(z)) before D's update", RED, D_GZ1},
                                   {"D(G(z)) after it", GREEN, D_GZ2}};
    static const shown parts[] = {{"real pictures", BLUE, D_REAL}, {"generated pictures", RED, D_FAKE}};
    if (n < 0 || n > 100000000) return dg_fail(DG_USAGE, "curves of %ld steps: at most 100,000,000", n);
    curves c;
    dg_err e = collect(rows, n, &c);
    if (e) return e;
    dg_series series[14];
    dg_plot plot[3] = {
        {.title = "Losses", .y_label = "cross entropy", .series = series},
        {.title = "D(x) and D(G(z))", .y_label = "mean of D's output", .series = series + 4, .y_max = 1},
        {.title = "Parts of D's loss", .y_label = "cross entropy", .x_label = "epoch", .series = series + 10},
    };
    plot[1].fixed_y = true;
    plot[0].count = add_series(series, &c, loss, 2);
    plot[1].count = add_series(series + 4, &c, output, 3);
    plot[2].count = add_series(series + 10, &c, parts, 2);
    dg_canvas canvas;
    e = dg_draw_open(&canvas, WIDTH, HEIGHT);
    if (!e) {
        double wide = dg_text_width(1.3, title);
        dg_draw_text(&canvas, wide < WIDTH - 40 ? (WIDTH - wide) / 2 : 20, 30, 1.3, 2, false, title);
        dg_draw_paint(&canvas, (dg_color){45, 48, 56}, 1);
        /* The last plot also holds the axis label: its frame is to be as high as the others'. */
        int each = (HEIGHT - HEADLINE - 24) / 3;
        for (int i = 0; i < 3 && !e; i++)
            e = dg_draw_plot(&canvas, &plot[i], 0, HEADLINE + i * each, WIDTH,
                             i < 2 ? HEADLINE + (i + 1) * each : HEIGHT);
        if (!e) {
            *out = canvas.im;
            canvas.im.pixels = NULL;
        }
        dg_draw_close(&canvas);
    }
    free(c.memory);
    return e;
}
