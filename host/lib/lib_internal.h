/* Contents of the library's handles. */
#ifndef DG_LIB_INTERNAL_H
#define DG_LIB_INTERNAL_H

#include "host/data/dataset.h"
#include "host/lib/guard.h"
#include "host/infer/generator.h"
#include "host/trainer/steps.h"
#include "include/dcgan.h"

struct dcgan_backend {
    dg_backend *b;
    dg_host_state *state;
};

struct dcgan_job {
    dcgan_backend *on;
    dg_generator g; /* model, job and checkpoint info; does not own the backend */
    bool train;
    dg_dataset data; /* training images; the caller owns their pixels */
    dg_trainer trainer;
};

/* Return the result of `call`, which runs with the default settings. worker, threads: see dg_guard_enter. */
#define DG_GUARDED(worker, threads, call)               \
    do {                                                \
        dg_guard guard;                                 \
        dg_guard_enter(&guard, (worker), (threads));    \
        const dcgan_error result = (dcgan_error)(call); \
        dg_guard_leave(&guard);                         \
        return result;                                  \
    } while (0)
#define DG_GUARDED_ON(backend, call) DG_GUARDED((backend)->state, (backend)->b->threads, call)

dcgan_error dg_lib_job(dcgan_backend *b, dcgan_job **out);
/* Return the error code e of a function that makes a job. Frees *job unless e is DG_OK. */
dcgan_error dg_lib_made(dg_err e, dcgan_job **job);

#endif
