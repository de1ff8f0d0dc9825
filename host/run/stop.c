#include "host/run/stop.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

volatile sig_atomic_t dg_stop_signal;
static const char *volatile said;
static volatile sig_atomic_t terminal;

/* Async-signal-safe. */
static void say(const char *text)
{
    const int before = errno;
    if (write(STDERR_FILENO, text, strlen(text)) < 0) errno = 0;
    errno = before;
}

/* true for signals that batch systems send, possibly repeatedly, before a time limit */
static bool is_notice(int number) { return number == SIGUSR1 || number == SIGUSR2 || number == SIGXCPU; }

static void on_signal(int number)
{
    if (dg_stop_signal && is_notice(number)) return;
    if (dg_stop_signal) _exit(128 + number);
    dg_stop_signal = number;
    const char *words = said;
    if (words && terminal) say("\r\033[K");
    if (words && number == SIGXCPU) say("CPU time limit reached (ulimit -t): ");
    if (words) say(words);
}

void dg_stop_says(const char *words)
{
    terminal = isatty(STDERR_FILENO);
    said = words;
}

void dg_catch_signals(void)
{
    struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&a.sa_mask);
    static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU};
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++) {
        struct sigaction old;
        /* a signal that nohup or a background shell ignores stays ignored */
        if (!sigaction(caught[i], NULL, &old) && old.sa_handler != SIG_IGN) sigaction(caught[i], &a, NULL);
    }
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* writes beyond the file size limit then fail with EFBIG */
}
