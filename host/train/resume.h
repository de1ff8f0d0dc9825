/* Finds, checks and loads the checkpoint for --resume. */
#pragma once

#include "host/train/train.h"

/* Open the checkpoint to resume from. If no checkpoint exists, *st is NULL, and training starts from the beginning. */
dg_err dg_train_find(dg_training *r, char path[4096], dg_st **st, dg_model *model, dg_checkpoint_info *info);

/* Returns DG_USAGE or DG_DEVICE, and names both, if program or device of a run differ from those here. */
dg_err dg_train_same_program(const dg_provenance *run, const dg_provenance *here);

/* Set *others if the dataset differs from the checkpoint's and --allow-data-change is not set. Returns DG_DATA if a
 * different dataset has unreadable files, because a disk error may cause the difference, or if r->expected is set. */
dg_err dg_train_compare(const dg_training *r, const dg_checkpoint_info *info, bool *others);

/* Returns DG_USAGE or DG_DATA if precision, seed or classes differ. */
dg_err dg_train_resume(dg_training *r, const dg_st *st, const char *path, const dg_checkpoint_info *info);
