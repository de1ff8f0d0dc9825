/* The past of a run in its directory. checkpoint.safetensors is the newest state; checkpoint-NNNN.safetensors are older
 * ones, each under the epoch that it holds. All calls need the lock of the directory. */
#ifndef DG_HISTORY_H
#define DG_HISTORY_H

#include <stdint.h>
#include "host/rundir/rundir.h"

/* Give checkpoint.safetensors, which holds the end of this epoch, its second name, before a newer one replaces it. A
 * file that bears the name and holds something else is replaced. DG_IO: it has none, and messages say why. */
dg_err dg_history_keep(const dg_rundir *r, uint64_t epoch);

/* Give a file of the directory one more name, in the place of what bears it; a copy of its own where files have but
 * one.
 */
dg_err dg_history_name(const dg_rundir *r, const char *file, const char *name);

/* The name of the newest of the older checkpoints, "": there is none. DG_IO: the directory cannot be listed. */
dg_err dg_history_newest(const dg_rundir *r, char name[256]);

/* Remove all but the newest `keep` of the older checkpoints. */
void dg_history_prune(const dg_rundir *r, int keep);

/* End, or undo, a going back that a kill has cut off. Before the newest checkpoint is looked at. */
dg_err dg_history_take_up(const dg_rundir *r);

/* Make the state of `epoch` the newest one: `file` (of the directory, with its path for messages; it may be
 * checkpoint.safetensors) becomes checkpoint.safetensors, and everything later moves into a directory of its own,
 * which can be resumed like a run: "later-than-NNNN", or with a number behind it. moved: its name, "" where nothing was
 * later. A kill in between loses nothing: dg_history_take_up. */
dg_err dg_history_go_back(const dg_rundir *r, const char *file, uint64_t epoch, char moved[64]);

#endif
