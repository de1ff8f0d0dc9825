#include "host/trainer/progress.h"

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "core/base/clock.h"
#include "core/base/sort.h"
#include "core/base/err.h"

enum { RATES = 15, LINE = 400 };
static const double REDRAW = .1, PLAIN_EVERY = 10, WINDOW = 1;

typedef struct {
    int epoch, epochs;
    long step, steps, done, all;
    dg_metrics m;
} state;

struct dg_progress {
    const dg_recipe *recipe;
    bool quiet, terminal, color;
    pthread_mutex_t lock; /* worker threads also print notes */
    bool on_screen;
    bool training, pending;
    state now;
    double last_draw, last_line;
    double start, mark; /* start: time of the first step; mark: start of the current time window for the rate */
    long start_images, mark_images;
    double rate[RATES]; /* images/s of the last time windows (ring buffer) */
    long rates;
    long counted, count_total;
};

static bool set(const char *name)
{
    const char *v = getenv(name);
    return v && *v;
}

dg_progress *dg_progress_open(bool quiet)
{
    dg_progress *p = calloc(1, sizeof *p);
    if (!p) return NULL; /* every function accepts NULL */
    const char *term = getenv("TERM");
    p->quiet = quiet;
    p->terminal = isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0;
    p->color = p->terminal && !set("NO_COLOR");
    p->last_draw = -1e9;
    p->last_line = dg_clock();
    pthread_mutex_init(&p->lock, NULL);
    return p;
}

static int width(void)
{
    const char *columns = getenv("COLUMNS");
    long n = columns ? strtol(columns, NULL, 10) : 0;
    struct winsize w = {.ws_col = 0};
    if (n <= 0) {
        (void)ioctl(STDERR_FILENO, TIOCGWINSZ, &w);
        n = w.ws_col;
    }
    if (n <= 0) n = 80;
    return n < 20 ? 20 : n > LINE ? LINE : (int)n;
}

/* The median of recent time windows keeps pauses from changing the ETA. */
static double median_rate(const dg_progress *p)
{
    int n = p->rates < RATES ? (int)p->rates : RATES;
    if (n == 0) return 0;
    double sorted[RATES];
    memcpy(sorted, p->rate, (size_t)n * sizeof *sorted);
    return dg_sort_median(sorted, n);
}

static void measure(dg_progress *p, double time, long images, int batch)
{
    if (!p->training) {
        p->start = p->mark = time;
        p->start_images = p->mark_images = images;
        return;
    }
    if (time - p->mark < WINDOW || images - p->mark_images < batch) return;
    p->rate[p->rates++ % RATES] = (double)(images - p->mark_images) / (time - p->mark);
    p->mark = time;
    p->mark_images = images;
}

static void rate_text(char out[40], const dg_progress *p, double time)
{
    double rate = median_rate(p);
    if (rate <= 0 && time - p->start > .2) rate = (double)(p->now.done - p->start_images) / (time - p->start);
    out[0] = 0;
    if (rate > 0) snprintf(out, 40, rate < 99.95 ? " %.1f img/s" : " %.0f img/s", rate);
}

static void eta_text(char out[40], const dg_progress *p)
{
    double rate = median_rate(p), left = rate > 0 ? (double)(p->now.all - p->now.done) / rate : -1;
    out[0] = 0;
    if (p->rates < 3 || left < 0 || left > 1e8) return;
    long s = (long)(left + .5);
    if (s < 360000) snprintf(out, 40, " ETA %ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else snprintf(out, 40, " ETA %ld d %ld h", s / 86400, s / 3600 % 24);
}

/* isnan() prevents "-nan", because the sign of a NaN is undefined */
static const char *number(char out[32], double v)
{
    snprintf(out, 32, fabs(v) < 99999 ? "%.2f" : "%.2g", isnan(v) ? (double)NAN : v);
    return out;
}

static const char *short_number(char out[32], double v)
{
    return strncmp(number(out, v), "0.", 2) == 0 ? out + 1 : out;
}

__attribute__((format(printf, 3, 4))) static int add(char out[LINE], int n, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    n += vsnprintf(out + n, LINE - (size_t)n, format, ap);
    va_end(ap);
    return n < LINE ? n : LINE - 1;
}

enum { WITH_BAR, LONG, COMPACT, NO_RATE, NO_PROBABILITIES, NO_LOSSES, LEVELS };

/* such as " D 0.61 G 1.92 D(x) .74 D(G(z)) .21/.18" */
static int add_metrics(char out[LINE], int n, const dg_recipe *r, const dg_metrics *m, bool full, bool probabilities)
{
    char text[32];
    for (int i = 0; i < r->metrics; i++) {
        const dg_metric *k = &r->metric[i];
        const double v = dg_metric_value(k, m->value);
        if (!k->label || (k->kind == DG_METRIC_PROBABILITY && !probabilities)) continue;
        if (k->over == DG_OVER_TEST && isnan(v)) continue;
        const char *label = full || !k->brief ? k->label : k->brief, *follows = strcmp(label, "/") ? " " : "";
        n = add(out, n, "%s%s%s%s", follows, label, follows,
                k->kind == DG_METRIC_PROBABILITY ? short_number(text, v) : number(text, v));
    }
    return n;
}

static int compose(char out[LINE], const dg_progress *p, int level, double time, int *bar)
{
    const state *s = &p->now;
    char rate[40], eta[40];
    int n = add(out, 0, "epoch %d/%d%s %ld/%ld", s->epoch, s->epochs, level <= LONG ? " step" : "", s->step, s->steps);
    *bar = -1;
    if (level == WITH_BAR) {
        *bar = n;
        n = add(out, n, " %2d%%", s->all > 0 ? (int)(100.0 * (double)s->done / (double)s->all) : 0);
    }
    if (level < NO_LOSSES) n = add_metrics(out, n, p->recipe, &s->m, level <= LONG, level < NO_PROBABILITIES);
    rate_text(rate, p, time);
    eta_text(eta, p);
    return add(out, n, "%s%s", level < NO_RATE ? rate : "", eta);
}

static void bar_text(char out[LINE], bool color, int wide, double part)
{
    int full = (int)(wide * (part < 0 ? 0 : part > 1 ? 1 : part) + .5), n;
    n = snprintf(out, LINE, " [%s", color ? "\033[32m" : "");
    memset(out + n, '#', (size_t)full);
    n += full;
    n += snprintf(out + n, LINE - (size_t)n, "%s", color ? "\033[0m" : "");
    memset(out + n, ' ', (size_t)(wide - full));
    n += wide - full;
    memcpy(out + n, "]", 2);
}

static void redraw(dg_progress *p, const char *text)
{
    fprintf(stderr, "\r%s\033[K", text);
    (void)fflush(stderr);
    p->on_screen = true;
}

static void clear(dg_progress *p)
{
    if (p->on_screen) fputs("\r\033[K", stderr);
    p->on_screen = false;
}

static void draw_training(dg_progress *p, double time)
{
    char text[LINE], whole[3 * LINE], bar[LINE] = "";
    int room = width() - 1, at = -1,
        wide = 0; /* without the last column, because a full line wraps on some terminals */
    for (int level = 0; level < LEVELS; level++) {
        int n = compose(text, p, level, time, &at);
        wide = at < 0 ? 0 : room - n - 3;
        if (n <= room && (at < 0 || wide >= 8)) break;
    }
    if (wide > 30) wide = 30;
    text[room] = 0;
    if (at >= 0) bar_text(bar, p->color, wide, p->now.all > 0 ? (double)p->now.done / (double)p->now.all : 0);
    snprintf(whole, sizeof whole, "%.*s%s%s", at < 0 ? 0 : at, text, bar, text + (at < 0 ? 0 : at));
    redraw(p, whole);
    p->last_draw = time;
    p->pending = false;
}

static void plain_line(dg_progress *p, const char *text, double time)
{
    fprintf(stderr, "%s\n", text);
    p->last_line = time;
}

void dg_progress_recipe(dg_progress *p, const dg_recipe *r)
{
    if (p) p->recipe = r;
}

void dg_progress_step(dg_progress *p, int epoch, int epochs, long step, long steps_per_epoch, const dg_metrics *m,
                      long images_done, long images_all, int batch)
{
    if (!p || p->quiet) return;
    pthread_mutex_lock(&p->lock);
    double time = dg_clock();
    measure(p, time, images_done, batch);
    p->now = (state){epoch, epochs, step, steps_per_epoch, images_done, images_all, *m};
    p->training = p->pending = true;
    if (p->terminal && time - p->last_draw >= REDRAW) draw_training(p, time);
    if (!p->terminal && time - p->last_line >= PLAIN_EVERY && step < steps_per_epoch) {
        char text[LINE];
        int bar;
        compose(text, p, LONG, time, &bar);
        plain_line(p, text, time);
    }
    pthread_mutex_unlock(&p->lock);
}

void dg_progress_epoch(dg_progress *p, int epoch, int epochs, const dg_metrics *mean, double took,
                       double images_per_second)
{
    if (!p || p->quiet || p->terminal) return;
    pthread_mutex_lock(&p->lock);
    char text[LINE], eta[40];
    eta_text(eta, p);
    int n = add(text, 0, "epoch %d/%d", epoch, epochs);
    for (int i = 0; i < p->recipe->metrics; i++) {
        const dg_metric *k = &p->recipe->metric[i];
        const char *follows = k->label && strcmp(k->label, "/") ? " " : "";
        const double v = dg_metric_value(k, mean->value);
        if (k->label && (k->over != DG_OVER_TEST || !isnan(v)))
            n = add(text, n, "%s%s%s%.3f", follows, k->label, follows, v);
    }
    add(text, n, " %.*f img/s %.1f s%s", images_per_second < 99.95 ? 1 : 0, images_per_second, took, eta);
    plain_line(p, text, dg_clock());
    pthread_mutex_unlock(&p->lock);
}

void dg_progress_count(dg_progress *p, const char *what, long done, long total)
{
    if (!p || p->quiet) return;
    pthread_mutex_lock(&p->lock);
    double time = dg_clock();
    bool end = done >= total, again = end && p->counted == done && p->count_total == total;
    char text[LINE], bar[LINE], shown[200];
    snprintf(text, sizeof text, "%s %ld/%ld", dg_printable(shown, sizeof shown, what), done, total);
    if (p->terminal && !again && (end || time - p->last_draw >= REDRAW)) {
        int room = width() - 1, wide = room - (int)strlen(text) - 3;
        if (wide > 30) wide = 30;
        text[room] = 0;
        char whole[2 * LINE];
        if (wide >= 8 && !end) bar_text(bar, p->color, wide, total > 0 ? (double)done / (double)total : 1);
        snprintf(whole, sizeof whole, "%s%s", text, wide >= 8 && !end ? bar : "");
        redraw(p, whole);
        p->last_draw = time;
        if (end) {
            fputc('\n', stderr);
            p->on_screen = false;
            p->last_draw = -1e9;
        }
    }
    if (!p->terminal && !again && (end || time - p->last_line >= PLAIN_EVERY)) plain_line(p, text, time);
    p->counted = done;
    p->count_total = total;
    pthread_mutex_unlock(&p->lock);
}

void dg_progress_reading(void *progress, long done, long total)
{
    dg_progress_count(progress, "reading images", done, total);
}

void dg_progress_wait(dg_progress *p, const char *what)
{
    if (!p || p->quiet || !p->terminal) return;
    pthread_mutex_lock(&p->lock);
    redraw(p, what);
    pthread_mutex_unlock(&p->lock);
}

void dg_progress_show(dg_progress *p, const char *text)
{
    if (!p || p->quiet) return;
    pthread_mutex_lock(&p->lock);
    const bool back = p->on_screen && p->training;
    clear(p);
    fputs(text, stderr);
    if (back) draw_training(p, dg_clock());
    pthread_mutex_unlock(&p->lock);
}

bool dg_progress_terminal(const dg_progress *p) { return p && p->terminal && !p->quiet; }

void dg_progress_note(dg_progress *p, const char *format, ...)
{
    if (!p || p->quiet) return;
    char raw[1024], text[1024];
    va_list ap;
    va_start(ap, format);
    vsnprintf(raw, sizeof raw, format, ap);
    va_end(ap);
    dg_printable(text, sizeof text, raw);
    pthread_mutex_lock(&p->lock);
    bool back = p->on_screen && p->training;
    clear(p);
    fprintf(stderr, "%s\n", text);
    if (back) draw_training(p, dg_clock());
    pthread_mutex_unlock(&p->lock);
}

void dg_progress_close(dg_progress *p)
{
    if (!p) return;
    if (p->terminal && !p->quiet) {
        if (p->training && p->pending) draw_training(p, dg_clock());
        if (p->on_screen) fputc('\n', stderr);
    }
    pthread_mutex_destroy(&p->lock);
    free(p);
}
