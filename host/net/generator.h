/* A trained generator opened for `generate` and `interpolate`. */
#ifndef DG_GENERATOR_H
#define DG_GENERATOR_H

#include "host/files/checkpoint.h"
#include "host/cli/commands.h"
#include "host/net/job.h"

typedef struct {
    dg_model model;
    dg_checkpoint_info info;
    dg_backend *backend;
    dg_job job;
    int inputs; /* numbers that it makes a picture of */
} dg_generator;

enum { DG_GENERATOR_CHUNK = 64 }; /* pictures at a time */

/* Of the checkpoint o->operand[0]. *out is freed with dg_generator_close, after errors too. */
dg_err dg_generator_open(const dg_options *o, dg_generator **out);
void dg_generator_close(dg_generator *g); /* may be NULL */

/* The inputs of n pictures from number `first` on: (n, inputs). */
void dg_generator_inputs(const dg_generator *g, float *in, uint64_t first, int n);

/* pixels of n <= DG_GENERATOR_CHUNK such inputs. DG_NUMBERS: what the generator gives is not a number; the message
 * calls the pictures `what` (seed, frame) and counts them from `first`. */
dg_err dg_generator_make(dg_generator *g, const float *in, int n, uint8_t *pixels, const char *what, uint64_t first);

/* Where the results go: --out, else `name` beside the checkpoint; made if missing. */
dg_err dg_results_directory(const dg_options *o, const char *name, char *out, size_t size);

#endif
