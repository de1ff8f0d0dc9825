/* Opening a GPU takes a second or so that the images can be read in: it happens in a thread of its own. */
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
    /* the result; the thread's until it has been joined */
    dg_err error;
    /* NULL without an error: the CPU, opened by the main thread, whose threads its loops will be */
    dg_backend *backend;
    /* of the error, for dg_message() belongs to the thread; or why it is not a GPU, "" for no reason */
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
    /* Signals are for the main thread, which knows how to stop; a new thread inherits this mask. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    p->in_thread = pthread_create(&p->thread, NULL, open_gpu, p) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (p->in_thread) return DG_OK; /* the result belongs to the thread now */
    open_gpu(p);                    /* no thread is to be had: one after the other, then */
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
