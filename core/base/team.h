/* Checks that OpenMP can start its threads, because its runtime ends the program if it cannot. The error DG_DEVICE
 * reports how many threads are possible. A check takes as long as starting the threads, and a repeated check of the
 * same number of threads returns at once. */
#ifndef DG_TEAM_H
#define DG_TEAM_H

#include "core/base/err.h"

dg_err dg_team_check(int threads);

/* Returns the number of threads that can run: `threads` or fewer, at least 1. If fewer, warns with the reason. */
int dg_team_fit(int threads);

/* Sets the number of OpenMP threads; call it before this thread starts OpenMP teams. If `given` is positive, returns an
 * error if that many threads cannot run. If `given` is 0, uses as many threads as possible. */
dg_err dg_team_begin(int given);

#endif
