/* The file of a run's best state. For a classifier, best.safetensors has the best test accuracy. For a GAN with
 * --eval-every, checkpoint-best.safetensors has the best Frechet distance of random-network features. */
#pragma once

#include "host/rundir/log_text.h"
#include "host/rundir/rundir.h"

const char *dg_best_name(const dg_recipe *recipe);

/* Returns the score in a log row (higher is better); -INFINITY: the row has no test. */
double dg_best_score(const dg_recipe *recipe, const dg_log_row *row);

/* Call dg_best_settle before a run resumes at `step`. The checkpoint up to `step` with the best test in the log becomes
 * the best file. If none has a test, a best file of a later step is removed. Returns the score of the best file;
 * -INFINITY: no file or no test. Failures are warnings. */
double dg_best_settle(const dg_rundir *r, const dg_recipe *recipe, const dg_log_row *row, long n, uint64_t step);
