/* Checks that OpenMP can start its threads, because its runtime ends the program if it cannot. The error DG_DEVICE
 * reports how many threads are possible. A check takes as long as starting the threads; the same number is checked only
 * once. */
#ifndef DG_TEAM_H
#define DG_TEAM_H

#include "core/base/err.h"

dg_err dg_team_check(int threads);

/* Returns how many of these threads can run, at least 1. Warns with the reason if it is fewer than given. */
int dg_team_fit(int threads);

/* Call it before this thread starts OpenMP teams. A number given > 0 must be possible; 0 uses as many threads as
 * possible. */
dg_err dg_team_begin(int given);

#endif
