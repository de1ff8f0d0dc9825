/* The log of a run: one row a step in log.csv and log.jsonl, and a JSON line of kind "epoch" at each epoch's end. */
#ifndef DG_LOG_H
#define DG_LOG_H

#include "host/image/image.h"
#include "host/rundir/log_text.h"
#include "host/rundir/rundir.h"

typedef struct dg_log dg_log;
/* The columns are the metrics of the recipe. resume_step: drop rows of later steps that a killed run wrote; 0 starts
 * new files. Earlier rows are kept for the curves. */
dg_err dg_log_open(const dg_rundir *r, const dg_recipe *recipe, uint64_t resume_step, dg_log **out);
/* Give the log columns for measures, which lines that are there leave empty; at once where it has them. */
dg_err dg_log_judge(dg_log *l, const dg_rundir *r);
dg_err dg_log_step(dg_log *l, const dg_log_row *row);
/* Append the epoch's means to log.jsonl, with the epoch's last step, and flush. */
dg_err dg_log_epoch(dg_log *l, const dg_log_row *means);
/* Write the rows that wait in memory: before a checkpoint of the last one's step, or a kill would leave a gap. */
dg_err dg_log_flush(dg_log *l);
/* Bring what has been flushed to the disk, from any thread: before a checkpoint gets its name, or a power failure could
 * leave that without its rows. */
dg_err dg_log_sync(const dg_log *l);
/* From now on also as TensorBoard reads it, in events.out.tfevents.run; the rows so far as well where there is no such
 * file. After dg_log_open, with the same step. */
dg_err dg_log_events(dg_log *l, const dg_rundir *r, uint64_t resume_step);
/* A grid, there alone, from any thread. */
dg_err dg_log_image(const dg_log *l, uint64_t step, const dg_image *im);
/* The last step of an epoch. */
uint64_t dg_log_end_of(const dg_log *l, uint64_t epoch);
/* All rows so far, owned by the log. */
const dg_log_row *dg_log_rows(const dg_log *l, long *n);
dg_err dg_log_close(dg_log *l);

#endif
