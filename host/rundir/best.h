/* The best state of a run so far: best.safetensors of a classifier, by the accuracy on its test images, and
 * checkpoint-best.safetensors of what is judged with --eval-every, by the Frechet distance of the random network. */
#ifndef DG_BEST_H
#define DG_BEST_H

#include "host/rundir/log_text.h"
#include "host/rundir/rundir.h"

const char *dg_best_name(const dg_recipe *recipe);

/* What the test behind a step says, the higher the better; -INFINITY: there was none. */
double dg_best_score(const dg_recipe *recipe, const dg_log_row *row);

/* The run goes on at `step`, behind these rows of its log. The file becomes the best of itself and the checkpoints that
 * are there, by the tests in the log: it may be of a later step, as when the run goes back or its last epochs were lost
 * in a kill, or lack the newest checkpoint's. Without any it goes. Returns the score of what it holds then;
 * -INFINITY: it is not there, or the log does not tell. Failures are warnings. */
double dg_best_settle(const dg_rundir *r, const dg_recipe *recipe, const dg_log_row *row, long n, uint64_t step);

#endif
