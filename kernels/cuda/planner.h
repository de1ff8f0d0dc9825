/* Backend that chooses kernel variants for an absent GPU, for `dcgan plan` and predictions. If the GPU's memory size
 * is unknown, memory() returns SIZE_MAX. Functions that access a device, such as alloc and run, are NULL. */
#pragma once

#include "core/tune/machine.h"

/* `tuning` is the path of a tuning file, or NULL. `fuse` has flags DG_FUSE_... (fused.h). Returns DG_IO if the tuning
 * file cannot be read. Invalid tuning rows are skipped with a warning. */
dg_err dg_planner_open(const dg_machine *m, const char *tuning, unsigned fuse, dg_backend **out);
