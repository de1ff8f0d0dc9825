/* Opens the GPU in a thread, because opening takes about a second. The main thread can read images meanwhile. */
#include "host/cli/open_async.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct dg_opening {
    const dg_options *o;
    pthread_t thread;
    bool in_thread;
    atomic_bool failed;
    /* result of the thread, valid after pthread_join */
    dg_err error;
    /* the opened GPU, or NULL; the main thread opens the CPU backend, which uses the main thread's OpenMP team */
    dg_backend *backend;
    /* error message of the thread, or the reason why no GPU is used */
    char message[1024];
};

static void *open_gpu(void *argument)
{
    dg_opening *p = argument;
    p->error = dg_open_gpu(p->o, &p->backend, p->message, sizeof p->message);
    if (p->error) snprintf(p->message, sizeof p->message, "%s", dg_message());
    atomic_store(&p->failed, p->error != DG_OK);
    return NULL;
}

dg_err dg_opening_start(const dg_options *o, dg_opening **out)
{
    dg_opening *p = *out = calloc(1, sizeof *p);
    if (!p) return dg_fail(DG_DEVICE, "out of memory");
    p->o = o;
    if (!strcmp(o->device, "cpu")) return p->error = dg_open_backend(o, &p->backend);
    /* the new thread inherits this signal mask, so that only the main thread handles signals */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    p->in_thread = pthread_create(&p->thread, NULL, open_gpu, p) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (p->in_thread) return DG_OK;
    open_gpu(p);
    return p->error ? dg_fail(p->error, "%s", p->message) : DG_OK;
}

bool dg_opening_failed(void *opening) { return atomic_load(&((dg_opening *)opening)->failed); }

dg_err dg_opening_finish(dg_opening **opening, dg_backend **out)
{
    dg_opening *p = *opening;
    *opening = NULL;
    if (!p) return DG_OK;
    if (p->in_thread) pthread_join(p->thread, NULL);
    dg_err e = p->error;
    *out = p->backend;
    if (e && strcmp(p->o->device, "cpu")) dg_set_message("%s", p->message);
    else if (!e && !*out) e = dg_open_instead(p->o, p->message, out);
    free(p);
    return e;
}
