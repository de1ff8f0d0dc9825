/* Reads a PyTorch run (images, noise, initial weights, results) recorded by tools/pytorch/make_oracle.py. */
#pragma once

#include "host/files/safetensors.h"
#include "host/net/job.h"

typedef struct {
    const char *path;
    dg_st *st;
    dg_model model;
    int count, steps, batch, last_batch;
    const dg_st_tensor *images, *index;
    const dg_st_tensor *z;
    const dg_st_tensor *labels;
    bool labelled, sampled; /* images have labels; the run has latents z */
    double lr;
    dg_job_options job; /* options of the optimizer; for a classifier, also mean and standard deviation of the input */
} dg_oracle;

/* Call dg_oracle_close even after an error. */
dg_err dg_oracle_open(dg_oracle *o, const char *path);
void dg_oracle_close(dg_oracle *o);

/* Find the tensor with the given name, type and shape. Returns NULL with a message if the tensor is missing. */
const dg_st_tensor *dg_oracle_tensor(const dg_oracle *o, const char *name, dg_type type, int rank, const int64_t *dim);

/* Returns the number of images in step s. */
int dg_oracle_batch(const dg_oracle *o, int s);
const int64_t *dg_oracle_index(const dg_oracle *o, int s);

dg_err dg_oracle_weights(const dg_oracle *o, dg_job *job);

/* Get the recorded images (malloc'd) in the layout that the job's plan reads. */
dg_err dg_oracle_records(const dg_oracle *o, const dg_job *job, uint8_t **out);
/* Like dg_oracle_records, but in device memory of the job's backend. */
dg_err dg_oracle_images(const dg_oracle *o, const dg_job *job, void **data);
/* Set *out to the recorded ZCA whitening, which the caller frees, or to NULL. */
dg_err dg_oracle_whitening(const dg_oracle *o, const dg_backend *b, dg_whitening **out);
