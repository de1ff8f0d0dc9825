/* A job: a model, its recipe (recipe.h), and the plans of training, sampling and testing over one arena. */
#pragma once

#include "core/plan/plan.h"
#include "core/plan/optimizer.h"
#include "host/data/windows.h"
#include "host/whiten/whiten.h"
#include "host/net/gan_losses.h"
#include "host/net/recipe.h"

/* Weight initialisation. Unless stated otherwise, biases start at 0 and gamma at 1. */
typedef enum {
    DG_START_DCGAN,  /* weights N(0, 0.02^2), gamma N(1, 0.02^2) (Radford et al. 2016) */
    DG_START_NORMAL, /* weights N(0, start_sigma^2), biases N(0, start_bias^2) */
    DG_START_HE,     /* weights N(0, 2 / fan_in) (He et al. 2015) */
    DG_START_GLOROT, /* weights uniform within +- sqrt(6 / (fan_in + fan_out)) (Glorot & Bengio 2010) */
    DG_START_TORCH   /* weights and biases uniform within +- 1 / sqrt(fan_in) */
} dg_start;

/* Training-set statistics by which a model normalises or whitens input images. */
typedef struct {
    double mean[4], std[4]; /* for input = standard: per channel, of pixels in 0..1; std 0: unknown */
    dg_whitening *whitening;
} dg_input_data;

struct dg_job_options {
    int batch;
    int last_batch; /* batch size of plan "train-short"; 0: no such plan */
    int samples;    /* batch size of plan "sample"; 0: no such plan */
    int tested;     /* batch size of plan "test"; 0: no such plan */
    int shards;     /* parts of a batch with gradients of their own (shards.h); 0: 1 */
    int ranks;      /* processes that share the shards, set by dg_job_build */
    int rows;       /* images in the dataset */
    int window;     /* images per window of a streamed dataset (loader.h); 0: the whole dataset is in memory */
    bool train;     /* false: the job has no gradients and moments */
    bool all_nets;  /* an inference job of a GAN also has the weights of D */
    bool z_given;   /* no noise op: the caller sets z before each step (replay) */
    bool flip;
    dg_optimizer optimizer;
    double beta1, beta2, eps; /* beta1 and beta2: read by Adam; eps: read by all optimizers except SGD */
    double momentum, rho;     /* momentum: SGD; rho: Adadelta */
    double decay;             /* weight decay (L2), added to the gradient; not with Adam */
    double accumulator;       /* for Adagrad: initial value of the sums of squared gradients */
    bool nesterov;
    double smoothing;
    dg_loss loss;
    double r1, r2;        /* factors of the gradient penalties of D (penalty.h) */
    double ema;           /* decay of the EMA of G's weights, or 0 */
    double ema_half_life; /* half-life of the EMA in images, or 0; both 0: no EMA */
    int augment;
    double augment_p;                         /* probability of each augmentation */
    double class_fade;                        /* images until a conditional D weighs classes fully; 0: from the start */
    double schedule;                          /* length of the cosine schedule in images; 0: no schedule */
    double lr_end, beta2_end, r1_end, r2_end; /* values at the end of the schedule (0: constant); lr_end is a factor */
    dg_start start;
    double start_sigma, start_bias;
    dg_input_data input;
    bool run;     /* the job writes checkpoints, which need host memory for a copy of the tensors */
    bool apart;   /* tensors share no memory, so that tests can run ops in another order */
    bool checked; /* tensors that dg_check_penalty reads share no memory */
    const dg_recipe *recipe;
};

/* Returns the number of shards, at least 1. */
static inline int dg_shards_of(const dg_job_options *o) { return o->shards > 1 ? o->shards : 1; }
static inline bool dg_is_averaged(const dg_job_options *o) { return o->ema > 0 || o->ema_half_life > 0; }
/* True if values of the step state change from step to step. */
static inline bool dg_is_scheduled(const dg_job_options *o) { return o->schedule > 0 || o->class_fade > 0; }

typedef struct {
    char name[64]; /* "G.main.0.weight", "D.main.3.running_var" */
    int row;
    int moment1, moment2, grad;
    int average; /* arena row of the EMA, or of the statistics for averaged weights; -1: none */
    int rank;
    int dim[4];     /* shape in PyTorch, such as (Co, Ci, K, K) or (C) */
    int file_rank;  /* rank in files, such as 2 for (Co, Ci * K * K); 0: equal to `rank` */
    bool direction; /* unit vector u or v of spectral norm */
    int net;
    dg_layer_start start;
    double gain; /* standard deviation of initial weights with start = gain */
    double fan_in, fan_out;
} dg_job_tensor;

typedef enum {
    DG_PLAN_TRAIN,
    DG_PLAN_TRAIN_SHORT,
    DG_PLAN_SAMPLE,
    DG_PLAN_TEST,
    DG_PLAN_STATISTICS,
    DG_PLANS
} dg_plan_role;
extern const char *const dg_plan_role_name[DG_PLANS];

typedef enum { DG_ROW_STATE, DG_ROW_METRICS, DG_ROW_DATA, DG_ROW_PERM, DG_ROWS } dg_row_role;

struct dg_job {
    dg_model model;
    dg_job_options o;
    const dg_recipe *recipe;
    dg_backend *backend; /* not owned */
    dg_arena arena;
    dg_plan plan[DG_PLANS];
    dg_job_tensor *tensor;
    int tensors;
    int row[DG_ROWS];
    dg_step_state *states; /* DG_RING states for asynchronous copies; NULL: no schedule and no EMA half-life */
    int input[DG_PLANS];   /* arena row that the caller writes before a run of the plan (latent vectors); -1: none */
    int gradient[DG_PLANS], squares[DG_PLANS]; /* arena rows of v and |v|^2 (penalty.h); -1: no penalty */
    int values, pixels;                        /* arena rows of samples: floating point, uint8 */
    int *class_images;                         /* conditional GAN: images per class; NULL: equal shares */
    int class_labels;                          /* arena row of the labels of plan "statistics"; -1: none */
    bool unsettled;                            /* true if averaged weights have changed since plan "statistics" ran */
    struct {
        int data, perm, state;
        int p, each; /* arena rows of class probabilities and of losses */
        int hidden;  /* arena row of the last layer's input; -1 in a training job */
    } test;
};

/* Build all plans and place their arena rows, without allocating the arena. */
dg_err dg_job_build(dg_job *job, const dg_model *model, const dg_job_options *o, dg_backend *b);

/* Returns the number of different labels of dataset records. */
int dg_job_labels(const dg_job *job);
/* Returns the bytes of a dataset record: an image, followed by an int32 label if dg_job_labelled. */
size_t dg_job_record_bytes(const dg_job *job);

/* Allocate (malloc) and fill `count` dataset records. A record has a uint8 image, or a whitened floating-point image
 * with input = zca. If o.input.whitening is NULL, zca images are only scaled to -1..1. If `label` is NULL, labels are
 * 0, 1, ... in turn. */
dg_err dg_job_records(const dg_job *job, const uint8_t *pixels, const int32_t *label, int count, uint8_t **out);

/* Describe the records of images and labels, which the caller keeps. Records with input = zca are computed into *ready
 * (malloc'd), from images in memory. */
dg_err dg_job_view(const dg_job *job, const dg_images *images, const int32_t *label, uint8_t **ready,
                   dg_training_records *out);

/* How the job reads its dataset, of which an epoch uses `used` images. */
dg_loader_options dg_job_loading(const dg_job *job, int used, uint64_t seed);

/* Allocate the arena and bind the plans to its memory. `data` (records) and `perm` (o.rows indices) are backend memory
 * of the caller, or NULL if the job does not train. */
dg_err dg_job_alloc(dg_job *job, const uint8_t *data, const int32_t *perm);
void dg_job_free(dg_job *job);

void dg_job_rows(dg_job *job);

/* True if dataset records have labels: for classifiers and conditional GANs. */
static inline bool dg_job_labelled(const dg_job *job) { return job->recipe->labels || job->model.classes; }

/* Set the number of images per class, by which a conditional GAN draws the classes of its samples. */
dg_err dg_job_set_classes(dg_job *job, const int *images);

/* Returns the class of sample number `image` of a conditional GAN. Any consecutive samples have nearly the shares of
 * the dataset. */
int dg_job_class_of(const dg_job *job, uint64_t image);

/* Draw the inputs (dg_job_inputs) of sample number `image`. The class of a conditional GAN is class_index; -1: that of
 * dg_job_class_of. */
void dg_job_sample(const dg_job *job, float *in, uint64_t seed, uint64_t image, int class_index);

const dg_plan *dg_job_plan(const dg_job *job, const char *name);
void *dg_job_memory(const dg_job *job, int row);

/* Initialise all tensors: weights by o.start or the layer's key `start`, moments to 0 or o.accumulator, running means
 * to 0, running variances to 1. */
dg_err dg_job_init(dg_job *job, uint64_t seed);

/* Apply dg_schedule_step to a copy of `state`, and copy the result to the device. dg_job_put_state uses images =
 * o.schedule / 2, or o.class_fade / 2 without a schedule, and batch = o.batch. */
dg_err dg_job_put_scheduled(dg_job *job, const dg_step_state *state, double images, int batch);
dg_err dg_job_put_state(dg_job *job, const dg_step_state *state);
/* Wait for the steps, then copy the metrics of steps first .. first+n-1; n <= DG_RING. */
dg_err dg_job_get_metrics(dg_job *job, uint64_t first, int n, dg_metrics *out);
/* Like dg_job_get_metrics, but asynchronous. host: memory from alloc_host. */
dg_err dg_job_start_metrics(dg_job *job, uint64_t first, int n, dg_metrics *host);

/* Recompute the batch norm statistics for averaged weights if the weights have changed. */
dg_err dg_job_settle(dg_job *job);

/* `batch` is o.batch or o.last_batch. Returns at once on asynchronous backends. */
dg_err dg_job_step(dg_job *job, int batch);
dg_err dg_job_steps(dg_job *job, int batch, int n);

size_t dg_job_tensor_count(const dg_job_tensor *t);

int dg_job_tensor_shape(const dg_job_tensor *t, int64_t dim[4]);

/* Copy a tensor between the arena and PyTorch's layout. `row` is the arena row of the tensor's values, moment or
 * gradient. `type` is the element type of out or in; values are converted. */
dg_err dg_job_read(dg_job *job, const dg_job_tensor *t, int row, dg_type type, void *out);
dg_err dg_job_write(dg_job *job, const dg_job_tensor *t, int row, dg_type type, const void *in);

int dg_job_inputs(const dg_job *job);

/* Convert `count` values to the backend's type and copy them into the plan's input, from element `first` on. */
dg_err dg_job_put_input(dg_job *job, dg_plan_role plan, size_t first, const double *in, size_t count);

/* Convert `count` values to the backend's type and copy them into a row, from element `first` on. */
dg_err dg_job_put_values(dg_job *job, int row, size_t first, const double *in, size_t count);
/* Copy the first n values of a row. */
dg_err dg_job_get_values(dg_job *job, int row, size_t n, double *out);

/* Returns a hash of the ops, kernels and launches of all plans on a GPU, or 0 on a CPU. */
uint64_t dg_job_plans(const dg_job *job);
/* The same for checkpoints: 0 with shards, because one process or several compute equal bits by different plans. */
uint64_t dg_job_kernels(const dg_job *job);

/* Generate n samples in batches from latent vectors `in` (n, dg_job_inputs). `pixels` (n, height, width, channels) may
 * be NULL. `x` receives the values before rounding to uint8, or is NULL. */
dg_err dg_job_generate(dg_job *job, const float *in, int n, uint8_t *pixels, double *x);

/* Run plan "test" on n records in batches. Outputs are (n, classes) probabilities `p`, (n) losses `each`, and (n,
 * dg_job_hidden) inputs `hidden` of the last layer. `each` and `hidden` may be NULL. If the job trains, `hidden` must
 * be NULL. */
dg_err dg_job_test(dg_job *job, const uint8_t *records, int n, double *p, double *each, double *hidden);
dg_shape dg_job_hidden(const dg_job *job);
int dg_job_classes(const dg_job *job);
/* Copy n <= o.tested records to the inputs of plan "test". If n < o.tested, the first record fills the rest. */
dg_err dg_job_put_test(dg_job *job, const uint8_t *records, int n);

/* Like dg_job_generate with x NULL, but asynchronous. `pixels` must be memory from alloc_host. To wait for `pixels`,
 * record an event after this call. */
dg_err dg_job_start_generate(dg_job *job, const float *in, int n, uint8_t *pixels);

/* Set beta2, ema, augment, penalty and classes of step state s from the options, for a step of `batch` images. With a
 * schedule of T images, also scale s->lr. A scheduled value is end + (start - end) c with c = (1 + cos(pi u)) / 2 and u
 * = min(1, images / T). The EMA half-life starts at 0, because early weights are poor. The probability of augmentations
 * starts at 0, because D cannot memorise images early (Huang et al. 2024). With o.class_fade = F, the weight of classes
 * is 0 for the first F / 3 images, then rises linearly to 1, which it reaches after F images (Shahbazi et al. 2022). */
void dg_schedule_step(const dg_job_options *o, double images, int batch, dg_step_state *s);
