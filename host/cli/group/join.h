/* Joins the group of processes that a launcher started (mpirun, srun). */
#pragma once

#include "host/options/options.h"

/* For a training command that a launcher started in several processes: open o->group, compare versions and agree on
 * the result `parsed` of dg_options_parse. Also call dg_outputs_begin(o, closed). Set o->threads, o->bound and
 * o->device of a group. Returns the first error of all processes. */
dg_err dg_join(dg_options *o, dg_err parsed, bool closed);

/* Close o->group at the end of the program. After a failed message, end all processes with this code instead. Returns
 * the exit code. */
int dg_leave(dg_options *o, int code);

/* Train as a process of rank 1 or above, until rank 0 ends the run. */
int dg_cmd_follow(const dg_options *o);
