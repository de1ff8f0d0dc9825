/* The recipe of a DCGAN: generator G and discriminator D (Radford et al. 2016). A step updates D's running statistics
 * three times: with real images, with samples, and again with these samples. */
#pragma once

#include "host/net/gan_step.h"
#include "host/net/job.h"

extern const dg_recipe dg_gan_recipe, dg_gan_penalised_recipe;

/* Parse names such as "color,cutout" (or "none") into DG_AUGMENT_ flags. Returns false for unknown or repeated
 * names. */
bool dg_augment_parse(const char *text, int *out);

/* Draw the latent vector z of sample number `image`: standard normal values from Philox stream DG_STREAM_SAMPLE. */
void dg_gan_z(float *z, int latent, uint64_t seed, uint64_t image);
