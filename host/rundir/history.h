/* The checkpoints in a run directory: checkpoint.safetensors (newest) and checkpoint-NNNN.safetensors (of epoch NNNN).
 * Lock the run directory before calls of these functions. */
#ifndef DG_HISTORY_H
#define DG_HISTORY_H

#include <stdint.h>
#include "host/rundir/rundir.h"

/* Link checkpoint.safetensors, the state at the end of this epoch, as checkpoint-NNNN.safetensors, replacing an old
 * file. Call before a newer checkpoint replaces checkpoint.safetensors. Returns DG_IO if linking and copying fail. */
dg_err dg_history_keep(const dg_rundir *r, uint64_t epoch);

/* Make `name` a hard link to `file`, or a copy on file systems without hard links, replacing an existing file. */
dg_err dg_history_name(const dg_rundir *r, const char *file, const char *name);

/* Get the name of the newest checkpoint-NNNN.safetensors; "": none. Returns DG_IO if the directory cannot be listed. */
dg_err dg_history_newest(const dg_rundir *r, char name[256]);

void dg_history_prune(const dg_rundir *r, int keep);

/* Finish or undo a rewind that a kill interrupted. Call this function before the newest checkpoint is read. */
dg_err dg_history_take_up(const dg_rundir *r);

/* Rewind to `epoch`: the checkpoint `file` of this directory becomes checkpoint.safetensors. Only messages use the path
 * of `file`. All later files move to a new directory "later-than-NNNN" (with a number if it exists), which can be
 * resumed like a run. moved: name of the new directory; "": no later files. After a kill, call dg_history_take_up. */
dg_err dg_history_go_back(const dg_rundir *r, const char *file, uint64_t epoch, char moved[64]);

#endif
