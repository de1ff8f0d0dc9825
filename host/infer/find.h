/* Finds the latents of images: Adam on z from several starts, with the error of pixels and of D's inner layers. */
#pragma once

#include "host/infer/generator.h"

typedef struct {
    int starts; /* latents per image, 1 to DG_GENERATOR_CHUNK */
    int steps;
    double lr;       /* learning rate at the start; it falls to 0.02 lr along a cosine */
    double features; /* weight of D's layers relative to pixels; 0: pixels only */
    void (*progress)(void *context, int done, int all); /* called after some steps; NULL: none */
    void *context;
} dg_find_options;

typedef struct dg_find dg_find;

/* Prepare a search for `images` images with generator g, which must stay open. Close *out even after an error. */
dg_err dg_find_open(dg_generator *g, const dg_find_options *o, int images, dg_find **out);
void dg_find_close(dg_find *f);

/* True if D's layers are compared: o.features is above 0, and g has D with inner layers. */
bool dg_find_features(const dg_find *f);

/* Find inputs z (n, g->inputs) for n images (n, height, width, channels): latents and, with a conditional generator,
 * the one-hot classes of their starts. `found` receives the images of z, and `error` the mean absolute differences to
 * the given images in grey levels. Returns DG_NUMBERS if z becomes NaN or infinite. */
dg_err dg_find_images(dg_find *f, const uint8_t *pixels, int n, float *z, uint8_t *found, double *error);
