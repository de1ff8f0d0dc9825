/* What is trained, ready to run: a model, the recipe that says what a step of it is (recipe.h), the plans over one
 * arena, and named access to every weight. Whoever has a job need not know what it trains. */
#ifndef DG_JOB_H
#define DG_JOB_H

#include "core/plan/plan.h"
#include "core/plan/optimizer.h"
#include "host/whiten/whiten.h"
#include "host/net/gan_losses.h"
#include "host/net/recipe.h"

/* How weights begin, drawn from Philox: N(0, 0.02) and norms' gamma N(1, 0.02) (Radford et al. 2016); N(0,
 * start_sigma), biases N(0, start_bias); N(0, 2 / inputs of a sum) (He et al. 2015); uniform within sqrt(6 / (inputs +
 * outputs)) (Glorot & Bengio 2010); uniform within 1 / sqrt(inputs), biases too, as PyTorch's layers do. Elsewhere
 * gamma is 1 and biases are 0. */
typedef enum { DG_START_DCGAN, DG_START_NORMAL, DG_START_HE, DG_START_GLOROT, DG_START_TORCH } dg_start;

/* What of the images for training the input of a model depends on. */
typedef struct {
    double mean[4], std[4];  /* input = standard: of the channels, from 0 to 1; std 0: unknown */
    dg_whitening *whitening; /* input = zca; NULL: unknown */
} dg_input_data;

struct dg_job_options {
    int batch;      /* B of the plan "train" */
    int last_batch; /* B of "train-short", 0: there is none */
    int samples;    /* images that one run of "sample" makes; 0: no such plan, as where the recipe draws nothing */
    int tested;     /* images that one run of "test" takes; 0: no such plan, as where the recipe tests nothing */
    int rows;       /* of the data set */
    int window;     /* images of each of the two windows through which it passes; 0: it is there whole (loader.h) */
    bool train;     /* false: only "sample" and its net (no gradients, no moments) */
    bool z_given;   /* no noise op: the caller puts the plan's input before each step (replay) */
    bool flip;
    dg_optimizer optimizer;   /* optimizer.h */
    double beta1, beta2, eps; /* Adam; eps: of all but SGD */
    double momentum, rho;     /* SGD; Adadelta */
    double decay;             /* of weights, which is added to their gradient; not Adam's */
    double accumulator;       /* Adagrad: what its sums begin with */
    bool nesterov;            /* SGD */
    double smoothing;         /* of a classifier's labels */
    dg_loss loss;             /* of a GAN */
    double ema;  /* of a GAN: decay of the running average of G's weights, which samples are made with; 0: none */
    int augment; /* of what a GAN's D sees: DG_AUGMENT_... */
    dg_start start;
    double start_sigma, start_bias;
    dg_input_data input;
    bool run;                /* files are written while it trains: memory for a copy of a checkpoint must be left */
    bool apart;              /* no two tensors share memory, so that ops may run in another order: for comparing */
    const dg_recipe *recipe; /* NULL: the one for the model's nets */
};

/* One named tensor as files know it. */
typedef struct {
    char name[64];              /* "G.main.0.weight", "D.main.3.running_var" */
    int row;                    /* arena row of the values */
    int moment1, moment2, grad; /* rows, -1 for running statistics */
    int average;                /* row of its running average, or of the statistics of averaged weights; -1: none */
    int rank;
    int dim[4];     /* PyTorch's shape: (Co, Ci, K, K), (C) */
    int file_rank;  /* in files 2: (Co, Ci K K), 1: (Ci K K), 0: rank */
    bool direction; /* of length 1: u or v of spectral norm */
    int net;
    double fan_in,
        fan_out; /* of weights: values that a sum has, sums that a value is in; of their biases fan_in alone */
} dg_job_tensor;

typedef enum {
    DG_PLAN_TRAIN,
    DG_PLAN_TRAIN_SHORT,
    DG_PLAN_SAMPLE,
    DG_PLAN_TEST,
    DG_PLAN_STATISTICS,
    DG_PLANS
} dg_plan_role;
/* "train", "train-short", "sample", "test", "statistics": of averaged weights, made anew from batches of z */
extern const char *const dg_plan_role_name[DG_PLANS];

/* The rows that every recipe's steps have. */
typedef enum { DG_ROW_STATE, DG_ROW_METRICS, DG_ROW_DATA, DG_ROW_PERM, DG_ROWS } dg_row_role;

struct dg_job {
    dg_model model;
    dg_job_options o;
    const dg_recipe *recipe;
    dg_backend *backend; /* not owned */
    dg_arena arena;
    dg_plan plan[DG_PLANS]; /* ops == 0 when not there */
    dg_job_tensor *tensor;
    int tensors;
    int row[DG_ROWS];    /* arena rows, -1: none */
    int input[DG_PLANS]; /* what the caller puts before a run of the plan (latent vectors), -1: nothing */
    int values, pixels;  /* what plan "sample" makes: real, uint8 */
    bool unsettled;      /* weights are averaged, and have changed since plan "statistics" ran */
    struct {
        int data, perm, state; /* what plan "test" reads: records, their order, a state */
        int p, each;           /* and makes: shares of the classes, losses */
        int hidden;            /* what the last layer reads; where the job trains -1 */
    } test;
};

/* Build and place; nothing is allocated, so this is enough for `plan` and --dry-run. */
dg_err dg_job_build(dg_job *job, const dg_model *model, const dg_job_options *o, dg_backend *b);

/* Bytes of an image in the data set of a job that is built, and where the recipe wants labels of its label, an int32,
 * behind it. */
size_t dg_job_record_bytes(const dg_job *job);

/* Records of so many images, malloc'd. They are as the network sees them where that is not done in each step, input =
 * zca; without whitening, from -1 to 1. label: their classes, NULL: 0, 1 ... over and over. */
dg_err dg_job_records(const dg_job *job, const uint8_t *pixels, const int32_t *label, int count, uint8_t **out);

/* Allocate and bind. data (rows of records) and perm (rows) are backend memory, may be NULL when not training; they
 * stay the caller's. */
dg_err dg_job_alloc(dg_job *job, const uint8_t *data, const int32_t *perm);
void dg_job_free(dg_job *job);

/* For recipes: append the rows of dg_row_role to a job that trains. */
void dg_job_rows(dg_job *job);

/* The plan of that role or name, NULL: the job has none. */
const dg_plan *dg_job_plan(const dg_job *job, const char *name);
void *dg_job_memory(const dg_job *job, int row);

/* Weights and biases as o.start says, running mean 0 and variance 1, moments 0 or o.accumulator. */
dg_err dg_job_init(dg_job *job, uint64_t seed);

dg_err dg_job_put_state(dg_job *job, const dg_step_state *state);
/* The metrics of steps first .. first+n-1 (n <= DG_RING), after waiting for them. */
dg_err dg_job_get_metrics(dg_job *job, uint64_t first, int n, dg_metrics *out);
/* The same only begun, behind the steps that were given so far; host is memory of alloc_host. */
dg_err dg_job_start_metrics(dg_job *job, uint64_t first, int n, dg_metrics *host);

/* Bring the statistics of averaged weights up to date; nothing where there are none. Sampling does it by itself. */
dg_err dg_job_settle(dg_job *job);

/* One optimiser step; batch is o.batch or o.last_batch. Returns at once where the backend is asynchronous. */
dg_err dg_job_step(dg_job *job, int batch);
/* n steps, one behind the other: the same bytes, and less to do for the host where the backend takes several at once.
 */
dg_err dg_job_steps(dg_job *job, int batch, int n);

size_t dg_job_tensor_count(const dg_job_tensor *t);

/* Its shape in files; returns the rank. */
int dg_job_tensor_shape(const dg_job_tensor *t, int64_t dim[4]);

/* Copy a tensor's values (or a moment or gradient: pass that row) between the arena and PyTorch's layout in
 * out/in, whose elements have type `type` (DG_F32 or DG_F64; converted when it is not the backend's). */
dg_err dg_job_read(dg_job *job, const dg_job_tensor *t, int row, dg_type type, void *out);
dg_err dg_job_write(dg_job *job, const dg_job_tensor *t, int row, dg_type type, const void *in);

/* The numbers that plan "sample" makes one image of. */
int dg_job_inputs(const dg_job *job);

/* Put count of them, converted to the backend's real, into the input of a plan, from element `first` on. */
dg_err dg_job_put_input(dg_job *job, dg_plan_role plan, size_t first, const double *in, size_t count);

/* Run plan "sample". in: (n, dg_job_inputs) floats, host memory. pixels: (n, size, size, channels) uint8, host; x,
 * unless NULL, the values before rounding as double. n may be more than o.samples: done in chunks. */
dg_err dg_job_generate(dg_job *job, const float *in, int n, uint8_t *pixels, double *x);

/* Run plan "test" on n records (dg_job_record_bytes) in host memory, in chunks of o.tested. p: (n, classes); each: the
 * losses (n), or NULL; hidden, of a job that does not train: what the last layer reads (n, dg_job_hidden), or NULL. */
dg_err dg_job_test(dg_job *job, const uint8_t *records, int n, double *p, double *each, double *hidden);
dg_shape dg_job_hidden(const dg_job *job); /* N = 1 */
int dg_job_classes(const dg_job *job);
/* What plan "test" reads: n records, at most o.tested. In the place of others the first stands once more. */
dg_err dg_job_put_test(dg_job *job, const uint8_t *records, int n);

/* The images alone, only begun: they are in `pixels`, memory of alloc_host, when an event recorded now has come. */
dg_err dg_job_start_generate(dg_job *job, const float *in, int n, uint8_t *pixels);

#endif
