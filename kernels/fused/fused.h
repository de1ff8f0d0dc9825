/* Fused launches: one CUDA kernel computes several ops of a plan. fuse_plan.c groups the ops. The structures below are
 * the kernels' arguments. A fused convolution loads its input through a prologue (the elementwise op before it) and
 * passes its results to an epilogue (the elementwise op or reduction after it). Tensors are NHWC, fp32 or bf16. */
#ifndef DG_FUSED_H
#define DG_FUSED_H

#include <stdbool.h>

#include "core/plan/plan.h"
#include "core/tune/tune.h"

/* Prologue: the elementwise op that a kernel applies to an input. c: channel; group: group of the image. */
typedef enum {
    DG_PROLOGUE_PLAIN,
    DG_PROLOGUE_NORM,   /* a(gamma (x - mean) rstd + beta), where a(z) = z if z > 0, else factor z */
    DG_PROLOGUE_NORM_DX /* gamma rstd (x - total0 - (pre - mean) total1), x: stored by DG_EPILOGUE_NORM_DX */
} dg_prologue_kind;

typedef struct {
    dg_prologue_kind kind;
    const float *x;
    const float *pre;          /* norm_dx: the norm's input */
    const float *mean, *rstd;  /* (groups, C) */
    const float *gamma, *beta; /* (C) */
    const float *totals;       /* norm_dx: (groups, 2, C) */
    float factor;
    int groups;  /* number of equal parts of the batch, each with its own statistics; 1 for plain */
    int rounded; /* 1: x and pre are bf16 */
} dg_prologue;

/* Epilogue: the op that a kernel applies to its results v. */
typedef enum {
    DG_EPILOGUE_PLAIN,
    DG_EPILOGUE_ACT,
    DG_EPILOGUE_ACT_DX, /* stores v act'(y) */
    DG_EPILOGUE_STATS,  /* stores v; computes mean, rstd and running statistics of v as norm_stats does */
    DG_EPILOGUE_NORM_DX /* stores g = v a'(gamma (pre - mean) rstd + beta); dbeta = sum g, dgamma = sum g xhat; per
                         * group and channel total0 = mean g, total1 = rstd^2 mean g (pre - mean) */
} dg_epilogue_kind;

typedef struct {
    dg_epilogue_kind kind;
    dg_act act;
    float slope;
    float factor;
    int groups;
    bool rounded, rounded_y;           /* rounded: the results are bf16; rounded_y: y or pre is bf16 */
    const float *y;                    /* act_dx: the activation's output */
    float *mean, *rstd;                /* shape (groups, C): output of epilogue stats, input of norm_dx */
    float *running_mean, *running_var; /* epilogue stats: shape (C), as in op norm_stats */
    double eps, momentum;
    const float *pre; /* norm_dx: the norm's input */
    const float *gamma, *beta;
    float *dgamma, *dbeta; /* epilogue norm_dx: shape (C), may be NULL */
    float *totals;         /* epilogue norm_dx: output, shape (groups, 2, C) */
} dg_epilogue;

/* A network's weights as rounded operands for tensor cores (2 bytes each). The fused update rounds the weights once per
 * step. After an unfused update or a write by the host, a kernel of the backend rounds the weights. */
typedef struct {
    const float *from;
    void *to;  /* NULL: no kernel reads rounded weights */
    int64_t n; /* number of values, including the gaps between rows; a multiple of 64 */
    dg_math math;
} dg_rounded;

/* Rounded tensors (dg_row.rounded, decided by fuse_rounded.c): under --precision bf16 a tensor between fused launches
 * is stored as bf16 if all its writers and readers support bf16. Pointers to rounded tensors are still float *. If
 * every reader rounds the tensor or reads only its sign, results are unchanged. Unlike unfused ops, fused launches also
 * round a norm's input and the gradient after a norm. Sums over these tensors use the unrounded values. */

/* A weight gradient's operands are also inputs of earlier convolutions: x of the forward pass, y of the data gradient.
 * On tensor cores, the earlier convolutions store their rounded inputs (`factors`) for the weight gradient. If no
 * convolution stores an operand, a kernel of the update rounds this operand. */

/* A convolution with prologue and epilogue: forward (x to y) or data gradient (y to x; also the forward pass of a
 * transposed convolution). The input is in.x. Of conv's pointers, only w and the result are valid. */
typedef struct {
    dg_conv_args conv;
    dg_prologue in;
    dg_epilogue out;
    /* Forward thin convolutions read the first gather.N images from the dataset and also write them to gather.x ==
     * in.x. Requires dg_gather_is_signed (gather.h). */
    dg_gather_args gather;
    /* Kernel family dense draws latents y and stores them in noise.z == in.x. If noise.n is 0, it reads y. */
    dg_noise_args noise;
    /* the two previous launches do not write w: mma and thin_mma may read w before grid_dependency_wait() */
    bool early;
    const void *rounded; /* kernel family mma: rounded weights in the order of conv.w (dg_rounded) */
    void *factors;       /* kernel family mma: output, the kernel's rounded input; NULL: not stored */
    float *scratch;
    unsigned *counters; /* array of dg_fused_size.counters elements, all 0 before and after every launch */
} dg_fused_conv;

/* Fused head: D's last layer (one logit per image), loss, and gradient through the norm and activation of its input. */
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
    dg_epilogue out; /* epilogue norm_dx with the norm of `in`, act_dx (y = in.x), or plain */
    float *scratch;
    unsigned *counters;
} dg_fused_head;

/* Fused update: all weight gradients of a network, followed by Adam. */
enum { DG_UPDATE_JOBS = 8 };
typedef struct {
    dg_conv_args conv;
    dg_prologue x, y;
    void *factors[2];
    bool there[2];
    dg_tune tune;
    dg_fused_family kind; /* kernel family MMA, WGMMA, THIN, THIN_MMA, GEMV or DENSE; NONE: no kernel */
    int64_t offset;
} dg_update_job;
typedef struct {
    int jobs;
    dg_update_job job[DG_UPDATE_JOBS];
    dg_adam_args adam;       /* adam.g: gradients of gamma and beta; jobs compute all other gradients */
    dg_advance_args advance; /* if advance.state is NULL, the launch does not advance the step */
    dg_rounded rounded;
    float *scratch;
    unsigned *counters;
} dg_fused_update;

/* Groups the ops of a plan into launches. Requires that the backend's refuses() has returned NULL for each op, and that
 * all rows of the plan except work rows have addresses. Reorders independent ops, marks rows of unwritten tensors as
 * absent, and adds rows for fused launches. Fuses nothing if real is not DG_F32. Returns DG_DEVICE if out of memory. */
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

/* Sets tune.split of each weight gradient: the number of parts of its sum. Unlike unfused weight gradients, the weight
 * gradients of an update share the GPU. */
void dg_fused_update_split(dg_fused_update *u);

/* Returns NULL, or the reason why the ops cannot be fused and are launched one by one. The text is valid until the next
 * call. tune: accepted by dg_variant_check() for the op. The variant determines the kernel family (variant.h). Flat
 * convolutions (conv_tiles.h) without a family use dense. */
const char *dg_fused_conv_refuses(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, const dg_gpu *gpu);
const char *dg_fused_head_refuses(const dg_fused_head *h);
const char *dg_fused_update_refuses(const dg_fused_update *u, const dg_gpu *gpu);

#endif
