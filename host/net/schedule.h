/* Values of a training step that follow from the number of images shown before it. */
#ifndef DG_SCHEDULE_H
#define DG_SCHEDULE_H

#include "host/net/job.h"

/* Set beta2, ema, augment and penalty of a state from the options, for a step of `batch` images. With a schedule of T
 * images, also scale lr. With u = min(1, images / T) and c = (1 + cos(pi u)) / 2 a value is end + (start - end) c. The
 * half-life of the EMA starts at 0, because early weights are worth little. The probability of augmentations starts at
 * 0, because D cannot memorise images that it has rarely seen (Huang et al. 2024). Adam corrects its second moment with
 * the present beta2, as torch.optim does if betas of a group change. */
void dg_schedule_step(const dg_job_options *o, double images, int batch, dg_step_state *s);

#endif
