/* The checkpoints in a run directory: checkpoint.safetensors is the newest state, checkpoint-NNNN.safetensors older
 * ones by epoch. All calls need the lock of the directory. */
#ifndef DG_HISTORY_H
#define DG_HISTORY_H

#include <stdint.h>
#include "host/rundir/rundir.h"

/* Give checkpoint.safetensors, the state at the end of this epoch, a second name, checkpoint-NNNN.safetensors. Call
 * before a newer checkpoint replaces checkpoint.safetensors. An existing file with the second name is replaced. DG_IO:
 * failed, with a message. */
dg_err dg_history_keep(const dg_rundir *r, uint64_t epoch);

/* Give a file of the directory one more name, replacing an existing file; a copy on file systems without hard links. */
dg_err dg_history_name(const dg_rundir *r, const char *file, const char *name);

/* Get the name of the newest of the older checkpoints; "": there is none. DG_IO: the directory cannot be listed. */
dg_err dg_history_newest(const dg_rundir *r, char name[256]);

void dg_history_prune(const dg_rundir *r, int keep);

/* Finish or undo a rewind that a kill interrupted. Call this function before the newest checkpoint is read. */
dg_err dg_history_take_up(const dg_rundir *r);

/* Rewind to `epoch`: the checkpoint `file` of this directory becomes checkpoint.safetensors. Only messages use the path
 * of `file`. All later files move to a new directory "later-than-NNNN" (plus a number if it exists), which can be
 * resumed like a run. moved: name of the new directory, "" if there were no later files. After a kill
 * dg_history_take_up restores a consistent state. */
dg_err dg_history_go_back(const dg_rundir *r, const char *file, uint64_t epoch, char moved[64]);

#endif
