#include "host/group/watch.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"

struct dg_watch {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    double limit;
    double since; /* when the present call began or the limit was resumed */
    bool within, paused, closing;
    dg_watch_calls calls;
};

/* Waits for `seconds`, or until the watch is closed. Requires the lock. */
static void nap(dg_watch *w, double seconds)
{
    const double until = dg_clock() + seconds;
    const struct timespec t = {(time_t)until, (long)((until - (double)(time_t)until) * 1e9)};
    while (!w->closing && pthread_cond_timedwait(&w->changed, &w->lock, &t) == 0) {}
}

static void *serve(void *argument)
{
    dg_watch *w = argument;
    pthread_mutex_lock(&w->lock);
    while (!w->closing) {
        const double seconds = dg_clock() - w->since;
        const bool late = w->limit > 0 && w->within && !w->paused && seconds > w->limit;
        pthread_mutex_unlock(&w->lock);
        if (late) w->calls.late(w->calls.context, seconds);
        w->calls.each(w->calls.context);
        pthread_mutex_lock(&w->lock);
        nap(w, w->limit > 0 && w->limit < 10 ? w->limit / 10 : 1);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

dg_err dg_watch_open(double limit, const dg_watch_calls *calls, dg_watch **out)
{
    *out = NULL;
    dg_watch *w = calloc(1, sizeof *w);
    if (!w) return dg_fail(DG_DEVICE, "thread for the time limit: out of memory");
    w->limit = limit, w->calls = *calls;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&w->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&w->lock, NULL);
    sigset_t all, before; /* signals are for the main thread */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int code = pthread_create(&w->thread, NULL, serve, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code) {
        pthread_cond_destroy(&w->changed);
        pthread_mutex_destroy(&w->lock);
        free(w);
        return dg_fail(DG_DEVICE, "cannot start the thread for the time limit: %s", strerror(code));
    }
    *out = w;
    return DG_OK;
}

static void set(dg_watch *w, bool within, bool paused)
{
    w->within = within, w->paused = paused;
    w->since = dg_clock();
}

void dg_watch_begin(dg_watch *w)
{
    if (!w) return;
    pthread_mutex_lock(&w->lock);
    set(w, true, w->paused);
    pthread_mutex_unlock(&w->lock);
}

void dg_watch_end(dg_watch *w)
{
    if (!w) return;
    pthread_mutex_lock(&w->lock);
    set(w, false, w->paused);
    pthread_mutex_unlock(&w->lock);
}

void dg_watch_pause(dg_watch *w, bool paused)
{
    if (!w) return;
    pthread_mutex_lock(&w->lock);
    set(w, w->within, paused);
    pthread_mutex_unlock(&w->lock);
}

void dg_watch_close(dg_watch *w)
{
    if (!w) return;
    pthread_mutex_lock(&w->lock);
    w->closing = true;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
