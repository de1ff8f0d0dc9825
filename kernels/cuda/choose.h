/* Chooses the kernel variant of an op from a tuning file, a built-in tuning table or the op's rule. */
#pragma once

#include "core/tune/tune.h"

/* Reads the built-in tuning tables and the tuning file `path` (option --tuning) if `path` is not NULL. Invalid tuning
 * rows are skipped with a warning. Returns DG_IO if the file cannot be read, or DG_USAGE if the GPU does not support
 * the precision gpu->math. The caller must call dg_chooser_close() even after an error. */
typedef struct {
    dg_tune_table file, shipped;
    dg_type real;
    dg_gpu gpu;
} dg_chooser;
dg_err dg_chooser_open(dg_chooser *c, const char *path, dg_type real, const dg_gpu *gpu);
void dg_chooser_close(dg_chooser *c);

/* Sets op->tune to the op's kernel variant. The member `why` is the variant's origin: "FILE:12", "shipped sm_90.tune:3"
 * or "rule". Returns NULL, or the reason why no variant can run the op. Tuning rows for which also() returns a reason
 * are ignored. `also` may be NULL. */
typedef const char *dg_tune_also(const dg_tune *tune);
const char *dg_chooser_pick(const dg_chooser *c, dg_op *op, dg_tune_also *also);

/* Returns the text of built-in tuning table i and sets *name to the table's name, for example "sm_90.tune". Returns
 * NULL if no table has the number i. */
const char *dg_tune_shipped(int i, const char **name);
