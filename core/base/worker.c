#include "core/base/worker.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUEUE = 16 };

typedef struct {
    dg_err (*work)(void *context);
    void *context;
} job;

enum { IDLE = -1 };

struct dg_worker {
    pthread_t thread[DG_WORKER_THREADS];
    int threads;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    job queue[QUEUE];
    int first, count;
    int busy;
    long given;
    long running[DG_WORKER_THREADS]; /* number of each thread's current job, or IDLE */
    int started;
    bool closing;
    dg_err error; /* error and message of the first failed job, because dg_message() is per thread */
    char message[1024];
};

static void *serve(void *argument)
{
    dg_worker *w = argument;
    pthread_mutex_lock(&w->lock);
    long *const running = &w->running[w->started++];
    for (;;) {
        while (w->count == 0 && !w->closing) pthread_cond_wait(&w->changed, &w->lock);
        if (w->count == 0) break;
        job j = w->queue[w->first];
        *running = w->given - w->count;
        w->first = (w->first + 1) % QUEUE;
        w->count--;
        w->busy++;
        pthread_cond_broadcast(&w->changed);
        pthread_mutex_unlock(&w->lock);
        dg_err e = j.work(j.context);
        if (e) dg_warn("%s", dg_message());
        pthread_mutex_lock(&w->lock);
        if (e && !w->error) {
            w->error = e;
            snprintf(w->message, sizeof w->message, "%s", dg_message());
        }
        *running = IDLE;
        w->busy--;
        pthread_cond_broadcast(&w->changed);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

dg_err dg_worker_open(int threads, dg_worker **out)
{
    dg_worker *w = calloc(1, sizeof *w);
    if (!w) return dg_fail(DG_DEVICE, "worker thread: out of memory");
    for (int i = 0; i < DG_WORKER_THREADS; i++) w->running[i] = IDLE;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    /* Worker threads inherit a mask that blocks all signals, so that the training thread receives the signals. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = 0;
    for (int i = 0; i < threads && !code; i++)
        if ((code = pthread_create(&w->thread[i], NULL, serve, w)) == 0) w->threads++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!w->threads) {
        pthread_cond_destroy(&w->changed);
        pthread_mutex_destroy(&w->lock);
        free(w);
        return dg_fail(DG_DEVICE, "cannot start a worker thread: %s", strerror(code));
    }
    *out = w;
    return DG_OK;
}

void dg_worker_give(dg_worker *w, dg_err (*work)(void *context), void *context)
{
    pthread_mutex_lock(&w->lock);
    while (w->count == QUEUE) pthread_cond_wait(&w->changed, &w->lock);
    w->queue[(w->first + w->count++) % QUEUE] = (job){work, context};
    w->given++;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

/* Requires the lock. */
static dg_err result(const dg_worker *w) { return w->error ? dg_fail(w->error, "%s", w->message) : DG_OK; }

/* Requires the lock. */
static bool done(const dg_worker *w, long n)
{
    bool yes = w->given - w->count >= n;
    for (int i = 0; i < DG_WORKER_THREADS; i++) yes &= w->running[i] == IDLE || w->running[i] >= n;
    return yes;
}

long dg_worker_given(dg_worker *w)
{
    pthread_mutex_lock(&w->lock);
    const long given = w->given;
    pthread_mutex_unlock(&w->lock);
    return given;
}

dg_err dg_worker_wait(dg_worker *w, long jobs)
{
    pthread_mutex_lock(&w->lock);
    while (!done(w, jobs)) pthread_cond_wait(&w->changed, &w->lock);
    dg_err e = result(w);
    pthread_mutex_unlock(&w->lock);
    return e;
}

int dg_worker_left(dg_worker *w)
{
    pthread_mutex_lock(&w->lock);
    const int left = w->count + w->busy;
    pthread_mutex_unlock(&w->lock);
    return left;
}

dg_err dg_worker_close(dg_worker *w)
{
    if (!w) return DG_OK;
    pthread_mutex_lock(&w->lock);
    w->closing = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    for (int i = 0; i < w->threads; i++) pthread_join(w->thread[i], NULL);
    dg_err e = result(w);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    free(w);
    return e;
}
