/* The log of a run: one row per step in log.csv and log.jsonl, and one line of kind "epoch" per epoch in log.jsonl. */
#pragma once

#include "host/image/image.h"
#include "host/rundir/log_text.h"
#include "host/rundir/rundir.h"

typedef struct dg_log dg_log;
/* Open the log. Rows after resume_step are removed, and the other rows are loaded for the curves. If resume_step is 0,
 * new files are created. */
dg_err dg_log_open(const dg_rundir *r, const dg_recipe *recipe, uint64_t resume_step, dg_log **out);
/* Add empty columns for the first `columns` metrics of --eval-every, if missing. */
dg_err dg_log_judge(dg_log *l, const dg_rundir *r, int columns);
dg_err dg_log_step(dg_log *l, const dg_log_row *row);
/* Append the means of an epoch to log.jsonl, and write buffered rows. */
dg_err dg_log_epoch(dg_log *l, const dg_log_row *means);
/* Write buffered rows. Flush the log before saving a checkpoint, so that a kill leaves no gap in the log. */
dg_err dg_log_flush(dg_log *l);
/* Sync the log to disk before a checkpoint is renamed, so that after a power failure checkpoint.safetensors has its
 * rows. Callable from any thread. */
dg_err dg_log_sync(const dg_log *l);
/* Also write the rows to events.out.tfevents.run for TensorBoard. Call after dg_log_open. */
dg_err dg_log_events(dg_log *l, const dg_rundir *r, uint64_t resume_step);
/* Callable from any thread. */
dg_err dg_log_image(const dg_log *l, uint64_t step, const dg_image *im);
uint64_t dg_log_end_of(const dg_log *l, uint64_t epoch);
/* Get all rows; the log owns their memory. */
const dg_log_row *dg_log_rows(const dg_log *l, long *n);
/* Returns the joules of the rows that dg_log_open loaded, or -1 if other counters or none counted them. */
double dg_log_joules(const dg_log *l, const char *energy_of);
dg_err dg_log_close(dg_log *l);
