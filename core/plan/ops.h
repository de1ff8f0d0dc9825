/* The ops of plans. The list DG_OPS defines all ops. Macros derive the enum, names, prototypes and dispatch from it.
 *
 * Conventions. `real` is float or double, chosen when the backend is opened. Void pointers point to real unless stated
 * otherwise. An op overwrites its outputs and never adds to them. Shapes are NHWC. dg_plan_bind() sets the pointers.
 * Ops never fail, because planning refuses invalid ops. An op's results do not depend on the number of threads. */
#pragma once

#include "core/base/tensor.h"
#include "core/base/rng.h"
#include "core/plan/act.h"

enum { DG_NETS_MAX = 2, DG_METRICS_MAX = 10 };

/* Values that change in every training step, stored in device memory so that a captured CUDA graph stays valid. The
 * host writes dg_step_state with backend->put at the start of an epoch, and the op `advance` updates it. */
typedef struct {
    uint64_t seed;
    uint64_t step;  /* optimizer steps so far; selects random numbers and the index in the metrics ring */
    int64_t cursor; /* index of the batch's first image in the permutation */
    double lr[DG_NETS_MAX];
    double beta2;
    double ema;        /* decay of the averaged weights */
    double augment;    /* probability of each augmentation */
    double penalty[2]; /* weights of the gradient penalties on real images and on samples */
    double classes;    /* weight of the class in the logits of a conditional D, from 0 to 1 */
} dg_step_state;

/* The ops of a step write metrics to element step % DG_RING of a ring buffer, which the host reads later. The training
 * recipe defines the meaning of each value (host/net/recipe.h). */
#define DG_RING 1024
typedef struct {
    double value[DG_METRICS_MAX];
} dg_metrics;

/* Convolution: forward, data gradient and weight gradient. x is 0 outside of the image.
 *   `conv_fwd` writes y[n,oy,ox,co] = sum over ky,kx,ci of x[n, oy*S-P+ky, ox*S-P+kx, ci] * w[co,ky,kx,ci].
 *   `conv_dx` is the adjoint of conv_fwd: each x[...] is the sum of y * w over all products of conv_fwd with this x.
 *   `conv_dw` writes w[co,ky,kx,ci] = sum of x * y over n,oy,ox.
 * The forward pass of PyTorch's ConvTranspose2d is conv_dx (input y, output x), its data gradient is conv_fwd, and its
 * weight gradient is conv_dw. ConvTranspose2d's weights (Cin, Cout, K, K) are w with Co = Cin and Ci = Cout.
 * Source: Dumoulin & Visin 2016, "A guide to convolution arithmetic", section 4.
 * Shapes: x (N, H, W, Ci), w (Co, K, K, Ci), y (N, Ho, Wo, Co), Ho = (H + 2P - K)/S + 1. backend->scratch() returns the
 * size of `scratch` in bytes. If the size is 0, `scratch` is NULL. */
typedef struct {
    void *x;
    void *w;
    void *y;
    void *scratch;
    int N, H, W, Ci, Ho, Wo, Co, K, S, P;
    /* 0, or the number of pixels of a map that is not square and that the kernel covers: the convolution is given as
     * the equal 1x1 convolution of one pixel, whose Ci channels are those of all pixels */
    int pixels;
    /* DG_MATH_FP16 multiplies x or y by 2^shift before rounding, and divides the sum by 2^shift */
    int shift_x, shift_y;
} dg_conv_args;

/* Grouped convolution with stride 1: forward, data gradient and weight gradient. Output channel co reads only the input
 * channels g Cg to g Cg + Cg - 1, where Cg = Ci / groups and g = co / (Co / groups).
 * Shapes: x (N, H, W, Ci), w (Co, K, K, Cg), y (N, Ho, Wo, Co), Ho = H + 2P - K + 1. */
typedef struct {
    void *x;
    void *w;
    void *y;
    void *scratch;
    int N, H, W, Ci, Ho, Wo, Co, K, P, groups, Cg;
} dg_group_args;

/* Batch norm statistics of x, separately for `groups` equal parts of the batch (D has real and fake images in one
 * batch). rstd = 1/sqrt(var + eps), where var is the biased variance. One group after another updates the running
 * statistics: r = (1 - momentum) r + momentum s, where s is the mean or unbiased variance. Ioffe & Szegedy 2015.
 * running_mean and running_var are both NULL if op shard_running updates the running statistics.
 * Shapes: mean, rstd (groups, C); running_mean, running_var (C), updated in place; x (N, H, W, C). */
typedef struct {
    void *mean, *rstd;
    void *running_mean, *running_var;
    void *x;
    void *scratch;
    int N, H, W, C, groups;
    double eps, momentum;
} dg_norm_stats_args;

/* Batch norm statistics in evaluation mode: mean = running_mean, rstd = 1/sqrt(running_var + eps).
 * Shapes: mean, rstd (1, C); running_mean, running_var (C), only read. */
typedef struct {
    void *mean, *rstd;
    void *running_mean, *running_var;
    int C;
    double eps;
} dg_norm_frozen_args;

/* Batch norm and activation. act is piecewise linear (dg_act_is_linear). y may be x, and dx may be dy.
 *   `norm_act` writes y = act(gamma * xhat + beta), where xhat = (x - mean) * rstd.
 *   `norm_act_dx` first computes g = dy * act'(gamma * xhat + beta).
 *   `norm_act_dx` writes dbeta = sum g and dgamma = sum g * xhat over all groups, unless both are NULL.
 *   `norm_act_dx` writes dx = gamma * rstd * (g - mean_over_group(g) - xhat * mean_over_group(g * xhat)).
 * Shapes: x (N, H, W, C), before the norm; y, dx, dy as x; mean, rstd (groups, C); gamma, beta, dgamma, dbeta (C). */
typedef struct {
    void *y;
    void *dx;
    void *dgamma, *dbeta;
    void *dy;
    void *x;
    void *mean, *rstd;
    void *gamma, *beta;
    void *scratch;
    int N, H, W, C, groups;
    dg_act act;
    double slope;
} dg_norm_act_args;

/* Op `act` computes n values y = act(x). y may be x. Op `act_dx` computes dx = dy * act', and dx may be dy. act' is
 * computed from y: the sign of y for leaky and relu, 1 - y^2 for tanh. */
typedef struct {
    void *y, *x;
    void *dx, *dy;
    int64_t n;
    dg_act act;
    double slope;
} dg_act_args;

/* `bias_act` writes y = act(x + b[c]), and y may be x. `bias_act_dx` writes dx = dy * act', and dx may be dy. act' is
 * computed from y.
 * `bias_act_dx` also writes db[c] = the sum of dx, in an order that depends only on the shape.
 * Shapes: x, y, dx, dy (N, H, W, C); b, db (C); db may be NULL. */
typedef struct {
    void *y;
    void *dx, *db;
    void *dy;
    void *x, *b;
    void *scratch;
    int N, H, W, C;
    dg_act act;
    double slope;
} dg_bias_act_args;

/* Op `add` computes n values y = act(a + b). y may be a or b. The gradient of `add` is act_dx. `add` also adds the two
 * gradients of a tensor that two ops read. */
typedef struct {
    void *y;
    void *a, *b;
    int64_t n;
    dg_act act;
    double slope;
} dg_add_args;

/* Op dropout (Srivastava et al. 2014, inverted) writes y[i] = x[i] / (1 - p) or 0. y[i] is 0 if value i % 4 of
 * dg_philox(seed, (DG_STREAM_DROPOUT, layer << 40 | step), i / 4) is less than 2^32 p. For random numbers, values are
 * counted from `first`: i = first for y[0]. The gradient is dropout applied to dy. y may be x. Shapes: x, y (n).
 * 0 <= p < 1; layer < 2^16. */
typedef struct {
    void *y;
    void *x;
    const dg_step_state *state;
    int64_t n, first;
    double p;
    int layer;
} dg_dropout_args;

/* Pooling over windows of K rows and columns with stride S. `columns` is 0, or the number of columns of the windows of
 * a mean; below, K x K then stands for K x columns. Padding (P < K) is ignored in a maximum and counts as 0 in a mean.
 *   `maxpool` writes y[n,oy,ox,c] = the largest of x[n, oy*S-P+ky, ox*S-P+kx, c].
 *   `maxpool` also writes place = ky*K+kx of the first largest value or, if the window has a NaN, of the first NaN.
 *   `maxpool_dx` writes dx[n,iy,ix,c] = sum of dy of the windows whose `place` is this pixel.
 *   `meanpool` writes y[n,oy,ox,c] = sum of the window's x / (K * K).
 *   `meanpool_dx` writes dx[n,iy,ix,c] = sum of dy / (K * K) of the windows that contain this pixel.
 * Pooling sums in row and column order. Shapes: x, dx (N, H, W, C); y, dy (N, Ho, Wo, C), Ho = (H + 2P - K)/S + 1;
 * `place` has the shape of y and requires K <= 16. */
typedef struct {
    void *y;
    void *dx;
    uint8_t *place;
    void *x, *dy;
    int N, H, W, C, Ho, Wo, K, S, P;
    int columns;
} dg_pool_args;

static inline DG_HD int dg_pool_columns(const dg_pool_args *a) { return a->columns ? a->columns : a->K; }

/* Resampling by 2 with the filter f = (1, 3, 3, 1) in both directions (Karras et al. 2020). Outside of the image x = 0.
 *   `resample_down` writes y[n,i,j,c] = sum over k,l of f[k] f[l] x[n, 2i-1+k, 2j-1+l, c] / 64.
 *   `resample_up` writes y[n,i,j,c] = sum of f[k] f[l] x[n,p,q,c] / 16 over all p,q,k,l with i = 2p-1+k and j = 2q-1+l.
 * The two ops are adjoints of each other, up to a factor of 4. With `adjoint` the divisors are exchanged, so that
 * resample_up computes the gradient of resample_down, and vice versa.
 * The smaller image (x of resample_up, y of resample_down) has the shape (N, H, W, C). H2 = 2 H and W2 = 2 W. */
typedef struct {
    void *y;
    void *x;
    int N, H, W, C, H2, W2;
    int adjoint;
} dg_resample_args;

/* Softmax cross entropy and its gradient, with class labels and label smoothing s (Szegedy et al. 2016; 0: none). Let m
 * be the largest logit of a row, and q_c = (1 - s) [c == label] + s / C.
 *   Softmax is p_c = exp(l_c - m) / sum exp(l - m), and dlogit = (p - q) / N.
 *   `each` stores the loss of each row, log sum exp(l - m) - sum_c q_c (l_c - m).
 * The loss is the mean of `each`, summed in double in index order. Metric `right` is the accuracy. Of equal largest
 * logits, the first is the prediction. If a row has a NaN or its largest logit is infinite, its loss is NaN and its
 * prediction wrong.
 * Writes ring[step % DG_RING].value[loss] and .value[right] if ring is not NULL. If label is NULL, only p is written.
 * Shapes: logit, dlogit and p (N, C), label and each (N), ring (DG_RING). Labels are 0 to C - 1. Only logit is
 * required: the other pointers may be NULL. */
typedef struct {
    void *dlogit;
    void *p;
    void *each;
    dg_metrics *ring;
    void *logit;
    const int32_t *label;
    const dg_step_state *state;
    uint32_t *counters;
    void *scratch;
    int N, C;
    double smoothing;
    int loss, right;
} dg_softmax_args;

/* Adam over flat memory (Kingma & Ba 2015). eps is outside the bias correction as in torch.optim.Adam.
 *   Moments: m = m + (1-b1)(g-m) and v = b2 v + (1-b2) g g, b2 = state->beta2.
 *   Weights: p = p - lr/(1-b1^t) * m / (sqrt(v)/sqrt(1-b2^t) + eps), where t = step + 1.
 * Writes the number of updated weights that are not finite to ring[...].value[bad]. */
typedef struct {
    void *p, *m, *v; /* (n), updated in place */
    dg_metrics *ring;
    void *g;
    const dg_step_state *state;
    uint32_t *counters;
    int64_t n;
    double beta1, eps;
    int net, bad; /* index into state->lr; index into dg_metrics.value */
} dg_adam_args;

/* Optimizers over flat memory, as in torch.optim, where g' = g + decay * p for the first `decayed` values, else g.
 *   SGD with momentum: m = momentum m + g', p = p - lr (nesterov ? g' + momentum m : m).
 *   SGD without momentum: p = p - lr g'.
 *   Adagrad (Duchi et al. 2011): v = v + g' g', p = p - lr g' / (sqrt(v) + eps).
 *   Adadelta (Zeiler 2012): v = rho v + (1-rho) g' g', d = g' sqrt(m + eps) / sqrt(v + eps), m = rho m + (1-rho) d d,
 *             p = p - lr d.
 * eps is positive, so that weights of 0 with gradient 0 stay 0. Each op writes the number of updated weights that are
 * not finite to ring[...].value[bad]. */
typedef struct {
    void *p;     /* weights (n), updated in place */
    void *m, *v; /* moments (n), updated in place: m for sgd with momentum, v for adagrad, m and v for adadelta */
    dg_metrics *ring;
    void *g;
    const dg_step_state *state;
    uint32_t *counters;
    int64_t n, decayed;
    double momentum, rho, eps, decay;
    int nesterov;
    int net, bad; /* index into state->lr; index into dg_metrics.value */
} dg_update_args;

/* gather reads records perm[cursor + n] of the dataset, n = first ... first + N - 1, and writes x = pixel / dev[c] -
 * shift[c]. Images are mirrored left-right if flip is set and bit 0 of value n % 4 of dg_philox(seed, (DG_STREAM_FLIP,
 * step), n / 4) is 1. A record is an image and optionally a little-endian label of 4 bytes. If `prepared` is set, the
 * image is stored as values of x in the backend's type, otherwise as bytes. */
enum { DG_CHANNELS_MAX = 4 };
typedef struct {
    void *x;        /* out (N, H, W, C); C <= DG_CHANNELS_MAX */
    int32_t *label; /* out (N), may be NULL */
    const uint8_t *data;
    const int32_t *perm;
    const dg_step_state *state;
    int64_t record; /* bytes per record of the dataset; bytes after image and label are ignored */
    double dev[DG_CHANNELS_MAX], shift[DG_CHANNELS_MAX];
    int N, H, W, C, flip, prepared, first;
} dg_gather_args;

/* Op noise writes z[i - first] = normal i % 4 of dg_normal4(seed, (stream, step), i / 4), i = first ... first + n - 1,
 * converted from float. step is state->step for DG_STREAM_NOISE, and first_step for other streams. */
typedef struct {
    void *z;
    const dg_step_state *state;
    int64_t n, first;
    int stream;
    uint64_t first_step;
} dg_noise_args;

/* Images as bytes: out = clamp(round_half_up((x + 1) * 127.5), 0, 255), computed in double. */
typedef struct {
    uint8_t *out;
    void *x;
    int64_t n;
} dg_to_u8_args;

/* state->step += 1, state->cursor += batch. */
typedef struct {
    dg_step_state *state;
    int batch;
} dg_advance_args;

#include "core/plan/ops_gan.h"
#include "core/plan/ops_shards.h"

/* X(kind, member of the union dg_op.u, CPU op family (cpu.h)). The op's folder in kernels/ops defines its description
 * dg_info_KIND (op_info.h). */
#define DG_OPS(X)                           \
    X(conv_fwd, conv, conv)                 \
    X(conv_dx, conv, conv)                  \
    X(conv_dw, conv, conv)                  \
    X(group_fwd, group, group)              \
    X(group_dx, group, group)               \
    X(group_dw, group, group)               \
    X(norm_stats, norm_stats, norm)         \
    X(norm_frozen, norm_frozen, plain)      \
    X(norm_act, norm_act, plain)            \
    X(norm_act_dx, norm_act, norm)          \
    X(act, act, plain)                      \
    X(act_dx, act, plain)                   \
    X(bias_act, bias_act, plain)            \
    X(bias_act_dx, bias_act, bias)          \
    X(add, add, plain)                      \
    X(dropout, dropout, plain)              \
    X(maxpool, pool, plain)                 \
    X(maxpool_dx, pool, plain)              \
    X(meanpool, pool, plain)                \
    X(meanpool_dx, pool, plain)             \
    X(resample_up, resample, plain)         \
    X(resample_down, resample, plain)       \
    X(softmax, softmax, plain)              \
    X(gan_loss, gan_loss, plain)            \
    X(adam, adam, plain)                    \
    X(sgd, update, plain)                   \
    X(adagrad, update, plain)               \
    X(adadelta, update, plain)              \
    X(ema, ema, plain)                      \
    X(gather, gather, plain)                \
    X(augment, augment, plain)              \
    X(augment_dx, augment, plain)           \
    X(spectral, spectral, plain)            \
    X(spectral_dw, spectral, plain)         \
    X(fill, fill, plain)                    \
    X(mix, mix, plain)                      \
    X(bias_dw, bias_dw, plain)              \
    X(penalty, penalty, plain)              \
    X(onehot, onehot, plain)                \
    X(pick, pick, plain)                    \
    X(pick_dx, pick, plain)                 \
    X(shard_sum, shard_sum, plain)          \
    X(shard_running, shard_running, plain)  \
    X(shard_collect, shard_collect, plain)  \
    X(shard_metrics, shard_metrics, plain)  \
    X(shard_exchange, shard_message, plain) \
    X(shard_share, shard_message, plain)    \
    X(noise, noise, plain)                  \
    X(to_u8, to_u8, plain)                  \
    X(advance, advance, plain)

typedef enum {
#define X(kind, member, cpu) DG_OP_##kind,
    DG_OPS(X)
#undef X
        DG_OP_KINDS
} dg_op_kind;

enum { DG_MAX_OPERANDS = 10 };

/* How tensor cores round a convolution's operands. Sums are fp32. DG_MATH_FP32 does not round. Because fp16 has a small
 * range, gradients are multiplied by a power of two (dg_conv_args), and finite values beyond the range are clamped. */
typedef enum { DG_MATH_FP32, DG_MATH_BF16, DG_MATH_FP16 } dg_math;

/* How an op is launched: a variant of the op (variant.h) and launch parameters. CPUs use only the variant. */
typedef struct {
    const struct dg_variant *variant;
    const char *why; /* source of the variant, such as "default", "--conv" or "tuning.ini:12" */
    int block;
    int tile_m, tile_n; /* pixels and channels that a block computes; 0: no tile */
    int stages;
    int split;    /* number of blocks that share the sum of each result */
    dg_math math; /* rounding of operands in variant mma; set by --precision, never by tuning */
} dg_tune;

typedef struct {
    char name[40]; /* "D.2.conv.dw", for profiles, tuning files and errors */
    dg_op_kind kind;
    const char *wrong; /* name of an operand that was set although the op lacks it, or NULL */
    dg_tune tune;
    struct {
        int row;        /* index of the operand's tensor in the arena, or -1 if the operand is unused */
        int64_t offset; /* index of the operand's first element in the tensor */
        int from;       /* 1 + number of the op that a fused launch recomputes for this operand, or 0 */
        int factors;    /* index of the tensor with the rounded operand (fused.h), or 0 */
    } operand[DG_MAX_OPERANDS];
    union {
        dg_conv_args conv;
        dg_group_args group;
        dg_norm_stats_args norm_stats;
        dg_norm_frozen_args norm_frozen;
        dg_norm_act_args norm_act;
        dg_act_args act;
        dg_bias_act_args bias_act;
        dg_add_args add;
        dg_dropout_args dropout;
        dg_pool_args pool;
        dg_resample_args resample;
        dg_softmax_args softmax;
        dg_gan_loss_args gan_loss;
        dg_adam_args adam;
        dg_update_args update;
        dg_ema_args ema;
        dg_gather_args gather;
        dg_augment_args augment;
        dg_spectral_args spectral;
        dg_fill_args fill;
        dg_mix_args mix;
        dg_bias_dw_args bias_dw;
        dg_penalty_args penalty;
        dg_onehot_args onehot;
        dg_pick_args pick;
        dg_shard_sum_args shard_sum;
        dg_shard_running_args shard_running;
        dg_shard_collect_args shard_collect;
        dg_shard_metrics_args shard_metrics;
        dg_shard_message_args shard_message;
        dg_noise_args noise;
        dg_to_u8_args to_u8;
        dg_advance_args advance;
    } u;
} dg_op;
