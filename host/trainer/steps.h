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
#include "host/trainer/position.h"

/* Steps of an epoch, the last of which may have fewer images. */
uint64_t dg_epoch_length(const dg_loader *f);

/* An epoch begins, or goes on at this place. */
dg_err dg_epoch_begin(dg_job *job, dg_loader *f, const dg_position *at, const double lr[DG_NETS_MAX]);

/* Give n steps, as many full ones as are left at most or the short one, and move on. One, where there are windows. */
dg_err dg_epoch_steps(dg_job *job, dg_loader *f, dg_position *at, int n);

/* Training in memory: a job with its feed, without a run directory, and every step judged before the next ones are
 * given. What the library does, and the judge of `eval`; the program's runs have the loop of train.h. */
typedef struct {
    dg_job *job;
    uint8_t *records; /* images with their labels; NULL: the caller's images are the records */
    dg_loader feed;
    dg_position at;
    bool begun; /* the epoch under way, by this trainer */
    double lr;
    dg_metrics last; /* of the last step */
} dg_trainer;

/* Build *job for `count` images, which stay the caller's and where they are, and for their labels where the recipe
 * wants some; o: all but rows and last_batch. The weights are still to be drawn or loaded. t is zero before, and is
 * closed after errors too; the job is freed apart. */
dg_err dg_trainer_open(dg_trainer *t, dg_job *job, const dg_model *m, const dg_job_options *o, dg_backend *b,
                       const uint8_t *pixels, const int32_t *label, int count, bool drop_last, uint64_t seed);
void dg_trainer_close(dg_trainer *t);

/* n more steps. DG_NUMBERS: a number of one of them is bad. */
dg_err dg_trainer_steps(dg_trainer *t, int n);

#endif
