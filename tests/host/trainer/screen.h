/* Captures output to a terminal or pipe, and computes the text on the screen. Replaces the clock. */
#pragma once

#include "host/cli/commands.h"
#include "host/trainer/progress.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include "core/base/err.h"
#include "host/net/gan.h"
#include "test.h"

static double now = 1000;

int clock_gettime(clockid_t id, struct timespec *t)
{
    (void)id;
    t->tv_sec = (time_t)now;
    t->tv_nsec = (long)((now - (double)(time_t)now) * 1e9);
    return 0;
}

static struct {
    int read_end, saved;
    pthread_t reader;
    char text[400000];
    size_t bytes;
} capture;

static void *collect(void *unused)
{
    for (ssize_t n;
         (n = read(capture.read_end, capture.text + capture.bytes, sizeof capture.text - 1 - capture.bytes)) > 0;)
        capture.bytes += (size_t)n;
    capture.text[capture.bytes] = 0;
    return unused;
}

static void begin(int columns) /* stderr is a pipe if columns is 0 */
{
    int end[2];
    if (columns) {
        end[0] = posix_openpt(O_RDWR | O_NOCTTY);
        if (end[0] < 0 || grantpt(end[0]) || unlockpt(end[0])) abort();
        end[1] = open(ptsname(end[0]), O_RDWR | O_NOCTTY);
        struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)columns};
        if (end[1] < 0 || ioctl(end[1], TIOCSWINSZ, &size)) abort();
    } else if (pipe(end)) {
        abort();
    }
    fflush(stderr);
    capture.bytes = 0;
    capture.read_end = end[0];
    capture.saved = dup(2);
    dup2(end[1], 2);
    close(end[1]);
    if (pthread_create(&capture.reader, NULL, collect, NULL)) abort();
}

static const char *end(void)
{
    fflush(stderr);
    dup2(capture.saved, 2); /* closes the last writer, so that the reader reaches the end of the output */
    close(capture.saved);
    pthread_join(capture.reader, NULL);
    close(capture.read_end);
    return capture.text;
}

/* Computes the final lines on a terminal's screen. Returns the number of redraws, and sets *widest to the length of
 * the longest line. */
static char screen[40][512];
static int lines;

static int play(const char *s, int *widest)
{
    int column = 0, draws = 0;
    memset(screen, 0, sizeof screen);
    lines = 0;
    *widest = 0;
    for (; *s; s++) {
        char *line = screen[lines];
        if (*s == '\r') {
            if (s[1] != '\n') draws++;
            column = 0;
        } else if (*s == '\n') {
            if (lines < 39) lines++;
            column = 0;
        } else if (!strncmp(s, "\033[K", 3)) {
            memset(line + column, 0, (size_t)(511 - column));
            s += 2;
        } else if (*s == '\033') {
            s += strcspn(s, "m");
        } else if (column < 511) {
            line[column++] = *s;
        }
        if (column > *widest) *widest = column;
    }
    return draws;
}

static long count(const char *text, const char *part)
{
    long n = 0;
    for (const char *s = text; (s = strstr(s, part)); s += strlen(part)) n++;
    return n;
}

static const dg_metrics METRICS = {.value = {[DG_LOSS_D_REAL] = .40,
                                             [DG_LOSS_D_FAKE] = .21,
                                             [DG_LOSS_G] = 1.92,
                                             [DG_D_X] = .74,
                                             [DG_D_GZ1] = .21,
                                             [DG_D_GZ2] = .18}};

static dg_progress *open_gan(bool quiet)
{
    dg_progress *p = dg_progress_open(quiet);
    dg_progress_recipe(p, &dg_gan_recipe);
    return p;
}

/* Opens a GAN's progress display on a terminal with this many columns, or on a pipe if columns is 0. */
__attribute__((unused)) static dg_progress *open_on(int columns)
{
    begin(columns);
    return open_gan(false);
}

__attribute__((unused)) static const char *closed(dg_progress *p)
{
    dg_progress_close(p);
    return end();
}

/* Simulates epochs of 46 steps with batch size 64. Each step takes `each` seconds. */
static void train(dg_progress *p, int first, int last, double each)
{
    for (int epoch = first; epoch <= last; epoch++) {
        for (long step = 1; step <= 46; step++) {
            now += each;
            dg_progress_step(p, epoch, 300, step, 46, &METRICS, ((epoch - 1) * 46 + step) * 64, 300 * 46 * 64, 64);
        }
        dg_progress_epoch(p, epoch, 300, &METRICS, 46 * each, 64 / each);
    }
}

/* Sets the environment of a terminal. Returns false, with a message, if this machine has no pseudo-terminals. */
static bool screen_up(void)
{
    dg_speak_as_program();
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0) {
        dg_test_skip("this machine gives no pseudo-terminal (is /dev/pts there?)");
        return false;
    }
    close(terminal);
    setenv("TERM", "xterm", 1);
    unsetenv("COLUMNS");
    unsetenv("NO_COLOR");
    return true;
}
