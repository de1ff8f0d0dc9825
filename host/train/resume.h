/* --resume: finds, checks and loads the checkpoint. */
#ifndef DG_TRAIN_RESUME_H
#define DG_TRAIN_RESUME_H

#include "host/train/train.h"

/* Open the checkpoint; *st NULL: no checkpoint yet, so the run starts anew. */
dg_err dg_train_find(dg_training *r, char path[4096], dg_st **st, dg_model *model, dg_checkpoint_info *info);

/* *others: true if the dataset differs and no given option allows this. DG_DATA: the dataset differs, but some files
 * were unreadable; a failing disk must not start a new run. */
dg_err dg_train_compare(const dg_training *r, const dg_checkpoint_info *info, bool *others);

/* Load weights and position. DG_USAGE, DG_DATA: precision, seed or classes differ. */
dg_err dg_train_resume(dg_training *r, const dg_st *st, const char *path, const dg_checkpoint_info *info);

#endif
