/* OpenMP's runtime ends the program where it cannot start the threads of a team. Asked first, that is an error like any
 * other: DG_DEVICE says how many threads there can be. Costs as much as starting the threads, and nothing when as many
 * have been asked for before. */
#ifndef DG_TEAM_H
#define DG_TEAM_H

#include "core/base/err.h"

dg_err dg_team_check(int threads);

/* As many of these threads as there can be, at least 1; a warning says why there are fewer. */
int dg_team_fit(int threads);

/* Before OpenMP's teams of this thread: given > 0 must be possible, else as many as there can be are used. */
dg_err dg_team_begin(int given);

#endif
