/* The layers of G in evaluation mode as a list of steps with their weights, for exports that run G without dcgan. */
#pragma once

#include "host/infer/generator.h"

/* X(NAME, word): the kinds have the names and the order of generator.c.in, and the words of generator.js. DOUBLE and
 * HALVE resample. COPY only adds another step and applies the activation. */
#define DG_STEPS(X)                     \
    X(CONV, "conv")                     \
    X(CONV_TRANSPOSE, "conv_transpose") \
    X(MAX_POOL, "max_pool")             \
    X(MEAN_POOL, "mean_pool")           \
    X(DOUBLE, "double")                 \
    X(HALVE, "halve")                   \
    X(COPY, "copy")

typedef enum {
#define X(NAME, word) DG_STEP_##NAME,
    DG_STEPS(X)
#undef X
} dg_step_kind;

typedef struct {
    dg_step_kind kind;
    const dg_layer *l;
    double *w;    /* (out.C, kernel.H, kernel.W, in.C / groups) with batch norm folded in; NULL: no weights */
    double *bias; /* (out.C); NULL: no biases */
    dg_size kernel;
    int stride, pad, groups;
} dg_step;

typedef struct {
    int steps;
    dg_step step[DG_MAX_LAYERS];
} dg_steps;

/* Read the network G of g, which must stay open. The caller frees *out with dg_steps_free, even after an error. */
dg_err dg_steps_read(dg_generator *g, dg_steps **out);
void dg_steps_free(dg_steps *s);
/* Returns the number of weights per output channel. */
size_t dg_step_products(const dg_step *s);

#define DG_WEIGHT_TYPES(X) X(FP32, "fp32") X(FP16, "fp16") X(INT8, "int8")
typedef enum {
#define X(NAME, word) DG_WEIGHTS_##NAME,
    DG_WEIGHT_TYPES(X)
#undef X
} dg_weight_type;

/* Encode the weights and biases of all steps as little-endian bytes: for each step, its weights per output channel,
 * then its biases in fp32. Weights in fp16 and int8 are divided by a scale in fp32 that precedes the weights of an
 * output channel. The weights of s become the encoded values. *out is malloc'd. */
dg_err dg_steps_encode(dg_steps *s, dg_weight_type type, uint8_t **out, size_t *bytes);

/* The difference of samples that a generator with other weights makes, in grey levels. */
typedef struct {
    int samples;
    double mean, most;
} dg_weight_error;

/* Compare the samples of the first seeds by the weights of s with the samples of g. */
dg_err dg_steps_compare(dg_generator *g, const dg_steps *s, dg_weight_error *out);
