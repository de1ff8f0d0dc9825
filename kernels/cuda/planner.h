/* A backend that only chooses variants, for planning and predicting on a GPU that is not here. It says what the CUDA
 * backend would choose there. memory: of a GPU that is known by name all that it has, else SIZE_MAX; alloc, put, run
 * and the like are NULL. */
#ifndef DG_PLANNER_H
#define DG_PLANNER_H

#include "core/tune/machine.h"

/* tuning: as with --tuning, NULL: none; fuse: DG_FUSE_... (fused.h). DG_IO when it cannot be read; wrong rows are left
 * out with a warning. */
dg_err dg_planner_open(const dg_machine *m, const char *tuning, unsigned fuse, dg_backend **out);

#endif
