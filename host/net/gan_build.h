/* What a GAN is, as a model and as ops (host/net/gan_build.c). */
#ifndef DG_GAN_BUILD_H
#define DG_GAN_BUILD_H

#include "host/net/build.h"
#include "host/net/job.h"

/* Refuses a model with networks G and D that is no GAN: G makes pictures of the latent vector and ends in tanh, D one
 * logit of pictures, and gradients find their way through both. DG_USAGE. */
dg_err dg_gan_check_model(const dg_model *m);

/* Append all rows and plans of a job whose model, options and backend are set. */
void dg_gan_build_plans(dg_job *job);

#endif
