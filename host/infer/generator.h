/* A trained generator opened for `generate` and `interpolate`. */
#ifndef DG_GENERATOR_H
#define DG_GENERATOR_H

#include "host/checkpoint/checkpoint.h"
#include "host/net/job.h"
#include "host/infer/open.h"

typedef struct {
    dg_model model;
    dg_checkpoint_info info;
    dg_backend *backend;
    dg_job job;
    int inputs;       /* numbers that it makes an image of */
    char origin[200]; /* model, step and a hash of the weights that make the images, in ASCII */
} dg_generator;

enum { DG_GENERATOR_CHUNK = 64 }; /* images at a time */

/* Of the checkpoint `path`; d without a precision: the one that it was trained with. *out is freed with
 * dg_generator_close, after errors too. */
dg_err dg_generator_open(const dg_device *d, const char *path, dg_generator **out);
/* The rest of it: build the job of g, whose model, info and backend are set, and load the values. */
dg_err dg_generator_load(dg_generator *g, const dg_st *st, const char *path);
void dg_generator_close(dg_generator *g); /* may be NULL */

/* The inputs of n images from number `first` on: (n, inputs). */
void dg_generator_inputs(const dg_generator *g, float *in, uint64_t first, int n);

/* pixels of n <= DG_GENERATOR_CHUNK such inputs. DG_NUMBERS: what the generator gives is not a number; the message
 * calls the images `what` (seed, frame) and counts them from `first`. */
dg_err dg_generator_make(dg_generator *g, const float *in, int n, uint8_t *pixels, const char *what, uint64_t first);

/* The same of images number `first` to first + n - 1. */
dg_err dg_generator_images(dg_generator *g, uint64_t first, int n, uint8_t *pixels, const char *what);

#endif
