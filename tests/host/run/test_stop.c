/* Tests signals during a run. The first signal prints a message and is remembered. The second signal ends the run. */
#include "host/run/stop.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tempdir.h"
#include "test.h"

static const char words[] = "finishing the step\n", cleared[] = "\r\033[K";

typedef struct {
    bool terminal, deaf; /* whether stderr is a terminal, and whether it is closed */
    const char *says;    /* argument of dg_stop_says, or NULL */
    int ignored, first, second;
    int code; /* exit code, or 0 if the run continues */
    const char *want;
} row;

static int answer(const row *c, int fd)
{
    if (fd != STDERR_FILENO) dup2(fd, STDERR_FILENO);
    if (c->deaf) close(STDERR_FILENO);
    if (c->ignored) (void)signal(c->ignored, SIG_IGN);
    dg_catch_signals();
    if (c->says) dg_stop_says(c->says);
    if (c->ignored) raise(c->ignored);
    if (c->ignored && dg_stop_signal) return 90;
    raise(c->first);
    if (dg_stop_signal != c->first) return 91;
    if (c->second) raise(c->second);
    return 0;
}

static ssize_t hear(int pty, char *to, size_t size)
{
    size_t n = 0;
    for (ssize_t more; n < size && (more = read(pty, to + n, size - n)) > 0;) n += (size_t)more;
    return (ssize_t)n;
}

static void try(const row *c)
{
    char name[64] = "", said[100] = "";
    const int pty = c->terminal ? posix_openpt(O_RDWR | O_NOCTTY) : -1;
    if (c->terminal && (pty < 0 || grantpt(pty) || unlockpt(pty) || ptsname_r(pty, name, sizeof name))) {
        dg_test_skip("no terminal is to be had");
        return;
    }
    const char *file = c->terminal ? name : temp_path("said");
    fflush(stdout);
    const int fd = open(file, O_RDWR | O_CREAT | O_TRUNC | O_NOCTTY, 0600);
    const pid_t pid = fork();
    if (pid == 0) _exit(answer(c, fd));
    int status = -1;
    waitpid(pid, &status, 0);
    DG_CHECKF(WIFEXITED(status) && WEXITSTATUS(status) == c->code, "%s: status %d, not %d", c->want, status, c->code);
    if (c->terminal) close(fd); /* closes the last writer, so that hear() reaches the end of the output */
    const ssize_t n = c->terminal ? hear(pty, said, 99) : pread(fd, said, 99, 0);
    char *plain = said; /* a terminal replaces \n with \r\n */
    for (ssize_t i = 0; i < n; i++)
        if (said[i] != '\r' || said[i + 1] != '\n') *plain++ = said[i];
    *plain = 0;
    DG_CHECKF(!strcmp(said, c->want), "said '%s', not '%s'", said, c->want);
    close(c->terminal ? pty : fd);
}

int main(void)
{
    char over[64], timed[100];
    snprintf(timed, sizeof timed, "CPU time limit reached (ulimit -t): %s", words);
    snprintf(over, sizeof over, "%s%s", cleared, words);
    const row rows[] = {
        {.says = words, .first = SIGINT, .want = words},
        {.says = words, .first = SIGTERM, .second = SIGTERM, .code = 128 + SIGTERM, .want = words},
        {.says = words, .first = SIGHUP, .second = SIGINT, .code = 128 + SIGINT, .want = words},
        {.says = words, .terminal = true, .first = SIGINT, .want = over},
        {.says = words, .ignored = SIGHUP, .first = SIGINT, .want = words},
        {.says = words, .deaf = true, .first = SIGINT, .second = SIGINT, .code = 128 + SIGINT, .want = ""},
        {.first = SIGINT, .second = SIGTERM, .code = 128 + SIGTERM, .want = ""},
        {.first = SIGINT, .terminal = true, .want = ""},
        {.says = words, .first = SIGUSR1, .second = SIGUSR1, .want = words},
        {.says = words, .first = SIGUSR1, .second = SIGTERM, .code = 128 + SIGTERM, .want = words},
        {.says = words, .first = SIGUSR2, .second = SIGXCPU, .want = words},
        {.says = words, .first = SIGTERM, .second = SIGUSR2, .want = words},
        {.says = words, .ignored = SIGUSR2, .first = SIGINT, .want = words},
        {.says = words, .first = SIGXCPU, .second = SIGXCPU, .want = timed},
    };
    temp_make("stop");
    /* shells ignore SIGINT in background jobs, so the test restores the default action */
    for (int i = 0; i < 3; i++) (void)signal((int[]){SIGINT, SIGTERM, SIGHUP}[i], SIG_DFL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) try(&rows[i]);
    temp_remove(temp_dir);
    return dg_test_report();
}
