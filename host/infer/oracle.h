/* A recorded PyTorch run as a file: images, noise, initial weights, and what came of them. Its layout is described in
 * tools/pytorch/make_oracle.py. */
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
    const dg_st_tensor *z;      /* of a GAN */
    const dg_st_tensor *labels; /* of a classifier */
    bool labelled;
    double lr;
    dg_job_options job; /* the optimiser, and what a classifier wants to know besides */
} dg_oracle;

/* Close it after errors too. */
dg_err dg_oracle_open(dg_oracle *o, const char *path);
void dg_oracle_close(dg_oracle *o);

/* The tensor of this name, type and shape; NULL, and a message: there is none. */
const dg_st_tensor *dg_oracle_tensor(const dg_oracle *o, const char *name, dg_type type, int rank, const int64_t *dim);

/* How many images step s uses, and their indices. */
int dg_oracle_batch(const dg_oracle *o, int s);
const int64_t *dg_oracle_index(const dg_oracle *o, int s);

/* Initial weights of every tensor of a job. */
dg_err dg_oracle_weights(const dg_oracle *o, dg_job *job);

/* The images as records of the job, which is built, malloc'd. */
dg_err dg_oracle_records(const dg_oracle *o, const dg_job *job, uint8_t **out);
/* The same in backend memory. */
dg_err dg_oracle_images(const dg_oracle *o, const dg_job *job, void **data);
/* What whitens them, to be freed by the caller; NULL: nothing does. */
dg_err dg_oracle_whitening(const dg_oracle *o, const dg_backend *b, dg_whitening **out);

#endif
