/* What the library's handles are. */
#ifndef DG_LIB_INTERNAL_H
#define DG_LIB_INTERNAL_H

#include "host/data/dataset.h"
#include "host/lib/guard.h"
#include "host/infer/generator.h"
#include "host/trainer/steps.h"
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

/* Returns the result of a call that is computed as in a host program that has changed no setting.
 * worker, threads: as for dg_guard_enter. */
#define DG_GUARDED(worker, threads, call)               \
    do {                                                \
        dg_guard guard;                                 \
        dg_guard_enter(&guard, (worker), (threads));    \
        const dcgan_error result = (dcgan_error)(call); \
        dg_guard_leave(&guard);                         \
        return result;                                  \
    } while (0)
#define DG_GUARDED_ON(backend, call) DG_GUARDED((backend)->state, (backend)->b->threads, call) /* uses its threads */

/* A job without anything but its backend. */
dcgan_error dg_lib_job(dcgan_backend *b, dcgan_job **out);
/* What a maker of jobs returns: with the job if e is DG_OK, else without it. */
dcgan_error dg_lib_made(dg_err e, dcgan_job **job);

#endif
