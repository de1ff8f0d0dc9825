/* Principal directions of latent space: the latents that change the output of G's first layer most. */
#pragma once

#include "host/infer/generator.h"

/* Compute the directions `first` to first + n - 1 (from 1, largest change first) as unit vectors, out (n, g->latent).
 * They are eigenvectors of W^T W, where W is the matrix of G's first layer with batch norm folded in (SeFa, Shen & Zhou
 * 2021). The largest component of a direction is positive. */
dg_err dg_directions(dg_generator *g, int first, int n, double *out);
