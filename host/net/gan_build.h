/* Inside job: append all rows and plans of a job whose model, options and backend are set (host/net/gan_build.c). */
#ifndef DG_GAN_BUILD_H
#define DG_GAN_BUILD_H

#include "host/net/job.h"

void dg_gan_build_plans(dg_job *job);

#endif
