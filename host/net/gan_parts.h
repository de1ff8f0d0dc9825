/* Ops that several plans of a GAN contain: noise and augmentation. */
#ifndef DG_GAN_PARTS_H
#define DG_GAN_PARTS_H

#include "host/net/build.h"
#include "host/net/job.h"

enum { DG_G = 0, DG_D = 1 };

/* Append the op that draws N latent vectors into row z; stream: DG_STREAM_... */
dg_op *dg_add_noise(dg_job *job, dg_plan *plan, int z, int N, int stream);

/* Append the augmentation of N images; returns D's input, which is `images` without --augment. order: number of the
 * augmentation within the step, from 0. */
dg_view dg_add_augment(dg_builder *b, dg_job *job, dg_view images, int N, int order);

/* Append the backward op of the augmentation. Returns the gradient of the images from dy, the gradient of D's input. */
dg_view dg_add_augment_dx(dg_builder *b, dg_job *job, dg_view dy, int N, int order);

#endif
