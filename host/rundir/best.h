/* The best state of a run so far: best.safetensors of a classifier, by test accuracy; checkpoint-best.safetensors of a
 * GAN with --eval-every, by the Frechet distance of the random network. */
#ifndef DG_BEST_H
#define DG_BEST_H

#include "host/rundir/log_text.h"
#include "host/rundir/rundir.h"

const char *dg_best_name(const dg_recipe *recipe);

/* Score of the test after a step (higher is better); -INFINITY: there was no test. */
double dg_best_score(const dg_recipe *recipe, const dg_log_row *row);

/* Call before a run whose log has these rows resumes at `step`. The new file is the best one of the old file and the
 * existing checkpoints, according to the tests in the log. The old file may be from a later step (the run rewinds, or a
 * kill lost its last epochs) or older than the newest checkpoint. Without any tested checkpoint the file is removed.
 * Returns the score of the file; -INFINITY: no file or no test in the log. Failures are warnings. */
double dg_best_settle(const dg_rundir *r, const dg_recipe *recipe, const dg_log_row *row, long n, uint64_t step);

#endif
