/* The structs of the library's opaque handles. */
#pragma once

#include "host/data/dataset.h"
#include "host/infer/generator.h"
#include "host/trainer/steps.h"
#include "include/dcgan.h"
#include <fenv.h>
#include <locale.h>

/* Settings of the host program that would change results: locale, rounding, denormal numbers, floating-point traps.
 * Each public function sets the defaults and restores the previous settings. */
typedef struct {
    locale_t locale;
    fenv_t env;
} dg_host_state;

typedef struct {
    dg_host_state state;
    dg_host_state *worker; /* states of the other OpenMP threads, by thread number */
    int workers, max;      /* max: previous omp_get_max_threads() */
} dg_guard;

/* worker: n thread states, or NULL if the guarded call runs on one thread. */
void dg_guard_enter(dg_guard *g, dg_host_state *worker, int n);
void dg_guard_leave(dg_guard *g);

struct dcgan_backend {
    dg_backend *b;
    dg_host_state *state;
};

struct dcgan_job {
    dcgan_backend *on;
    dg_generator g; /* model, job and checkpoint info; the generator does not own its backend */
    bool train;
    dg_dataset data; /* training images; the caller owns their pixels */
    dg_trainer trainer;
};

/* Return the result of `call`, run with the default settings of dg_guard. `worker` and `threads` are arguments of
 * dg_guard_enter. */
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
/* Free *job unless e is DG_OK. Returns e. */
dcgan_error dg_lib_made(dg_err e, dcgan_job **job);
