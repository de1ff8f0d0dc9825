/* How long a run is: what --epochs auto and --sample-every auto become once the images are counted, and times as
 * people say them. */
#ifndef DG_LENGTH_H
#define DG_LENGTH_H

#include "host/options/options.h"

/* Fewer images than the first are no data set. The others are the rule of --epochs auto: a GAN learns by steps, so
 * that few images need many epochs, and many need few. */
enum {
    DG_LEAST_IMAGES = 2,
    DG_AUTO_EPOCHS = 25,
    DG_AUTO_STEPS_LEAST = 4000,
    DG_AUTO_STEPS_MOST = 40000,
    DG_AUTO_GRIDS = 300
};

/* Steps of an epoch of so many images; o->batch is a number. */
int dg_steps_of_epoch(const dg_options *o, int images);
/* Of the whole run: by epochs, or by --steps where these are fewer. */
long dg_steps_of_run(const dg_options *o, int images);

/* Has a run of these options done all that they ask for? */
bool dg_run_is_finished(const dg_options *o, uint64_t epoch, uint64_t step);

/* How many images there must be: a batch that somebody asked for, or the first that --batch auto tries. */
int dg_least_images(const dg_options *o);

/* Of fewer images than a batch that nobody asked for the largest power of two is the batch. */
void dg_settle_batch(dg_options *o, int images);

/* Give epochs and sample_every numbers where they have none; never fewer epochs than --steps needs. */
void dg_settle_length(dg_options *o, int images);

/* "45 seconds", "8 minutes", "3.5 hours", "12 days". Returns out. */
char *dg_duration(double seconds, char *out, size_t size);

#endif
