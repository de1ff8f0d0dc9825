/* The checkpoints in a run directory: checkpoint.safetensors (newest) and checkpoint-NNNN.safetensors (of epoch NNNN).
 * Lock the run directory before calls of these functions. */
#pragma once

#include <stdint.h>
#include "host/rundir/rundir.h"

/* Keep checkpoint.safetensors, the state after epoch `epoch`, also as checkpoint-NNNN.safetensors. Call dg_history_keep
 * before a newer checkpoint replaces checkpoint.safetensors. Returns DG_IO if neither linking nor copying is
 * possible. */
dg_err dg_history_keep(const dg_rundir *r, uint64_t epoch);

/* Make `name` a hard link to `file`, or a copy if links are not possible. An existing file is replaced. */
dg_err dg_history_name(const dg_rundir *r, const char *file, const char *name);

/* Get the name of the newest checkpoint-NNNN.safetensors of an epoch less than `below`; "": none. Returns DG_IO if the
 * directory cannot be listed. */
dg_err dg_history_newest(const dg_rundir *r, uint64_t below, char name[256]);

void dg_history_prune(const dg_rundir *r, int keep);

/* Finish or undo an interrupted rewind. Call dg_history_take_up before the newest checkpoint is read. */
dg_err dg_history_take_up(const dg_rundir *r);

/* Rewind to `epoch`: file `file` of this directory becomes checkpoint.safetensors. Later files move to the new run
 * directory `moved`, such as later-than-NNNN. If `moved` is "", there are no later files. After a kill, call
 * dg_history_take_up. */
dg_err dg_history_go_back(const dg_rundir *r, const char *file, uint64_t epoch, char moved[64]);
