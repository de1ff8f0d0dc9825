/* Checks that OpenMP can start its threads, because OpenMP's runtime ends the program if a thread cannot start. The
 * error DG_DEVICE reports how many threads are possible. Later calls with no more threads skip the check. */
#pragma once

#include "core/base/err.h"

dg_err dg_team_check(int threads);

/* Returns the number of threads that can run, 1 to `threads`. Warns with the reason if fewer than `threads` can run. */
int dg_team_fit(int threads);

/* Call this before the calling thread starts OpenMP teams. If `given` is 0, it sets the number of OpenMP threads to as
 * many as can run. If `given` is positive, it returns an error if fewer than `given` threads (at most OMP_THREAD_LIMIT)
 * can run. */
dg_err dg_team_begin(int given);

/* Calls work(context, i) for i = 0 ... n - 1 in OpenMP's threads. After an error, calls only smaller i. Returns the
 * error of the smallest i that failed. */
dg_err dg_team_each(int n, dg_err (*work)(void *context, int i), void *context);
