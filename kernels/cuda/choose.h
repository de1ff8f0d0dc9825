/* How the CUDA backend chooses the variant of an op: by a row of a tuning file, a shipped row, or the rule. */
#ifndef DG_CHOOSE_H
#define DG_CHOOSE_H

#include "core/tune/tune.h"

/* Reads the rows of --tuning's file (path, may be NULL) and of the shipped tables. Invalid rows are skipped with a
 * warning. DG_IO: the file cannot be read. DG_USAGE: the GPU cannot round to gpu->math. The caller must close the
 * structure even after an error. */
typedef struct {
    dg_tune_table file, shipped;
    dg_type real;
    dg_gpu gpu;
} dg_chooser;
dg_err dg_chooser_open(dg_chooser *c, const char *path, dg_type real, const dg_gpu *gpu);
void dg_chooser_close(dg_chooser *c);

/* Fills in op->tune, with `why`: "FILE:12", "shipped sm_90.tune:3" or "rule". Returns NULL, or why no variant can run
 * the op. also: an additional check of tuning rows by the backend, or NULL. */
typedef const char *dg_tune_also(const dg_tune *tune);
const char *dg_chooser_pick(const dg_chooser *c, dg_op *op, dg_tune_also *also);

/* Returns the text of shipped table i and sets its name ("sm_90.tune"). Returns NULL past the last table. */
const char *dg_tune_shipped(int i, const char **name);

#endif
