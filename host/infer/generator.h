/* A trained generator for the commands `generate` and `interpolate`. */
#pragma once

#include "host/checkpoint/checkpoint.h"
#include "host/net/job.h"
#include "host/infer/open.h"

typedef struct {
    dg_model model;
    dg_checkpoint_info info;
    dg_backend *backend;
    dg_job job;
    int latent, inputs; /* values of a latent vector; with the class of a conditional generator */
    bool all_nets;      /* load the weights of D, too; set before dg_generator_load */
    bool has_d;         /* job has the weights of D */
    char origin[200];   /* ASCII text with the model, the step and a hash of the generator's weights */
} dg_generator;

enum { DG_GENERATOR_CHUNK = 64 }; /* images per batch */

/* Open checkpoint `path`, with the training precision unless d->precision is set. Close *out even after an error. */
dg_err dg_generator_open(const dg_device *d, const char *path, dg_generator **out);
/* Like dg_generator_open, but also load the weights of D if the checkpoint has them. */
dg_err dg_generator_open_all(const dg_device *d, const char *path, dg_generator **out);
/* Build g->job from g->model, g->info and g->backend, and load the weights from st. */
dg_err dg_generator_load(dg_generator *g, const dg_st *st, const char *path);
void dg_generator_close(dg_generator *g);

/* Draw the latent vectors (n, latent) of the images with the numbers first ... first + n - 1. */
void dg_generator_z(const dg_generator *g, float *z, uint64_t first, int n);

/* Write an input (inputs): a latent vector and, for a conditional generator, a one-hot class. */
void dg_generator_input(const dg_generator *g, float *in, const float *z, int class_index);

/* Generate n <= DG_GENERATOR_CHUNK images from inputs (n, inputs). Returns DG_NUMBERS if an image has NaN or infinity.
 * The error message names the image by `what` ("seed" or "frame") and number. The first image has the number `first`.
 */
dg_err dg_generator_make(dg_generator *g, const float *in, int n, uint8_t *pixels, const char *what, uint64_t first);

/* Generate the images with the numbers first ... first + n - 1 of a class. class_index -1: those of dg_job_class_of.
 */
dg_err dg_generator_images(dg_generator *g, uint64_t first, int n, int class_index, uint8_t *pixels, const char *what);
