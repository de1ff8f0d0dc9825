/* Fused launches: what the CUDA backend runs in the place of several ops of a plan. A pass over the plan (fuse_plan.c)
 * finds runs of ops that one kernel can do and describes each as one of the structures below; the ops themselves stay
 * as they are, and are what a fused launch is tested against.
 *
 * A convolution reads its input through a prologue, which undoes the need for the sweep in front of it, and hands its
 * results to an epilogue, which does what the sweeps behind it would. Tensors are fp32 in device memory, NHWC, but for
 * those that are rounded (below).
 * Plain C; everything in here is passed to kernels by value. */
#ifndef DG_FUSED_H
#define DG_FUSED_H

#include <stdbool.h>

#include "core/plan/plan.h"
#include "core/tune/tune.h"

/* ---- Where the values of an operand come from; c is the channel, the group is that of the image ---- */

typedef enum {
    DG_PROLOGUE_PLAIN,  /* x */
    DG_PROLOGUE_NORM,   /* norm_act: a(gamma (x - mean) rstd + beta), a(z) = z above 0, factor z elsewhere */
    DG_PROLOGUE_NORM_DX /* second half of norm_act_dx: gamma rstd (x - total0 - (pre - mean) total1); here x is what the
                         epilogue DG_EPILOGUE_NORM_DX stored */
} dg_prologue_kind;

typedef struct {
    dg_prologue_kind kind;
    const float *x;
    const float *pre;          /* norm_dx: the tensor before the norm */
    const float *mean, *rstd;  /* (groups, C) */
    const float *gamma, *beta; /* (C) */
    const float *totals;       /* norm_dx: (groups, 2, C) */
    float factor;              /* norm */
    int groups;                /* equal parts of the batch with statistics of their own; of plain 1 */
    int rounded; /* 1: x and pre are bf16; no bool, for the simulator takes padding behind one for an address */
} dg_prologue;

/* ---- What becomes of results ---- */

typedef enum {
    DG_EPILOGUE_PLAIN,  /* stored */
    DG_EPILOGUE_ACT,    /* act(v) is stored */
    DG_EPILOGUE_ACT_DX, /* v act'(y) is stored; the derivative from y as in act_dx */
    DG_EPILOGUE_STATS,  /* v is stored; norm_stats of all v */
    DG_EPILOGUE_NORM_DX /* first half of norm_act_dx: v a'(gamma (pre - mean) rstd + beta) =: g is stored; of all g
                       dbeta = sum g, dgamma = sum g xhat, and for each group and channel
                       total0 = mean g, total1 = rstd^2 mean g (pre - mean) */
} dg_epilogue_kind;

typedef struct {
    dg_epilogue_kind kind;
    dg_act act;                        /* act, act_dx */
    float slope;                       /* act, act_dx: of DG_ACT_LEAKY */
    float factor;                      /* norm_dx: a(z) = z above 0, factor z elsewhere */
    int groups;                        /* stats, norm_dx; else 1 */
    bool rounded, rounded_y;           /* results, and y or pre, are bf16 */
    const float *y;                    /* act_dx: as large as the results */
    float *mean, *rstd;                /* (groups, C): stats: out, norm_dx: in */
    float *running_mean, *running_var; /* stats: (C), updated as norm_stats does */
    double eps, momentum;              /* stats */
    const float *pre;                  /* norm_dx: as large as the results */
    const float *gamma, *beta;         /* norm_dx */
    float *dgamma, *dbeta;             /* norm_dx: (C), may be NULL */
    float *totals;                     /* norm_dx: (groups, 2, C), out */
} dg_epilogue;

/* ---- Weights ---- */

/* A network's weights as factors of products on tensor cores, each rounded once a step and not in every block: bf16 and
 * fp16 of 2 bytes, tf32 of 4, in the order of the weights. Whatever writes weights writes these, too: the fused update;
 * behind other updates, and where the host has written something, a kernel of the backend. */
typedef struct {
    const float *from; /* the network's first weight */
    void *to;          /* NULL: nobody reads them */
    int64_t n;         /* with the gaps between rows; a multiple of 64 */
    dg_math math;
} dg_rounded;

/* ---- Rounded tensors ---- */

/* Under --precision bf16 a tensor between fused launches that all can read and write it so is bf16 in memory. What is
 * only read by those who round it, or who ask on which side of 0 it is, has the same bits of 2 bytes where it had 4,
 * and is its own factors (below). What a norm reads, and the gradient of what it made, are rounded once more than the
 * ops do: values behind the sums that are made of them, which stay those of fp32 results. dg_row.rounded says so; fp32
 * is what the ops have. Who can read and write such tensors is known to fuse_rounded.c. Pointers to them are those of
 * fp32.
 */

/* ---- Factors ---- */

/* What a weight gradient on tensor cores multiplies are values that convolutions have multiplied before: its x in the
 * forward pass, its y in the data gradient, through the same prologue. Each such convolution writes the values of its
 * input as they are rounded for products (as dg_rounded has weights), and the weight gradient copies them. Where none
 * does, a kernel of the update's launch makes them. */

/* ---- Launches ---- */

/* One convolution, forward (x to y) or data gradient (y to x; also the forward pass of a transposed one), with what is
 * around it. Of conv, the pointers to the result and to w count; the input is in.x. */
typedef struct {
    dg_conv_args conv;
    dg_prologue in;
    dg_epilogue out;
    /* thin, forward: the first gather.N images (0: none) come from the data set and are written to gather.x as well,
     * which is in.x; signed images without labels alone (gather.h). */
    dg_gather_args gather;
    /* dense, data gradient of a flat convolution: y is drawn, and written to noise.z, which is in.x; n = 0: it is
     * there. */
    dg_noise_args noise;
    /* mma, thin_mma: the two launches in front do not write w, so it may be read while the nearer one still runs */
    bool early;
    const void *rounded; /* mma: conv.w as its products take it, in the same order (dg_rounded) */
    void *factors;       /* mma: out, its input as products take it, in the same order; NULL: nobody reads it */
    float *scratch;      /* dg_fused_size.bytes */
    unsigned *counters;  /* dg_fused_size.counters of them, 0 before and after every launch */
} dg_fused_conv;

/* The last layer of D, whose y is one pixel of one channel: logits, loss, and the gradient back through the norm and
 * activation in front of it. */
typedef struct {
    dg_prologue in; /* norm or plain, (N, pixels, C) */
    int N, pixels, C;
    const float *w;        /* (pixels, C) */
    float *logit, *dlogit; /* out (N) */
    int losses;            /* 1 or 2: for equal parts of the batch, one behind the other */
    double target[2];
    int loss[2], prob[2]; /* metric indices */
    dg_metrics *ring;
    const dg_step_state *state;
    float *g;        /* out (N, pixels, C) */
    dg_epilogue out; /* norm_dx with the same norm as in; or act_dx (y = in.x), or plain */
    float *scratch;
    unsigned *counters;
} dg_fused_head;

/* All weight gradients of a network and Adam behind them. */
enum { DG_UPDATE_JOBS = 8 };
typedef struct {
    dg_conv_args conv; /* w: the gradient, out; x and y are the prologues' */
    dg_prologue x, y;
    void *factors[2]; /* mma: of x and of y */
    bool there[2];    /* a convolution has written them */
    dg_tune tune;
    dg_fused_family kind; /* MMA, WGMMA, THIN, THIN_MMA, GEMV or DENSE; NONE: there is no kernel for it */
    int64_t offset;       /* of the first weight in adam.p, in values */
} dg_update_job;
typedef struct {
    int jobs;
    dg_update_job job[DG_UPDATE_JOBS];
    dg_adam_args adam;       /* what no job makes (gamma, beta, gaps between rows) has its gradient in adam.g already */
    dg_advance_args advance; /* state NULL: not here */
    dg_rounded rounded;      /* of adam.p; written together with it */
    float *scratch;
    unsigned *counters;
} dg_fused_update;

/* ---- The pass ---- */

/* Put the ops of a plan into launches. Ops have been through the backend's refuses(), rows that are not DG_WORK have
 * their places. Ops may change their order, where none depends on it; rows that are no longer written become absent;
 * rows for what fused launches need are added. On a backend whose real is not DG_F32 nothing is fused. DG_DEVICE: out
 * of memory. */
dg_err dg_fuse_plan(dg_plan *p, unsigned what, dg_type real, const dg_gpu *gpu);

/* A fused launch of a plan as its kernel takes it; before binding, pointers are NULL. */
dg_fused_conv dg_fused_conv_of(const dg_plan *p, const dg_launch *l);
dg_fused_head dg_fused_head_of(const dg_plan *p, const dg_launch *l);
dg_fused_update dg_fused_update_of(const dg_plan *p, const dg_launch *l);

/* Of a network of a bound plan. */
dg_rounded dg_rounded_of(const dg_plan *p, int net);

/* What a launch needs beside its tensors. Pointers inside of the structures do not count, but for being NULL or not. */
typedef struct {
    size_t bytes; /* of scratch */
    int counters;
} dg_fused_size;
dg_fused_size dg_fused_conv_size(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune);
dg_fused_size dg_fused_head_size(const dg_fused_head *h);
dg_fused_size dg_fused_update_size(const dg_fused_update *u);

/* Into how many parts each job on tensor cores and each thin one divides its sum: those of the ops are for launches of
 * their own, in a common one there are other blocks to run beside. Sets tune.split. */
void dg_fused_update_split(dg_fused_update *u);

/* NULL, or why there is no such launch here (static text, or valid until the next call): its ops are then launched one
 * by one. tune has been through dg_variant_check() for the op alone; what is launched is of the family of its
 * variant (variant.h), and dense where that has none and the convolution is flat (conv_tiles.h). */
const char *dg_fused_conv_refuses(dg_op_kind kind, const dg_fused_conv *f, const dg_tune *tune, const dg_gpu *gpu);
const char *dg_fused_head_refuses(const dg_fused_head *h);
const char *dg_fused_update_refuses(const dg_fused_update *u, const dg_gpu *gpu);

#endif
