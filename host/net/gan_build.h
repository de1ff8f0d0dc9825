/* Inside gan: append all rows and plans of a gan whose model, options and backend are set (host/net/gan_build.c). */
#ifndef DG_GAN_BUILD_H
#define DG_GAN_BUILD_H

#include "host/net/gan.h"

void dg_gan_build_plans(dg_gan *gan);

#endif
