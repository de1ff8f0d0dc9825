#include "host/lib/lib_internal.h"

#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

#include "core/base/c_locale.h"

static void enter(dg_host_state *s)
{
    s->locale = dg_use_c_locale();
    (void)fegetenv(&s->env);
    (void)fesetenv(FE_DFL_ENV);
}

static void leave(const dg_host_state *s)
{
    (void)fesetenv(&s->env);
    (void)uselocale(s->locale);
}

/* Block all signals but `faults`. New OpenMP threads inherit the mask, so that they run no signal handlers of the host
 * program. */
static void block(sigset_t *before)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGPROF};
    sigset_t held;
    sigfillset(&held);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&held, faults[i]);
    pthread_sigmask(SIG_BLOCK, &held, before);
}

/* OpenMP thread numbers are fixed while the team size is constant. */
void dg_guard_enter(dg_guard *g, dg_host_state *worker, int n)
{
    *g = (dg_guard){.worker = worker, .workers = worker ? n : 0, .max = omp_get_max_threads()};
    enter(&g->state);
    if (!worker || n < 2) return;
    sigset_t before;
    block(&before);
    for (int i = 0; i < n; i++) worker[i].locale = (locale_t)0;
#pragma omp parallel num_threads(n)
    if (omp_get_thread_num() > 0 && omp_get_thread_num() < n) enter(&worker[omp_get_thread_num()]);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void dg_guard_leave(dg_guard *g)
{
    const int n = g->workers;
    const dg_host_state *worker = g->worker;
    if (n > 1) {
#pragma omp parallel num_threads(n)
        if (omp_get_thread_num() > 0 && omp_get_thread_num() < n && worker[omp_get_thread_num()].locale)
            leave(&worker[omp_get_thread_num()]);
    }
    omp_set_num_threads(g->max);
    leave(&g->state);
}
