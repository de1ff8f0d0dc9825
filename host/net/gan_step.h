/* The training step of a GAN, and the metrics that it writes. */
#pragma once

#include "host/net/build.h"
#include "host/net/job.h"

enum { DG_G = 0, DG_D = 1 };

dg_op *dg_add_noise(dg_job *job, dg_plan *plan, int z, int N, int stream);

/* Append an op that joins N latents z and one-hot labels for G. Without classes, append nothing and return z. */
dg_view dg_add_onehot(dg_builder *b, dg_job *job, dg_view z, dg_view label, int N, const char *suffix);

/* Indices into dg_metrics. */
enum {
    DG_LOSS_D_REAL,
    DG_LOSS_D_FAKE,
    DG_LOSS_G, /* mean loss of G on samples, with the updated D */
    DG_D_X,    /* mean output of D on real images, scaled to 0..1 (ops_gan.h); with bce: sigmoid(logit) */
    DG_D_GZ1,  /* like DG_D_X, on the samples of DG_LOSS_D_FAKE */
    DG_D_GZ2,  /* like DG_D_X, on the samples of DG_LOSS_G */
    DG_BAD_G,  /* number of non-finite weights of G after the update */
    DG_BAD_D,  /* like DG_BAD_G, of D */
    DG_R1,     /* with --r1 or --r2: mean |dD / dimage|^2 over real images */
    DG_R2      /* like DG_R1, over samples */
};

void dg_gan_step(dg_builder *b, dg_job *job, dg_plan_role role, int B);
