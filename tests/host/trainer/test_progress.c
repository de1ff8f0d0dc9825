/* Tests progress lines on a pipe and on a pseudo-terminal. */
#include "screen.h"

static void on_a_terminal(void)
{
    int widest;
    dg_progress *p = open_on(160);
    double start = now;
    train(p, 1, 12, .013);
    double took = now - start;
    const char *text = closed(p);
    int draws = play(text, &widest);
    DG_CHECKF(draws <= took * 10 + 2 && draws >= took * 5, "%d redraws in %.2f s", draws, took);
    DG_CHECKF(count(text, "\n") == 1, "%ld lines", count(text, "\n"));
    const char *last = "epoch 12/300 step 46/46 [#                             ]  4% D 0.61 G 1.92 D(x) .74 "
                       "D(G(z)) .21/.18 4923 img/s ETA 0:02:52";
    DG_CHECKF(lines == 1 && !strcmp(screen[0], last), "screen: \"%s\"", screen[0]);
    DG_CHECK(count(text, "\033[32m") > 0);
    /* The first progress line appears immediately, without images/s or ETA. */
    DG_CHECKF(!strncmp(text, "\repoch 1/300 step 1/46 [", 24), "%.60s", text);
    char *eta = strstr(capture.text, "ETA");
    if (!DG_CHECK(eta)) return;
    *eta = 0;
    DG_CHECKF(count(text, "\r") > 24, "an ETA after %ld redraws", count(text, "\r"));
}

static void widths(void)
{
    static const struct {
        int columns;
        const char *line;
    } want[] = {
        {100, "epoch 1/300 step 46/46 [        ]  0% D 0.61 G 1.92 D(x) .74 D(G(z)) .21/.18 64.0 img/s ETA 3:49:14"},
        {99, "epoch 1/300 step 46/46 D 0.61 G 1.92 D(x) .74 D(G(z)) .21/.18 64.0 img/s ETA 3:49:14"},
        {80, "epoch 1/300 46/46 D 0.61 G 1.92 D(x) .74 D(G) .21/.18 64.0 img/s ETA 3:49:14"},
        {70, "epoch 1/300 46/46 D 0.61 G 1.92 D(x) .74 D(G) .21/.18 ETA 3:49:14"},
        {60, "epoch 1/300 46/46 D 0.61 G 1.92 ETA 3:49:14"},
        {40, "epoch 1/300 46/46 ETA 3:49:14"},
        {24, "epoch 1/300 46/46 ETA 3"},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        for (int from_environment = 0; from_environment <= 1; from_environment++) {
            int widest, used;
            char columns[20];
            snprintf(columns, sizeof columns, "%d", want[i].columns);
            if (from_environment) setenv("COLUMNS", columns, 1);
            dg_progress *p = open_on(from_environment ? 200 : want[i].columns);
            train(p, 1, 1, 1);
            now += 1;
            dg_progress_count(p, "a long name for what is being read, and longer still, until nothing fits", 1, 9);
            closed(p);
            unsetenv("COLUMNS");
            play(capture.text, &widest);
            char *after = strstr(capture.text, "a long");
            if (!DG_CHECK(after)) continue;
            *after = 0;
            play(capture.text, &used);
            DG_CHECKF(!strcmp(screen[0], want[i].line), "%d columns: \"%s\"", want[i].columns, screen[0]);
            DG_CHECKF(widest < want[i].columns, "%d of %d columns used", widest, want[i].columns);
        }
}

static void no_color_and_dumb(void)
{
    setenv("NO_COLOR", "1", 1);
    dg_progress *p = open_on(160);
    train(p, 1, 1, 1);
    const char *text = closed(p);
    DG_CHECK(count(text, "\r") > 10 && strchr(text, '[') && !strstr(text, "\033[32m"));
    setenv("NO_COLOR", "", 1); /* an empty NO_COLOR has no effect (no-color.org) */
    p = open_on(160);
    train(p, 1, 1, 1);
    DG_CHECK(strstr(closed(p), "\033[32m"));
    unsetenv("NO_COLOR");
    for (int i = 0; i < 2; i++) {
        if (i) unsetenv("TERM");
        else setenv("TERM", "dumb", 1);
        p = open_on(160);
        train(p, 1, 2, .01);
        text = closed(p);
        DG_CHECKF(count(text, "\r\n") == 2 && count(text, "\r") == 2 && !strchr(text, '\033'), "\"%s\"", text);
    }
    setenv("TERM", "xterm", 1);
}

static void through_a_pipe(void)
{
    dg_progress *p = open_on(0);
    train(p, 1, 5, .01);
    const char *quick = closed(p);
    DG_CHECKF(count(quick, "\n") == 5, "%s", quick);
    DG_CHECKF(!strpbrk(quick, "\r\033["), "%s", quick);
    const char *first = "epoch 1/300 D 0.610 G 1.920 D(x) 0.740 D(G(z)) 0.210/0.180 6400 img/s 0.5 s\nepoch 2/300 ";
    DG_CHECKF(!strncmp(quick, first, strlen(first)), "%s", quick);
    /* A progress line that is due at the end of an epoch is printed only once. */
    p = open_on(0);
    for (int step = 1; step <= 10; step++) {
        now += 1;
        dg_progress_step(p, 1, 2, step, 10, &METRICS, step * 64L, 1280, 64);
    }
    dg_progress_epoch(p, 1, 2, &METRICS, 10, 64);
    DG_CHECKF(count(closed(p), "\n") == 1, "%s", capture.text);
    /* Epochs of 46 s print a progress line every 10 s and one at the end of the epoch. */
    p = open_on(0);
    train(p, 1, 3, 1);
    const char *slow = closed(p);
    DG_CHECKF(count(slow, "\n") == 3 * 5, "%ld lines: %s", count(slow, "\n"), slow);
    DG_CHECKF(count(slow, " step ") == 3 * 4, "%s", slow);
    first = "epoch 1/300 step 10/46 D 0.61 G 1.92 D(x) .74 D(G(z)) .21/.18 64.0 img/s ETA 3:49:50\n";
    DG_CHECKF(!strncmp(slow, first, strlen(first)), "%s", slow);
}

/* The ETA stays steady although every fifth interval is three times as slow because of a checkpoint. */
static void eta_is_steady(void)
{
    dg_progress *p = open_on(0);
    for (long step = 1; step <= 200; step++) {
        now += step % 5 == 0 ? 3 : 1;
        dg_progress_step(p, 1, 1, step, 1000, &METRICS, step * 64, 64000, 64);
    }
    const char *text = closed(p);
    DG_CHECKF(count(text, "ETA") > 10, "%s", text);
    for (const char *s = text; (s = strstr(s, "step ")); s++) {
        long step = strtol(s + 5, NULL, 10);
        const char *eta = strstr(s, "ETA ");
        char *at;
        if (!eta) continue;
        long left = strtol(eta + 4, &at, 10) * 3600;
        left += strtol(at + 1, &at, 10) * 60;
        left += strtol(at + 1, &at, 10);
        DG_CHECKF(labs(left - (1000 - step)) <= 2, "step %ld: %.12s", step, eta);
    }
}

static void counts_and_notes(void)
{
    int widest;
    dg_progress *p = open_on(80);
    for (long i = 1; i <= 2944; i++) {
        now += .001;
        dg_progress_count(p, "reading images", i, 2944);
    }
    dg_progress_count(p, "reading images", 2944, 2944);
    train(p, 1, 1, .2);
    dg_progress_note(p, "saved %s", "a\033[31mb.png");
    dg_warn("disk is slow");
    train(p, 2, 2, .2);
    const char *text = closed(p);
    int draws = play(text, &widest);
    DG_CHECKF(draws < 140, "%d redraws", draws);
    DG_CHECKF(!strcmp(screen[0], "reading images 2944/2944"), "\"%s\"", screen[0]);
    DG_CHECKF(!strcmp(screen[1], "saved a\\x1b[31mb.png"), "\"%s\"", screen[1]);
    DG_CHECKF(!strcmp(screen[2], "dcgan: warning: disk is slow"), "\"%s\"", screen[2]);
    DG_CHECKF(!strncmp(screen[3], "epoch 2/300 46/46 D 0.61", 24) && lines == 4, "\"%s\"", screen[3]);
    p = open_on(0);
    for (long i = 0; i <= 25; i++) {
        dg_progress_count(p, "reading images", i, 25);
        now += 1;
    }
    dg_progress_note(p, "done");
    text = closed(p);
    const char *want = "reading images 10/25\nreading images 20/25\nreading images 25/25\ndone\n";
    DG_CHECKF(!strcmp(text, want), "%s", text);
}

int main(void)
{
    if (!screen_up()) return dg_test_report();
    on_a_terminal();
    widths();
    no_color_and_dumb();
    through_a_pipe();
    eta_is_steady();
    counts_and_notes();
    return dg_test_report();
}
