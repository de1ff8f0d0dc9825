#include "core/base/team.h"

#include "core/base/limits.h"

#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1024 };

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER; /* locked until all threads have started */

static void *wait_at_gate(void *nothing)
{
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    return nothing;
}

/* Returns the environment variable OMP_STACKSIZE in bytes (suffix B, K, M, G; default K), or 0 if not set. */
static size_t stack_bytes(void)
{
    static const char units[] = "BKMG";
    const char *text = getenv("OMP_STACKSIZE");
    char *end;
    if (!text) return 0;
    const unsigned long n = strtoul(text, &end, 10);
    end += strspn(end, " ");
    const char *unit = *end ? strchr(units, *end & ~0x20) : units + 1;
    return unit ? (size_t)n << 10 * (unit - units) : 0;
}

static int start(int n, int *error)
{
    pthread_t thread[MOST];
    pthread_attr_t attributes;
    int started = 0;
    *error = pthread_attr_init(&attributes);
    if (*error) return 0;
    const size_t stack = stack_bytes();
    if (stack) (void)pthread_attr_setstacksize(&attributes, stack); /* too small a stack is ignored, as by OpenMP */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_mutex_lock(&gate);
    while (started < n && (*error = pthread_create(&thread[started], &attributes, wait_at_gate, NULL)) == 0) started++;
    pthread_mutex_unlock(&gate);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    for (int i = 0; i < started; i++) pthread_join(thread[i], NULL);
    pthread_attr_destroy(&attributes);
    return started;
}

/* Returns how many of `threads` threads can run at once. Stores errno in *error if a thread cannot start. */
static int can_start(int threads, int *error)
{
    static atomic_int proven = 1;
    const int have = atomic_load(&proven);
    if (threads <= have) return threads;
    const int could = have + start(threads - have, error);
    atomic_store(&proven, could);
    return could;
}

static int allowed(int threads)
{
    const int limit = omp_get_thread_limit(), most = limit < MOST ? limit : MOST;
    return threads < most ? threads : most;
}

dg_err dg_team_check(int threads)
{
    char why[300];
    int error = 0;
    threads = allowed(threads);
    const int could = can_start(threads, &error);
    if (could == threads) return DG_OK;
    return dg_fail(
        DG_DEVICE,
        DG_MSG("threads-not-started",
               "{threads}: cannot start %d threads, only %d (%s%s); use fewer threads, which is slower: {threads} %d, "
               "or OMP_NUM_THREADS=%d"),
        threads, could, strerror(error), dg_thread_limit_note(why, sizeof why), could, could);
}

int dg_team_fit(int threads)
{
    char why[300];
    int error = 0;
    threads = allowed(threads);
    const int could = can_start(threads, &error);
    if (could < threads)
        dg_warn("training is slower: only %d of %d threads could be started (%s%s)", could, threads, strerror(error),
                dg_thread_limit_note(why, sizeof why));
    return could;
}

dg_err dg_team_begin(int given)
{
    if (given > 0) return dg_team_check(given);
    omp_set_num_threads(dg_team_fit(omp_get_max_threads()));
    return DG_OK;
}

dg_err dg_team_each(int n, dg_err (*work)(void *context, int i), void *context)
{
    dg_err error = DG_OK;
    char message[DG_MESSAGE_BYTES] = "";
    int failed = n;
#pragma omp parallel for schedule(dynamic, 8)
    for (int i = 0; i < n; i++) {
        int stop;
#pragma omp atomic read
        stop = failed;
        const dg_err e = i > stop ? DG_OK : work(context, i);
        if (!e) continue;
#pragma omp critical
        if (i < failed) {
#pragma omp atomic write
            failed = i;
            error = e;
            snprintf(message, sizeof message, "%s", dg_message());
        }
    }
    return error ? dg_fail(error, "%s", message) : DG_OK;
}
