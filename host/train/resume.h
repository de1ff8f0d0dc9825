/* --resume: the checkpoint that a run goes on from, and what has to be as it was. */
#ifndef DG_TRAIN_RESUME_H
#define DG_TRAIN_RESUME_H

#include "host/train/train.h"

/* The checkpoint to go on from, NULL in *st when the run was killed before its first one: then it begins anew. */
dg_err dg_train_find(dg_training *r, char path[4096], dg_st **st, dg_model *model, dg_checkpoint_info *info);

/* Are the images others than the run's, and not to be its own from now on? DG_DATA: they are, but some could not be
 * read, so that a disk that fails makes no new run. */
dg_err dg_train_compare(const dg_training *r, const dg_checkpoint_info *info, bool *others);

/* Take up the run where its checkpoint left it. DG_USAGE, DG_DATA: precision, seed or classes are others. */
dg_err dg_train_resume(dg_training *r, const dg_st *st, const char *path, const dg_checkpoint_info *info);

#endif
