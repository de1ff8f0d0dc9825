/* The steps of a run in their order, epoch by epoch: what a job and its feed do for each.
 *
 *     if (!at.batch) dg_epoch_begin(&job, &feed, &at, lr);    // and when a session begins
 *     dg_epoch_steps(&job, &feed, &at, n);
 *     if (at.batch == dg_epoch_length(&feed)) dg_position_end_epoch(&at);
 */
#ifndef DG_STEPS_H
#define DG_STEPS_H

#include "host/data/loader.h"
#include "host/net/job.h"
#include "host/run/position.h"

/* Steps of an epoch, the last of which may have fewer pictures. */
uint64_t dg_epoch_length(const dg_loader *f);

/* An epoch begins, or goes on at this place. */
dg_err dg_epoch_begin(dg_job *job, dg_loader *f, const dg_position *at, const double lr[DG_NETS_MAX]);

/* Give n steps, as many full ones as are left at most or the short one, and move on. One, where there are windows. */
dg_err dg_epoch_steps(dg_job *job, dg_loader *f, dg_position *at, int n);

#endif
