/* Kills a process at random times while it writes one file after another. */
#ifndef DG_KILL_AT_RANDOM_H
#define DG_KILL_AT_RANDOM_H

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/file_io.h"
#include "test.h"

/* Removes temporary files as the next training run does. */
__attribute__((unused)) static void sweep(const char *directory)
{
    const int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0) return;
    dg_sweep_temporaries(dir);
    close(dir);
}

typedef void endless_work(void *context);

static pid_t begun(endless_work *work, void *context)
{
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
        work(context);
        _exit(1);
    }
    return pid;
}

static void killed(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void pause_for(double seconds)
{
    const double whole = floor(seconds);
    nanosleep(&(struct timespec){(time_t)whole, (long)((seconds - whole) * 1e9)}, NULL);
}

/* Writes the first complete file. Returns a maximum delay for kill_at_random, in seconds, enough for several files. */
__attribute__((unused)) static double time_of_files(endless_work *work, void *context, const char *path)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    const pid_t pid = begun(work, context);
    for (int i = 0; i < 60000 && access(path, F_OK); i++) pause_for(0.001);
    killed(pid);
    clock_gettime(CLOCK_MONOTONIC, &b);
    return 0.02 + 3 * ((double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec));
}

__attribute__((unused)) static void kill_at_random(endless_work *work, void *context, double longest,
                                                   unsigned long long *seed)
{
    const pid_t pid = begun(work, context);
    pause_for(longest * fabs(dg_test_random(seed)));
    killed(pid);
}

#endif
