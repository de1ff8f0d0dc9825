/* The recipe of a DCGAN: two networks and what one step is (Radford et al. 2016, semantics of the stock PyTorch
 * example): gather B real images, draw z, G forward; D on the 2B real and fake in one batch with two groups of batch
 * statistics; D's gradient and Adam; the updated D on the same fakes, gradient through it to G, Adam on G. D's running
 * statistics see real, fake and fake again, in this order. Where D has spectral norm its power iteration is in the
 * first of its passes alone. */
#ifndef DG_GAN_H
#define DG_GAN_H

#include "host/net/gan_step.h"
#include "host/net/job.h"

extern const dg_recipe dg_gan_recipe;

/* By the names, "color,cutout"; false: unknown. Nothing, or "none", is no augmentation. */
bool dg_augment_parse(const char *text, int *out);

/* z of sample image `image`: latent normals of (seed of the run, DG_STREAM_SAMPLE, image). */
void dg_gan_z(float *z, int latent, uint64_t seed, uint64_t image);

#endif
