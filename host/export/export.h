/* Exports G as a C file that makes samples without dcgan. */
#pragma once

#include <stdio.h>
#include "host/export/steps.h"

typedef struct {
    dg_generator *g;
    dg_steps *steps;
    dg_weight_type type;
    uint8_t *weights; /* encoded, see dg_steps_encode */
    size_t bytes;
    dg_weight_error error; /* samples 0: weights in fp32 */
} dg_exported;

/* Open the generator of a checkpoint on the CPU and encode its weights. The caller calls dg_exported_close, even after
 * an error. */
dg_err dg_exported_open(const char *checkpoint, int threads, dg_weight_type type, dg_exported *out);
void dg_exported_close(dg_exported *x);

/* Write the generator as a C file that compiles as C99, C11 and C++ (generator.c.in). */
dg_err dg_export_c(const dg_exported *x, const char *path);
