/* What the library's handles are. */
#ifndef DG_LIB_INTERNAL_H
#define DG_LIB_INTERNAL_H

#include "host/data/dataset.h"
#include "host/lib/guard.h"
#include "host/net/generator.h"
#include "host/run/steps.h"
#include "include/dcgan.h"

struct dcgan_backend {
    dg_backend *b;
    dg_host_state *state; /* room for that of each thread */
};

struct dcgan_job {
    dcgan_backend *on;
    dg_generator g; /* model, job, and what a checkpoint says of it; the backend is not its own */
    /* The rest of one that trains: */
    bool train;
    dg_dataset data; /* pixels are the caller's */
    dg_trainer trainer;
};

/* Return what the call returns, computed as in a program that has set nothing. on: its backend, NULL: no threads. */
#define DG_GUARDED(on, call)                                                                                    \
    do {                                                                                                        \
        dg_guard guard;                                                                                         \
        const dcgan_backend *const threads_of = (on);                                                           \
        dg_guard_enter(&guard, threads_of ? threads_of->state : NULL, threads_of ? threads_of->b->threads : 0); \
        const dcgan_error result = (dcgan_error)(call);                                                         \
        dg_guard_leave(&guard);                                                                                 \
        return result;                                                                                          \
    } while (0)

/* A job without anything but its backend. */
dcgan_error dg_lib_job(dcgan_backend *b, dcgan_job **out);
/* What a maker of jobs returns: with the job if e is DG_OK, else without it. */
dcgan_error dg_lib_made(dg_err e, dcgan_job **job);

#endif
