/* A recorded PyTorch run: images, noise, initial weights, results. Layout: tools/pytorch/make_oracle.py. */
#ifndef DG_ORACLE_H
#define DG_ORACLE_H

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
    bool labelled;
    double lr;
    dg_job_options job; /* options of the optimizer, and a classifier's input statistics */
} dg_oracle;

/* Close o even after an error. */
dg_err dg_oracle_open(dg_oracle *o, const char *path);
void dg_oracle_close(dg_oracle *o);

/* Find the tensor with this name, type and shape. Returns NULL with a message if missing. */
const dg_st_tensor *dg_oracle_tensor(const dg_oracle *o, const char *name, dg_type type, int rank, const int64_t *dim);

/* dg_oracle_batch returns the number of images in step s; dg_oracle_index returns their indices. */
int dg_oracle_batch(const dg_oracle *o, int s);
const int64_t *dg_oracle_index(const dg_oracle *o, int s);

/* Set the initial weights of a built job. */
dg_err dg_oracle_weights(const dg_oracle *o, dg_job *job);

/* Get the images as malloc'd records for a built job. */
dg_err dg_oracle_records(const dg_oracle *o, const dg_job *job, uint8_t **out);
/* Like dg_oracle_records, in memory of the backend. */
dg_err dg_oracle_images(const dg_oracle *o, const dg_job *job, void **data);
/* The whitening, freed by the caller; NULL: none. */
dg_err dg_oracle_whitening(const dg_oracle *o, const dg_backend *b, dg_whitening **out);

#endif
