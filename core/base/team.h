/* Checks that OpenMP can start its threads, because OpenMP's runtime ends the program if a thread cannot start. The
 * error DG_DEVICE reports how many threads are possible. Later calls with no more threads skip the check. */
#ifndef DG_TEAM_H
#define DG_TEAM_H

#include "core/base/err.h"

dg_err dg_team_check(int threads);

/* Returns the number of threads that can run, 1 to `threads`. Warns with the reason if fewer than `threads` can run. */
int dg_team_fit(int threads);

/* Sets the number of OpenMP threads, before the calling thread starts OpenMP teams. If `given` is positive, returns an
 * error if fewer than `given` threads can run. If `given` is 0, uses as many threads as possible. */
dg_err dg_team_begin(int given);

#endif
