/* The recipe of a DCGAN: two networks and what one step is (Radford et al. 2016, semantics of the stock PyTorch
 * example): gather B real pictures, draw z, G forward; D on the 2B real and fake in one batch with two groups of batch
 * statistics; D's gradient and Adam; the updated D on the same fakes, gradient through it to G, Adam on G. D's running
 * statistics see real, fake and fake again, in this order. Where D has spectral norm its power iteration is in the
 * first of its passes alone. */
#ifndef DG_GAN_H
#define DG_GAN_H

#include "host/net/job.h"

enum { DG_G = 0, DG_D = 1 };

/* What the ops of a step write into its row of the metrics. */
enum {
    DG_LOSS_D_REAL, /* mean loss of D on real pictures, of BCE target 1 */
    DG_LOSS_D_FAKE, /* mean loss of D on fakes, of BCE target 0 */
    DG_LOSS_G,      /* mean loss of G: the updated D on the same fakes, of BCE target 1 */
    DG_D_X, /* what D says of each of the three, from 0 to 1: mean sigmoid(logit), of other losses as ops_gan.h says */
    DG_D_GZ1,
    DG_D_GZ2,
    DG_BAD_G, /* how many weights of G (D) are not finite after the update; 0 is well */
    DG_BAD_D
};

extern const dg_recipe dg_gan_recipe;

/* By their names, "ralsgan" and "color,cutout"; false: unknown. Nothing, or "none", is no augmentation. */
bool dg_loss_parse(const char *text, dg_loss *out);
bool dg_augment_parse(const char *text, int *out);

/* z of sample picture `picture`: latent normals of (seed of the run, DG_STREAM_SAMPLE, picture). */
void dg_gan_z(float *z, int latent, uint64_t seed, uint64_t picture);

#endif
