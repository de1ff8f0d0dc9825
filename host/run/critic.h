/* What judges a run while it trains (--eval-every): images that are made of the first seeds beside real ones, by the
 * measures that need nothing else. It takes no random words of training, and changes nothing of it. */
#ifndef DG_CRITIC_H
#define DG_CRITIC_H

#include "host/data/dataset.h"
#include "host/judge/judge.h"
#include "host/net/job.h"

enum { DG_CRITIC_MOST = 1000 }; /* images beside as many */

typedef struct {
    dg_jury jury;
    dg_judged reals, held;
    uint8_t *made;
    float *in;
    double floor[DG_LOGGED];
} dg_critic;

/* Half of the images, DG_CRITIC_MOST at most, are compared with, as many others give the floors. DG_DATA: too few.
 * Closed after errors, too. */
dg_err dg_critic_open(dg_critic *c, const dg_job *job, const dg_dataset *data, const dg_device *d, uint64_t seed);
void dg_critic_close(dg_critic *c);

/* What `eval` says of a checkpoint taken now: the columns of the log, as they are read from it. */
dg_err dg_critic_judge(dg_critic *c, dg_job *job, uint64_t seed, double out[DG_LOGGED]);

/* "swd 10.5 (9.06), ...": values, and in brackets their floors unless NULL. */
char *dg_critic_text(const double *value, const double *floor, char *out, size_t size);

#endif
