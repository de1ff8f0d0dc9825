/* What the library's handles are. */
#ifndef DG_LIB_INTERNAL_H
#define DG_LIB_INTERNAL_H

#include "host/data/dataset.h"
#include "host/net/generator.h"
#include "host/run/steps.h"
#include "include/dcgan.h"

struct dcgan_backend {
    dg_backend *b;
};

struct dcgan_job {
    dg_generator g; /* model, job, and what a checkpoint says of it; the backend is not its own */
    /* The rest of one that trains: */
    bool train;
    dg_dataset data; /* pixels are the caller's */
    dg_trainer trainer;
};

/* A job without anything but its backend. */
dcgan_error dg_lib_job(dcgan_backend *b, dcgan_job **out);
/* What a maker of jobs returns: with the job if e is DG_OK, else without it. */
dcgan_error dg_lib_made(dg_err e, dcgan_job **job);

#endif
