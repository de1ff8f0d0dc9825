/* Latent vectors from an expression over seeds or from a file. */
#pragma once

#include "host/infer/generator.h"

enum { DG_Z_TERMS = 32 };

/* The sum of factor[i] times the latent of seed[i]. Seeds are distinct. */
typedef struct {
    int terms;
    uint64_t seed[DG_Z_TERMS];
    double factor[DG_Z_TERMS];
} dg_z_sum;

/* Parse an expression such as "7 + 0.5*(3 - 12)":
 *   sum = product {("+" | "-") product}, product = factor {("*" | "/") factor},
 *   factor = ("+" | "-") factor | number | "(" sum ")"
 * A whole number is a seed, unless it multiplies or divides a latent. Of two whole numbers, the left one multiplies the
 * latent of the right one. A sum of whole numbers is a latent. Errors (DG_USAGE) name the position. */
dg_err dg_z_parse(const char *text, dg_z_sum *out);

/* Compute the latent (g->latent). A sum of several seeds is scaled to the norm sqrt(g->latent) of a normal vector. */
dg_err dg_z_evaluate(const dg_generator *g, const dg_z_sum *sum, float *z);

enum { DG_Z_ROWS = 1000000 };

/* Read the tensor "z" of shape (n, latent) or (n, latent, 1, 1) with 1 to DG_Z_ROWS rows. *z is malloc'd. */
dg_err dg_z_read(const char *path, int latent, float **z, int *n);

/* Read the tensor "class" of n classes. *class is malloc'd, or NULL without such a tensor. Returns DG_IO unless its
 * values are 0 to classes - 1. */
dg_err dg_z_read_classes(const char *path, int n, int classes, int64_t **class);

/* Check the header of a file for dg_z_read. Returns the tensor, or NULL with a message. */
const dg_st_tensor *dg_z_tensor(const dg_st *st, const char *path, int latent);

/* Write n latents and, unless class is NULL, their classes (n) as tensor "class". The metadata entry `key` describes
 * their source. */
dg_err dg_z_write(const char *path, const float *z, const int64_t *class, int n, int latent, const char *key,
                  const char *value);
