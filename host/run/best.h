/* best.safetensors of a run directory: the state with the best accuracy on the test pictures so far. */
#ifndef DG_BEST_H
#define DG_BEST_H

#include <stdint.h>
#include "host/run/rundir.h"

/* The step that it holds, 0: there is none that can be read. */
uint64_t dg_best_step(const dg_rundir *r);

/* Where a run goes back to an epoch, a later one goes with what is later: into the folder `moved`. A failure is a
 * warning. */
void dg_best_go_back(const dg_rundir *r, uint64_t epoch, const char *moved);

#endif
