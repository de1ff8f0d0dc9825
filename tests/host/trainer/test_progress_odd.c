/* Tests progress lines on unusual terminals, with unusual numbers and unusual sequences of calls. */
#include "screen.h"

#include "host/net/classifier.h"

static void odd_widths(void)
{
    static const struct {
        const char *columns;
        int terminal, most;
        /* Linux stores a width of 65,536 columns as 0 (16 bits) */
    } odd[] = {{"7", 160, 20}, {"4000", 160, 400}, {"wide", 100, 100}, {"0", 1 << 16, 80}};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        int widest;
        setenv("COLUMNS", odd[i].columns, 1);
        dg_progress *p = open_on(odd[i].terminal);
        train(p, 1, 1, 1);
        play(closed(p), &widest);
        DG_CHECKF(widest < odd[i].most && (widest > odd[i].most - 20 || widest > 100), "COLUMNS=%s: %d columns",
                  odd[i].columns, widest);
    }
    unsetenv("COLUMNS");
}

/* Very long ETAs are printed in days, or not at all. */
static void far_away(void)
{
    static const struct {
        long seconds;
        const char *eta;
    } far[] = {{359999, " ETA 99:59:59"}, {400000, " ETA 4 d 15 h"}, {200000000, "img/s\n"}};
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        dg_progress *p = open_on(0);
        for (long step = 1; step <= 10; step++) {
            now += 1;
            dg_progress_step(p, 1, 1, step, 1L << 40, &METRICS, step * 64, 64 * (far[i].seconds + 10), 64);
        }
        DG_CHECKF(strstr(closed(p), far[i].eta), "%s", capture.text);
    }
}

/* Later output replaces the message of dg_progress_wait. Images appear above the progress line. */
static void previews(void)
{
    int widest;
    dg_progress *p = open_on(160);
    dg_progress_wait(p, "the first step is under way ...");
    dg_progress_show(p, "a\n");
    train(p, 1, 1, .2);
    dg_progress_show(p, "b\n");
    DG_CHECK(dg_progress_terminal(p));
    const char *text = closed(p);
    play(text, &widest);
    DG_CHECKF(strstr(text, "first step") && !strcmp(screen[0], "a") && !strcmp(screen[1], "b") &&
                  !strncmp(screen[2], "epoch 1/300", 11) && lines == 3,
              "\"%s\" \"%s\" \"%s\"", screen[0], screen[1], screen[2]);
    p = open_on(0);
    dg_progress_wait(p, "the first step is under way ...");
    dg_progress_show(p, "a\n");
    DG_CHECK(!dg_progress_terminal(p) && !dg_progress_terminal(NULL));
    DG_CHECKF(!strcmp(closed(p), "a\n"), "%s", capture.text);
}

static void odd_terminals(void)
{
    static const char *const names[] = {NULL, "", "dumb"};
    char before[64] = "";
    if (getenv("TERM")) snprintf(before, sizeof before, "%s", getenv("TERM"));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i]) setenv("TERM", names[i], 1);
        else unsetenv("TERM");
        dg_progress *p = open_on(80);
        DG_CHECK(!dg_progress_terminal(p));
        DG_CHECKF(*closed(p) == 0, "%s", capture.text);
    }
    setenv("TERM", *before ? before : "xterm", 1);
    begin(80);
    dg_progress_close(open_gan(false));
    DG_CHECKF(*end() == 0, "%s", capture.text);
}

/* Tests steps without images, more steps than announced, and a counter whose total changes. */
static void odd_calls(void)
{
    int widest;
    dg_progress *p = open_on(160);
    for (long step = 1; step <= 10; step++) {
        now += 1;
        dg_progress_step(p, 1, 1, step, 10, &METRICS, 64 * (step - step % 2), 64 * 5, 64);
    }
    DG_CHECKF(strstr(closed(p), "img/s") && !strstr(capture.text, "ETA"), "%s", capture.text);
    p = open_on(160);
    for (long total = 5; total > 2; total--) dg_progress_count(p, "images", 5, total);
    dg_progress_count(p, "images", 1, 5);
    dg_progress_note(p, "a note");
    play(closed(p), &widest);
    DG_CHECKF(strstr(capture.text, "5/3") && strstr(capture.text, "a note\r\n"), "%s", capture.text);
}

/* The progress line of a classifier omits test metrics if the step had no test. */
static void tested(void)
{
    dg_metrics m;
    for (int test = 0; test < 2; test++) {
        for (int k = 0; k < DG_METRICS_MAX; k++) m.value[k] = .5;
        for (int k = 0; k < dg_classifier_recipe.metrics && !test; k++)
            if (dg_classifier_recipe.metric[k].over == DG_OVER_TEST)
                m.value[dg_classifier_recipe.metric[k].term[0]] = NAN;
        begin(160);
        dg_progress *p = dg_progress_open(false);
        dg_progress_recipe(p, &dg_classifier_recipe);
        dg_progress_step(p, 1, 1, 1, 1, &m, 64, 64, 64);
        DG_CHECKF(!strstr(closed(p), "nan") && !strstr(capture.text, "test") == !test, "%s", capture.text);
        begin(0);
        p = dg_progress_open(false);
        dg_progress_recipe(p, &dg_classifier_recipe);
        dg_progress_epoch(p, 1, 1, &m, 1, 64);
        DG_CHECKF(!strstr(closed(p), "nan") && !strstr(capture.text, "test") == !test, "%s", capture.text);
    }
}

static void quiet_and_null(void)
{
    for (int columns = 0; columns <= 80; columns += 80) {
        begin(columns);
        dg_progress *p = open_gan(true);
        train(p, 1, 2, 3);
        dg_progress_count(p, "x", 5, 5);
        dg_progress_note(p, "note");
        dg_progress_wait(p, "wait");
        dg_progress_show(p, "image");
        DG_CHECK(!dg_progress_terminal(p));
        dg_progress_close(p);
        train(NULL, 1, 1, 1);
        dg_progress_count(NULL, "x", 1, 2);
        dg_progress_note(NULL, "note");
        dg_progress_wait(NULL, "wait");
        dg_progress_show(NULL, "image");
        dg_progress_recipe(NULL, &dg_gan_recipe);
        dg_progress_close(NULL);
        const char *text = end();
        DG_CHECKF(*text == 0, "\"%s\"", text);
    }
}

/* Values of a diverging run must not lengthen or break a progress line. */
static void wild_numbers(void)
{
    static const double wild[] = {NAN, -NAN, INFINITY, -1e300, 1e300, 123456.7};
    for (size_t i = 0; i < sizeof wild / sizeof *wild; i++) {
        dg_metrics m;
        int widest;
        for (int k = 0; k < DG_METRICS_MAX; k++) m.value[k] = wild[i];
        dg_progress *p = open_on(100);
        dg_progress_step(p, 2147483647, 2147483647, 9223372036854775807, 9223372036854775807, &m, 0, 0, 0);
        play(closed(p), &widest);
        DG_CHECKF(lines == 1 && widest < 100, "\"%s\"", screen[0]);
        DG_CHECKF(!strstr(screen[0], "-nan"), "\"%s\"", screen[0]);
        if (wild[i] > 1e299 && isfinite(wild[i])) DG_CHECKF(strstr(screen[0], "G 1e+300"), "\"%s\"", screen[0]);
        p = open_on(0);
        dg_progress_epoch(p, 1, 2, &m, 1, 2);
        DG_CHECK(count(closed(p), "\n") == 1);
    }
    static const struct {
        long done, all;
        bool full;
    } part[] = {{2, 1, true}, {-2, 1, false}, {0, 0, false}};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        int widest;
        dg_progress *p = open_on(160);
        dg_progress_step(p, 1, 1, 1, 1, &METRICS, part[i].done, part[i].all, 1);
        play(closed(p), &widest);
        DG_CHECKF(widest < 160 && !strchr(screen[0], '#') == !part[i].full, "\"%s\"", screen[0]);
        p = open_on(160);
        dg_progress_count(p, "of nothing", -1, 0);
        play(closed(p), &widest);
        DG_CHECKF(strstr(screen[0], "of nothing -1/0 ["), "\"%s\"", screen[0]);
    }
}

int main(void)
{
    if (!screen_up()) return dg_test_report();
    odd_widths();
    far_away();
    previews();
    odd_terminals();
    odd_calls();
    tested();
    quiet_and_null();
    wild_numbers();
    return dg_test_report();
}
