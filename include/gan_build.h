/* Inside gan: append all rows and plans of a gan whose model, options and backend are set (host/gan_build.c). */
#ifndef DG_GAN_BUILD_H
#define DG_GAN_BUILD_H

#include "gan.h"

void dg_gan_build_plans(dg_gan *gan);

#endif
