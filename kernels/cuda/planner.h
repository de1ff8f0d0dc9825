/* A backend that makes the CUDA backend's choices for an absent GPU, for planning and predictions. The function
 * memory() returns the memory of a GPU that is known by name, else SIZE_MAX; alloc, put, run and others are NULL. */
#ifndef DG_PLANNER_H
#define DG_PLANNER_H

#include "core/tune/machine.h"

/* `tuning` is the tuning file (option --tuning) or NULL; `fuse` has flags DG_FUSE_... (fused.h). DG_IO: the file cannot
 * be read. Invalid rows are skipped with a warning. */
dg_err dg_planner_open(const dg_machine *m, const char *tuning, unsigned fuse, dg_backend **out);

#endif
