/* Sample metrics during training (--eval-every), which compare samples of the first seeds with real images. Sample
 * metrics change neither the state nor the random numbers of training. */
#pragma once

#include "host/data/dataset.h"
#include "host/inception/fid.h"
#include "host/judge/judge.h"
#include "host/net/job.h"

enum { DG_CRITIC_MOST = 1000 }; /* max number of samples, and of real images per set */

/* FID and KID of --inception. Without a file of weights, the other members have no effect. */
typedef struct {
    const char *weights, *moments; /* moments: NULL, or a file that is read, or else written */
    dg_fid_resize resize;
} dg_critic_fid;

typedef struct {
    dg_jury jury;
    dg_judged reals, held;
    uint8_t *made;
    float *in;
    dg_inception *inception; /* or NULL */
    dg_fid_set fid_reals;
    double floor[DG_LOGGED]; /* NAN: no value */
} dg_critic;

/* Select two disjoint sets of at most DG_CRITIC_MOST real images: one to compare with samples, one for the real-vs-real
 * baseline. Returns DG_DATA if images are too few. Close c also after errors. */
dg_err dg_critic_open(dg_critic *c, const dg_job *job, const dg_dataset *data, const dg_device *d,
                      const dg_critic_fid *fid, dg_progress *progress, uint64_t seed);
void dg_critic_close(dg_critic *c);

/* Values that are not measured are NAN. */
dg_err dg_critic_judge(dg_critic *c, dg_job *job, uint64_t seed, double out[DG_LOGGED]);

/* Write metrics as text, such as "swd 10.5 (9.06), ...", with the baselines `floor` (or NULL) in parentheses. */
char *dg_critic_text(const double *value, const double *floor, char *out, size_t size);
