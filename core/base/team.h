/* Checks that OpenMP can start its threads, because its runtime ends the program if it cannot. DG_DEVICE says how many
 * threads are possible. Costs as much as starting the threads, nothing if as many were checked before. */
#ifndef DG_TEAM_H
#define DG_TEAM_H

#include "core/base/err.h"

dg_err dg_team_check(int threads);

/* The number of these threads that can run, at least 1; warns with the reason if it is lower. */
int dg_team_fit(int threads);

/* Before OpenMP teams of this thread: given > 0 must be possible; 0 uses as many as possible. */
dg_err dg_team_begin(int given);

#endif
