/* In a fused launch, one CUDA kernel computes several ops of a plan. The pass in fuse_plan.c groups the ops. The
 * structures below are the kernels' arguments. The prologue of a fused convolution computes the preceding elementwise
 * op. The epilogue computes the following elementwise op or reduction. Tensors are NHWC, fp32 or bf16. */
#pragma once

#include <stdbool.h>

#include "core/plan/plan.h"
#include "core/tune/tune.h"

typedef enum {
    DG_PROLOGUE_PLAIN,
    DG_PROLOGUE_NORM,   /* a(gamma (x - mean) rstd + beta), where a(z) = z if z > 0, else factor z */
    DG_PROLOGUE_NORM_DX /* gamma rstd (x - total0 - (pre - mean) total1); DG_EPILOGUE_NORM_DX has stored x */
} dg_prologue_kind;

typedef struct {
    dg_prologue_kind kind;
    const float *x;
    const float *pre;          /* norm_dx: the norm's input */
    const float *mean, *rstd;  /* (groups, C) */
    const float *gamma, *beta; /* (C) */
    const float *totals;       /* norm_dx: (groups, 2, C) */
    float factor;
    int groups;  /* number of statistics groups (equal parts of the batch), 1 for prologue plain */
    int rounded; /* 1 if x and pre are bf16 */
} dg_prologue;

/* The op that a kernel applies to its results v. */
typedef enum {
    DG_EPILOGUE_PLAIN,
    DG_EPILOGUE_ACT,
    DG_EPILOGUE_ACT_DX, /* stores v act'(y) */
    DG_EPILOGUE_STATS,  /* stores v and computes the mean, rstd and running statistics of v like norm_stats */
    DG_EPILOGUE_NORM_DX /* stores g = v a'(gamma (pre - mean) rstd + beta) and the sums dbeta, dgamma and totals */
} dg_epilogue_kind;

typedef struct {
    dg_epilogue_kind kind;
    dg_act act;
    float slope;
    float factor;
    int groups;
    bool rounded, rounded_y;           /* true if the results are bf16 (rounded), or if y or pre is bf16 (rounded_y) */
    const float *y;                    /* act_dx: the activation's output */
    float *mean, *rstd;                /* shape (groups, C): output of epilogue stats, input of norm_dx */
    float *running_mean, *running_var; /* epilogue stats: shape (C), as in op norm_stats; may be NULL */
    double eps, momentum;
    const float *pre; /* norm_dx: the norm's input */
    const float *gamma, *beta;
    float *dgamma, *dbeta; /* norm_dx: dgamma = sum g xhat, dbeta = sum g, shape (C), may be NULL */
    float *totals;         /* norm_dx: total0 = mean g, total1 = rstd^2 mean g (pre - mean), shape (groups, 2, C) */
} dg_epilogue;

/* A network's weights, rounded to 2 bytes each for tensor cores. A fused update rounds the weights that it has
 * updated. After an unfused update or a write by the host, the backend rounds the weights. */
typedef struct {
    const float *from;
    void *to;  /* NULL if no kernel reads rounded weights */
    int64_t n; /* number of values including gaps between tensors, a multiple of 64 */
    dg_math math;
} dg_rounded;

/* With --precision bf16, fuse_rounded.c sets dg_row.rounded for tensors between fused launches. A tensor is stored as
 * bf16 if all its writers and readers support bf16. Pointers to rounded tensors are still float *. Results are
 * unchanged if every reader would round the tensor or reads only its sign. Unlike unfused ops, fused launches also
 * round a norm's input and the gradient after a norm. The batch statistics and gradient sums of a norm use unrounded
 * values. */

/* The operand x of a weight gradient is also the input of the forward pass. The operand y is also the input of the
 * data gradient. On tensor cores, the forward pass and the data gradient store their rounded inputs (`factors`) for
 * the weight gradient. If no launch stores an operand, a kernel of the update rounds the operand. */

/* A convolution with prologue and epilogue: a forward pass (x to y) or a data gradient (y to x). The forward pass of a
 * transposed convolution is a data gradient. The input is in.x. Of conv's pointers, only w and the result are valid. */
typedef struct {
    dg_conv_args conv;
    dg_prologue in;
    dg_epilogue out;
    /* Forward thin convolutions read their first gather.N images from the dataset and store them in gather.x (equal to
     * in.x). This requires dg_gather_is_signed (gather.h). */
    dg_gather_args gather;
    /* The kernel family dense draws latents and stores them in noise.z (equal to in.x). If noise.n is 0, the kernel
     * reads the latents from in.x. */
    dg_noise_args noise;
    /* true if the two previous launches do not write w, so that kernels may read w before grid_dependency_wait() */
    bool early;
    const void *rounded; /* kernel family mma: rounded weights in the order of conv.w (dg_rounded) */
    void *factors;       /* kernel family mma stores its rounded input here, unless this is NULL */
    float *scratch;
    unsigned *counters; /* array of dg_fused_size.counters elements, all 0 before and after every launch */
} dg_fused_conv;

/* Fused head: D's last layer (one logit per image), the loss, and the gradient through the preceding norm and
 * activation. */
typedef struct {
    dg_prologue in; /* prologue norm or plain, shape (N, pixels, C) */
    int N, pixels, C;
    const float *w;        /* (pixels, C) */
    float *logit, *dlogit; /* output (N) */
    int losses;            /* number of losses: 1, or 2 for the two halves of the batch */
    double target[2];
    int loss[2], prob[2];
    dg_metrics *ring;
    const dg_step_state *state;
    float *g;        /* output (N, pixels, C) */
    dg_epilogue out; /* epilogue norm_dx (with the norm of `in`), act_dx (y = in.x) or plain */
    float *scratch;
    unsigned *counters;
} dg_fused_head;

/* Fused update: all weight gradients of a network, followed by Adam unless adam.n is 0. */
enum { DG_UPDATE_JOBS = 8 };
typedef struct {
    dg_conv_args conv;
    dg_prologue x, y;
    void *factors[2];
    bool there[2];
    dg_tune tune;
    dg_fused_family kind;
    int64_t offset;
} dg_update_job;
typedef struct {
    int jobs;
    dg_update_job job[DG_UPDATE_JOBS];
    dg_adam_args adam;       /* the jobs compute all gradients except those of gamma and beta */
    dg_advance_args advance; /* if advance.state is NULL, the launch does not advance the step */
    dg_rounded rounded;
    float *scratch;
    unsigned *counters;
} dg_fused_update;

/* Groups the ops of a plan into launches. The backend's refuses() must have set the variant of each op. All rows of the
 * plan except work rows must have addresses. Reorders independent ops, marks rows of unwritten tensors as absent, and
 * adds rows for fused launches. Fuses nothing if real is not DG_F32. Returns DG_DEVICE if out of memory. */
dg_err dg_fuse_plan(dg_plan *p, unsigned what, dg_type real, const dg_gpu *gpu);

/* Return the kernel arguments of a fused launch, with NULL pointers before the plan is bound. */
dg_fused_conv dg_fused_conv_of(const dg_plan *p, const dg_launch *l);
dg_fused_head dg_fused_head_of(const dg_plan *p, const dg_launch *l);
dg_fused_update dg_fused_update_of(const dg_plan *p, const dg_launch *l);

dg_rounded dg_rounded_of(const dg_plan *p, int net);

typedef struct {
    size_t bytes;
    int counters;
} dg_fused_size;
dg_fused_size dg_fused_conv_size(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune);
dg_fused_size dg_fused_head_size(const dg_fused_head *h);
dg_fused_size dg_fused_update_size(const dg_fused_update *u);

/* Sets tune.split, the number of parts of a sum, for each weight gradient. The weight gradients of an update share the
 * GPU, so their splits differ from those of unfused weight gradients. */
void dg_fused_update_split(dg_fused_update *u);

/* Return NULL, or the reason why the ops cannot be fused. The text is valid until the next call. The caller has
 * checked `tune` by dg_variant_check(). */
const char *dg_fused_conv_refuses(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, const dg_gpu *gpu);
const char *dg_fused_head_refuses(const dg_fused_head *h);
const char *dg_fused_update_refuses(const dg_fused_update *u, const dg_gpu *gpu);
