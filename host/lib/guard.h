/* What a host program has set and must not change results: locale, rounding, denormal numbers, floating-point traps,
 * threads of OpenMP. Each public function enters with the defaults and leaves with what it found. */
#ifndef DG_GUARD_H
#define DG_GUARD_H

#include <fenv.h>
#include <locale.h>

/* Of a thread. */
typedef struct {
    locale_t locale;
    fenv_t env;
} dg_host_state;

typedef struct {
    dg_host_state state;   /* of the calling thread */
    dg_host_state *worker; /* of OpenMP's other threads, by number */
    int workers, max;      /* max: omp_get_max_threads() of before */
} dg_guard;

/* worker: room for n states, NULL: the call uses no threads. */
void dg_guard_enter(dg_guard *g, dg_host_state *worker, int n);
void dg_guard_leave(dg_guard *g);

#endif
