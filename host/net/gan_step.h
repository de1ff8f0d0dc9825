/* The training step of a GAN. */
#ifndef DG_GAN_STEP_H
#define DG_GAN_STEP_H

#include "host/net/gan_parts.h"

/* What the ops of a step write into its row of the metrics. */
enum {
    DG_LOSS_D_REAL, /* mean loss of D on real images, of BCE target 1 */
    DG_LOSS_D_FAKE, /* mean loss of D on fakes, of BCE target 0 */
    DG_LOSS_G,      /* mean loss of G: the updated D on the same fakes, of BCE target 1 */
    DG_D_X, /* what D says of each of the three, from 0 to 1: mean sigmoid(logit), of other losses as ops_gan.h says */
    DG_D_GZ1,
    DG_D_GZ2,
    DG_BAD_G, /* how many weights of G (D) are not finite after the update; 0 is well */
    DG_BAD_D
};

/* Append the ops of a step of B images to the job's plan of that role, DG_PLAN_TRAIN or DG_PLAN_TRAIN_SHORT. */
void dg_gan_step(dg_builder *b, dg_job *job, dg_plan_role role, int B);

#endif
