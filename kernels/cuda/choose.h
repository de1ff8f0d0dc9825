/* The CUDA backend's choice for an op: a row of a tuning file, a shipped row, or the rule. */
#ifndef DG_CHOOSE_H
#define DG_CHOOSE_H

#include "core/tune/tune.h"

/* The rows of --tuning's file (path, NULL: none) and of the shipped tables. Wrong rows are left out with a warning.
 * DG_IO: the file cannot be read; DG_USAGE: the GPU cannot round to gpu->math. Close it after errors, too. */
typedef struct {
    dg_tune_table file, shipped;
    dg_type real;
    dg_gpu gpu;
} dg_chooser;
dg_err dg_chooser_open(dg_chooser *c, const char *path, dg_type real, const dg_gpu *gpu);
void dg_chooser_close(dg_chooser *c);

/* Fills in op->tune, with `why`: "FILE:12", "shipped sm_90.tune:3" or "rule". Returns NULL, or why no variant can run
 * the op. also: checks that the backend has what a row requires; NULL: no check. */
typedef const char *dg_tune_also(const dg_tune *tune);
const char *dg_chooser_pick(const dg_chooser *c, dg_op *op, dg_tune_also *also);

/* Text of shipped table i and its name ("sm_90.tune"); NULL past the last. */
const char *dg_tune_shipped(int i, const char **name);

#endif
