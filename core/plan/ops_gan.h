/* Ops of GANs: losses, gradient penalties, averages of weights, augmentation, spectral norm. ops.h states the
 * conventions. */
#pragma once

/* GAN losses and their gradients. D's target is 1 for real images and `low` for samples. The op's `target` is 1 or
 * `low`. With l = logit, d_i = l_i - mean(other) and e_i = l_i - other_i:
 *   DG_GAN_CROSS has loss = mean(max(l,0) - l target + log1p(exp(-|l|))), dlogit = (sigmoid(l) - target) / n.
 *   DG_GAN_SQUARES (Mao et al. 2017) has loss = mean((l - target)^2) / 2, dlogit = (l - target) / n.
 *   DG_GAN_HINGE has loss = mean(max(0, 1 - target l)), dlogit = -target / n where the term is above 0, else 0.
 *   DG_GAN_SCORE (G's loss of Lim & Ye 2017) has loss = -target mean(l), dlogit = -target / n.
 *   DG_GAN_AVERAGE has loss = mean((d - target)^2) / 2, dlogit_i = (d_i - target + mean(d) - target) / n.
 *   DG_GAN_PAIRS has loss = mean(softplus(-target e)) / 2, dlogit_i = -target sigmoid(-target e_i) / n.
 * DG_GAN_AVERAGE and DG_GAN_PAIRS have low = -1 and compute half of a relativistic loss (Jolicoeur-Martineau 2019). A
 * second op, with `logit` and `other` exchanged and `target` negated, computes the other half. dlogit is the gradient
 * of the sum of both halves. If `both` is set, loss is the sum of both halves. Metric prob is from 0 to 1:
 * mean(sigmoid(l)) for DG_GAN_CROSS, mean(sigmoid(e)) for DG_GAN_PAIRS, mean(clamp((d + 1) / 2, 0, 1)) for
 * DG_GAN_AVERAGE, else mean(clamp((l - low) / (1 - low), 0, 1)). Sums are in double and index order.
 * Writes ring[step % DG_RING].value[loss] and .value[prob].
 *
 * X(NAME, FLOPs per logit) */
#define DG_GAN_FORMS(X) X(CROSS, 12) X(SQUARES, 9) X(HINGE, 9) X(SCORE, 9) X(AVERAGE, 14) X(PAIRS, 13)
typedef enum {
#define X(NAME, flops) DG_GAN_##NAME,
    DG_GAN_FORMS(X)
#undef X
} dg_gan_form;
#define X(...) +1
enum { DG_GAN_FORM_KINDS = 0 DG_GAN_FORMS(X) };
#undef X
typedef struct {
    void *dlogit;     /* out (n) */
    dg_metrics *ring; /* out, ring of DG_RING metrics */
    void *logit;      /* in (n) */
    void *other;      /* in (n), or NULL */
    const dg_step_state *state;
    int n;
    dg_gan_form form;
    int both;
    double target, low;
    int loss, prob;
} dg_gan_loss_args;

/* Moving average of the weights p: average += (1 - d) (p - average), where d = min(state->ema, step / (step + 10)).
 * Shapes: average (n), updated in place; p (n). */
typedef struct {
    void *average;
    void *p;
    const dg_step_state *state;
    int64_t n;
} dg_ema_args;

/* Differentiable augmentation (Zhao et al. 2020; kernels/ops/augment/augment.h). augment_dx computes dx from dy.
 * Images are numbered from n = first.
 * The words of blocks 2n and 2n + 1 of dg_philox(seed, (DG_STREAM_AUGMENT, order << 40 | step)), divided by 2^32, are
 * uniform numbers u_0 to u_6 for image n. Transformation q = 0, 1, 2 changes image n with probability state->augment:
 * if word q of Philox block 2^32 + n is less than 2^32 state->augment. The transformations are, in this order:
 *   DG_AUGMENT_COLOR computes c = k (s x + (1 - s) mean_of_pixel(x)) + (1 - k) mean_of_image(x) + b.
 *   Brightness is b = u_0 - 1/2, saturation s = 2 u_1, and contrast k = u_2 + 1/2. The fourth channel, alpha, is kept.
 *   DG_AUGMENT_TRANSLATION: y[i][j] = c[i + ty][j + tx], and 0 outside; ty, tx from -m to m, m = floor(H / 8 + 1/2).
 *   DG_AUGMENT_CUTOUT sets h = floor(H / 2 + 1/2) rows to 0, from row o - floor(h / 2), with o from 0 to H - h % 2.
 *   The columns of the box are chosen like its rows.
 * Shapes: x, y, dx, dy (N, H, W, C), C <= DG_CHANNELS_MAX. Sums are in double. */
enum { DG_AUGMENT_COLOR = 1, DG_AUGMENT_TRANSLATION = 2, DG_AUGMENT_CUTOUT = 4 };
typedef struct {
    void *y, *x;
    void *dx, *dy;
    const dg_step_state *state;
    int N, H, W, C;
    int what;
    int order; /* index of this op among the augmentations of a training step */
    int first; /* number of the first image, for random numbers */
} dg_augment_args;

/* Gradient penalties (host/net/penalty.h). Op `fill` sets y = value, y (n). */
typedef struct {
    void *y;
    int64_t n;
    double value;
} dg_fill_args;

/* Op mix writes y[n][i] = s[n] a[n][i] + k t[n][i], where k = state->penalty[0] / first for images n < first, else
 * k = state->penalty[1] / (N - first). 0 < first < N; y may be a or t. Shapes: y, a, t (N, each); s (N). */
typedef struct {
    void *y;
    void *s, *a, *t;
    const dg_step_state *state;
    int N, each, first;
} dg_mix_args;

/* The gradient of biases with a factor s[n] per image: db[c] = sum over n of s[n] each[n][c], where each[n][c] = sum
 * over pixels of g. Sums are in double. Shapes: db (C), each (N, C); g (N, H, W, C), s (N). */
typedef struct {
    void *db, *each;
    void *g, *s;
    int N, H, W, C;
} dg_bias_dw_args;

/* Op penalty computes the means of x[0] ... x[first - 1] and of x[first] ... x[n - 1], in double and index order.
 * Stores the means in ring[step % DG_RING].value[r1] and .value[r2]. 0 < first < n; x (n). */
typedef struct {
    dg_metrics *ring; /* out, ring of DG_RING metrics */
    void *x;
    const dg_step_state *state;
    int n, first;
    int r1, r2;
} dg_penalty_args;

/* Class-conditional GANs. Op `onehot` writes the input of G: y[n] = (z[n], e), where the `classes` values of e are 1 at
 * label[n] and else 0. Labels are 0 to classes - 1. Shapes: y (N, width), width = latent + classes; z (N, latent);
 * label (N). */
typedef struct {
    void *y;
    void *z;
    const int32_t *label;
    int N, width, latent;
} dg_onehot_args;

/* The logits of a conditional D (Miyato & Koyama 2018): logit number `classes` is that of D without classes, and the
 * logits before it belong to one class each. With c = label[n % labels] and k = state->classes, or 1 without a state:
 *   `pick` writes y[n] = x[n][classes] + k x[n][c].
 *   `pick_dx` writes dx[n][classes] = dy[n], dx[n][c] = k dy[n], and 0 for other classes.
 * Shapes: x, dx (N, width), width = classes + 1; y, dy (N); label (labels). N is a multiple of `labels`. */
typedef struct {
    void *y;
    void *dx;
    void *x, *dy;
    const int32_t *label;
    const dg_step_state *state;
    int N, width, labels;
} dg_pick_args;

/* Spectral norm of weights (Miyato et al. 2018), with |.| the Euclidean norm. W is w as a matrix, one row per filter. u
 * and v approximate the first singular vectors of W. If `iterate` is set, `spectral` first updates u and v in place:
 *   v = W^T u / max(|W^T u|, eps), then u = W v / max(|W v|, eps).
 *   `spectral` writes sigma = u^T W v and wn = W / sigma. wn is not finite if all weights are 0.
 *   `spectral_dw` computes dw, the gradient with respect to w, from dwn, with constant u and v.
 *   The result is dw = (dwn - sum(dwn wn) u v^T) / sigma.
 * Shapes: w, wn, dw, dwn (rows, cols); sigma (1); u (rows); v (cols). */
typedef struct {
    void *wn;
    void *sigma;
    void *u, *v;
    void *w;
    void *dw;
    void *dwn;
    void *scratch;
    int rows, cols, iterate;
    double eps;
} dg_spectral_args;
