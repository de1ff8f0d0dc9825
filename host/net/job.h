/* What one DCGAN step is, as ops: two networks, their plans over one arena, and named access to every weight.
 *
 * A step (Radford et al. 2016, semantics of the stock PyTorch example): gather B real pictures, draw z, G
 * forward; D on the 2B real and fake in one batch with two groups of batch statistics; D's gradient and Adam;
 * the updated D on the same fakes, gradient through it to G, Adam on G. D's running statistics see real, fake
 * and fake again, in this order. */
#ifndef DG_JOB_H
#define DG_JOB_H

#include "core/plan/plan.h"
#include "host/net/model.h"
#include "core/base/rng.h"

typedef struct {
    int batch;      /* B of the plan "train" */
    int last_batch; /* B of "train-short", 0: there is none */
    int samples;    /* pictures that one run of "sample" makes; 0: no such plan */
    int rows;       /* of the data set */
    int window;     /* pictures of each of the two windows through which it passes; 0: it is there whole (feed.h) */
    bool train;     /* false: only G and "sample" (no gradients, no moments) */
    bool z_given;   /* no noise op: the caller puts row "z" before each step (replay, generate) */
    bool flip;
    double beta1, beta2, eps; /* Adam */
    bool apart;               /* no two tensors share memory, so that ops may run in another order: for comparing */
} dg_job_options;

/* One named tensor as files know it. */
typedef struct {
    char name[64];              /* "G.main.0.weight", "D.main.3.running_var" */
    int row;                    /* arena row of the values */
    int moment1, moment2, grad; /* rows, -1 for running statistics */
    int rank;
    int dim[4]; /* PyTorch's shape: (Co, Ci, K, K), (C) */
    int net;
} dg_job_tensor;

typedef struct {
    dg_model model;
    dg_job_options o;
    dg_backend *backend; /* not owned */
    dg_arena arena;
    dg_plan train, train_short, sample; /* ops == 0 when not there */
    dg_job_tensor *tensor;
    int tensors;
    /* Arena rows, -1: none. */
    int row_state, row_ring, row_data, row_perm, row_z, row_z_short, row_sample_z, row_sample_x, row_sample_u8;
} dg_job;

/* Build and place; nothing is allocated, so this is enough for `plan` and --dry-run. */
dg_err dg_job_build(dg_job *job, const dg_model *model, const dg_job_options *o, dg_backend *b);

/* Allocate and bind. data (rows, size, size, channels) and perm (rows) are backend memory, may be NULL when
 * not training; they stay the caller's. */
dg_err dg_job_alloc(dg_job *job, const uint8_t *data, const int32_t *perm);
void dg_job_free(dg_job *job);

/* Weights N(0, 0.02), gamma N(1, 0.02), beta 0, running mean 0 and variance 1, moments 0, from Philox. */
dg_err dg_job_init(dg_job *job, uint64_t seed);

dg_err dg_job_put_state(dg_job *job, const dg_step_state *state);
dg_err dg_job_get_state(dg_job *job, dg_step_state *state);
/* The metrics of steps first .. first+n-1 (n <= DG_RING), after waiting for them. */
dg_err dg_job_get_metrics(dg_job *job, uint64_t first, int n, dg_metrics *out);
/* The same only begun, behind the steps that were given so far; host is memory of alloc_host. */
dg_err dg_job_start_metrics(dg_job *job, uint64_t first, int n, dg_metrics *host);

/* One optimiser step; batch is o.batch or o.last_batch. Returns at once where the backend is asynchronous. */
dg_err dg_job_step(dg_job *job, int batch);
/* n steps, one behind the other: the same bytes, and less to do for the host where the backend takes several at once.
 */
dg_err dg_job_steps(dg_job *job, int batch, int n);

/* Copy a tensor's values (or a moment or gradient: pass that row) between the arena and PyTorch's layout in
 * out/in, whose elements have type `type` (DG_F32 or DG_F64; converted when it is not the backend's). */
dg_err dg_job_read(dg_job *job, const dg_job_tensor *t, int row, dg_type type, void *out);
dg_err dg_job_write(dg_job *job, const dg_job_tensor *t, int row, dg_type type, const void *in);

/* G in eval mode. z: (n, latent) floats, host memory. pixels: (n, size, size, channels) uint8, host; x, unless
 * NULL, the values before rounding as double. n may be more than o.samples: done in chunks. */
dg_err dg_job_generate(dg_job *job, const float *z, int n, uint8_t *pixels, double *x);

/* The pictures alone, only begun: they are in `pixels`, memory of alloc_host, when a mark set now is reached. */
dg_err dg_job_start_generate(dg_job *job, const float *z, int n, uint8_t *pixels);

/* z of sample picture `seed`: latent normals of (seed_of_run, DG_STREAM_SAMPLE, picture). */
void dg_job_z(float *z, int latent, uint64_t seed, uint64_t picture);

#endif
