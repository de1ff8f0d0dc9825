/* best.safetensors of a run directory: the state with the best accuracy on the test pictures so far. */
#ifndef DG_BEST_H
#define DG_BEST_H

#include "host/run/log_text.h"
#include "host/run/rundir.h"

/* The run goes on at `step`, behind these rows of its log. The file becomes the best of itself and the checkpoints that
 * are there, by the tests in the log: it may be of a later step, as when the run goes back or its last epochs were lost
 * in a kill, or lack the newest checkpoint's. Without any it goes. Returns the accuracy of what it holds then; -1: it
 * is not there, or the log does not tell. Failures are warnings. */
double dg_best_settle(const dg_rundir *r, const dg_recipe *recipe, const dg_log_row *row, long n, uint64_t step);

#endif
