/* Exports of G that make samples without dcgan: a C file, and an HTML page that runs in a browser. */
#pragma once

#include <stdio.h>
#include "host/export/steps.h"

typedef struct {
    const char *checkpoint; /* path; not a copy */
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
/* Write the generator as an HTML page for browsers (generator.js, browser.*). */
dg_err dg_export_html(const dg_exported *x, const char *path);
