/* Protection from settings of the host program that would change results: locale, rounding, denormal numbers,
 * floating-point traps, OpenMP threads. Each public function sets the defaults and restores the previous settings. */
#ifndef DG_GUARD_H
#define DG_GUARD_H

#include <fenv.h>
#include <locale.h>

typedef struct {
    locale_t locale;
    fenv_t env;
} dg_host_state;

typedef struct {
    dg_host_state state;
    dg_host_state *worker; /* states of OpenMP's other threads, by thread number */
    int workers, max;      /* max: previous omp_get_max_threads() */
} dg_guard;

/* worker: array of n thread states; NULL: the call uses no other threads. */
void dg_guard_enter(dg_guard *g, dg_host_state *worker, int n);
void dg_guard_leave(dg_guard *g);

#endif
