#include "reference.h"

#include <math.h>
#include <string.h>
#include "core/base/rng.h"

typedef struct {
    long double loss, prob, slope;
} term;

static long double share_of(const dg_gan_loss_args *a, long double d)
{
    const long double part = (d - a->low) / (1 - a->low);
    return part < 0 ? 0 : part > 1 ? 1 : part;
}

static long double mean_of(const double *l, int n)
{
    long double sum = 0;
    for (int i = 0; i < n; i++) sum += l[i];
    return sum / n;
}

static long double softplus(long double v) { return fmaxl(v, 0) + log1pl(expl(-fabsl(v))); }

static term gan_term(const dg_gan_loss_args *a, int i)
{
    const double *logit = a->logit, *other = a->other;
    const long double l = logit[i], t = a->target, margin = 1 - t * l;
    switch (a->form) {
    case DG_GAN_CROSS:
        return (term){fmaxl(l, 0) - l * t + log1pl(expl(-fabsl(l))), 1 / (1 + expl(-l)), 1 / (1 + expl(-l)) - t};
    case DG_GAN_SQUARES: return (term){powl(l - t, 2) / 2, share_of(a, l), l - t};
    case DG_GAN_HINGE:
        return (term){margin <= 0 ? 0 : margin, share_of(a, l), margin <= 0 ? 0 : margin > 0 ? -t : margin};
    case DG_GAN_SCORE: return (term){-t * l, share_of(a, l), -t};
    case DG_GAN_AVERAGE: {
        const long double ours = mean_of(logit, a->n), d = l - mean_of(other, a->n);
        term r = {powl(d - t, 2) / 2 + (a->both ? powl(other[i] - ours + t, 2) / 2 : 0), share_of(a, d), d - t};
        /* adds the gradient of the loss of `other`, which contains the mean of `logit` */
        for (int k = 0; k < a->n; k++) r.slope -= (other[k] - ours + t) / a->n;
        return r;
    }
    case DG_GAN_PAIRS: {
        const long double e = l - other[i];
        return (term){(a->both ? 1 : 0.5L) * softplus(-t * e), 1 / (1 + expl(-e)), -t / (1 + expl(t * e))};
    }
    }
    return (term){NAN, NAN, NAN};
}

void dg_ref_gan_loss(const dg_gan_loss_args *a)
{
    long double loss = 0, prob = 0;
    for (int i = 0; i < a->n; i++) {
        const term r = gan_term(a, i);
        loss += r.loss;
        prob += r.prob;
        ((double *)a->dlogit)[i] = (double)(r.slope / a->n);
    }
    a->ring[a->state->step % DG_RING].value[a->loss] = (double)(loss / a->n);
    a->ring[a->state->step % DG_RING].value[a->prob] = (double)(prob / a->n);
}

void dg_ref_ema(const dg_ema_args *a)
{
    const double t = (double)a->state->step, d = fmin(a->state->ema, t / (t + 10)), *p = a->p;
    double *average = a->average;
    for (int64_t i = 0; i < a->n; i++) average[i] = t > 0 ? d * average[i] + (1 - d) * p[i] : p[i];
}

/* Draws image n's random numbers in [0, 1). Returns the set of augmentations that apply to image n. */
static int draw(double u[8], const dg_augment_args *a, int n)
{
    const uint64_t stream = (uint64_t)DG_STREAM_AUGMENT << 56 | (uint64_t)a->order << 40 | a->state->step;
    for (int i = 0; i < 8; i++) {
        uint32_t word[4];
        dg_philox(word, a->state->seed, stream, 2 * (uint64_t)n + (uint64_t)i / 4);
        u[i] = ldexp((double)word[i % 4], -32);
    }
    int what = 0;
    uint32_t chance[4];
    dg_philox(chance, a->state->seed, stream, ((uint64_t)1 << 32) + (uint64_t)n);
    for (int i = 0; i < 3; i++) what |= chance[i] < ldexp(a->state->augment, 32) ? a->what & 1 << i : 0;
    return what;
}

/* Augments image n by colours, shift and box, in this order. If `back` is true, the adjoint steps run in reverse order
 * on dy and add each value to its sources. */
static void augment(const dg_augment_args *a, int n, bool back)
{
    const int P = a->H * a->W, C = a->C, colours = C == 4 ? 3 : C;
    const int64_t at = (int64_t)n * P * C;
    double u[8], *y = (back ? (double *)a->dx : (double *)a->y) + at;
    const double *x = (back ? (const double *)a->dy : (const double *)a->x) + at;
    const int what = draw(u, a, a->first + n);
    const bool color = what & DG_AUGMENT_COLOR;
    const double bias = color ? u[0] - 0.5 : 0, s = color ? 2 * u[1] : 1, k = color ? u[2] + 0.5 : 1;
    const int my = (int)floor(a->H / 8.0 + 0.5), mx = (int)floor(a->W / 8.0 + 0.5), by = (int)floor(a->H / 2.0 + 0.5),
              bx = (int)floor(a->W / 2.0 + 0.5);
    const bool moves = what & DG_AUGMENT_TRANSLATION, cuts = what & DG_AUGMENT_CUTOUT;
    const int ty = moves ? (int)floor(u[3] * (2 * my + 1)) - my : 0,
              tx = moves ? (int)floor(u[4] * (2 * mx + 1)) - mx : 0;
    const int top = (int)floor(u[5] * (a->H + 1 - by % 2)) - by / 2,
              left = (int)floor(u[6] * (a->W + 1 - bx % 2)) - bx / 2;
    double image = 0;
    for (int p = 0; p < P && !back && color; p++)
        for (int c = 0; c < colours; c++) image += (x[p * C + c] + bias) / P / colours;
    memset(y, 0, (size_t)P * (size_t)C * sizeof *y);
    for (int i = 0; i < a->H; i++)
        for (int j = 0; j < a->W; j++) {
            const int from = (i + ty) * a->W + j + tx, to = i * a->W + j;
            const bool inside = i + ty >= 0 && i + ty < a->H && j + tx >= 0 && j + tx < a->W;
            if (!inside || (cuts && i >= top && i < top + by && j >= left && j < left + bx)) continue;
            for (int c = 0; c < C; c++) {
                if (c >= colours) {
                    y[(back ? from : to) * C + c] = x[(back ? to : from) * C + c];
                    continue;
                }
                double pixel = 0;
                for (int e = 0; e < colours; e++) pixel += (x[from * C + e] + bias) / colours;
                const double vivid = (x[from * C + c] + bias - pixel) * s + pixel;
                if (!back) y[to * C + c] = (vivid - image) * k + image;
                const double g = x[to * C + c];
                for (int q = color ? 0 : from; back && q < (color ? P : from + 1); q++)
                    for (int e = 0; e < colours; e++)
                        y[q * C + e] += g * ((1 - k) / P / colours +
                                             (q == from ? k * ((e == c ? s : 0) + (1 - s) / colours) : 0));
            }
        }
}

void dg_ref_augment(const dg_augment_args *a)
{
    for (int n = 0; n < a->N; n++) augment(a, n, false);
}

void dg_ref_augment_dx(const dg_augment_args *a)
{
    for (int n = 0; n < a->N; n++) augment(a, n, true);
}

static long double length_of(const double *x, int n)
{
    long double squares = 0;
    for (int i = 0; i < n; i++) squares += (long double)x[i] * x[i];
    return sqrtl(squares);
}

void dg_ref_spectral(const dg_spectral_args *a)
{
    const double *w = a->w;
    double *u = a->u, *v = a->v;
    long double sigma = 0;
    for (int c = 0; c < a->cols && a->iterate; c++) {
        long double sum = 0;
        for (int r = 0; r < a->rows; r++) sum += (long double)w[r * a->cols + c] * u[r];
        v[c] = (double)sum;
    }
    const long double by = fmaxl(length_of(v, a->cols), a->eps);
    for (int c = 0; c < a->cols && a->iterate; c++) v[c] = (double)(v[c] / by);
    for (int r = 0; r < a->rows && a->iterate; r++) {
        long double sum = 0;
        for (int c = 0; c < a->cols; c++) sum += (long double)w[r * a->cols + c] * v[c];
        u[r] = (double)sum;
    }
    const long double length = fmaxl(length_of(u, a->rows), a->eps);
    for (int r = 0; r < a->rows && a->iterate; r++) u[r] = (double)(u[r] / length);
    for (int i = 0; i < a->rows * a->cols; i++) sigma += (long double)u[i / a->cols] * w[i] * v[i % a->cols];
    *(double *)a->sigma = (double)sigma;
    for (int i = 0; i < a->rows * a->cols; i++) ((double *)a->wn)[i] = (double)(w[i] / sigma);
}

void dg_ref_spectral_dw(const dg_spectral_args *a)
{
    const double *dwn = a->dwn, *wn = a->wn, *u = a->u, *v = a->v, sigma = *(const double *)a->sigma;
    long double sum = 0;
    for (int i = 0; i < a->rows * a->cols; i++) sum += (long double)dwn[i] * wn[i];
    for (int i = 0; i < a->rows * a->cols; i++)
        ((double *)a->dw)[i] = (double)((dwn[i] - sum * u[i / a->cols] * v[i % a->cols]) / sigma);
}

void dg_ref_mix(const dg_mix_args *a)
{
    for (int n = 0; n < a->N; n++)
        for (int64_t i = (int64_t)n * a->each; i < (int64_t)(n + 1) * a->each; i++)
            ((double *)a->y)[i] = ((double *)a->s)[n] * ((double *)a->a)[i] +
                                  (n < a->first ? a->state->penalty[0] / a->first
                                                : a->state->penalty[1] / (a->N - a->first)) *
                                      ((double *)a->t)[i];
}

void dg_ref_bias_dw(const dg_bias_dw_args *a)
{
    const int pixels = a->H * a->W;
    for (int c = 0; c < a->C; c++) {
        long double all = 0;
        for (int n = 0; n < a->N; n++) {
            long double sum = 0;
            for (int p = 0; p < pixels; p++) sum += ((double *)a->g)[((int64_t)n * pixels + p) * a->C + c];
            ((double *)a->each)[(int64_t)n * a->C + c] = (double)sum;
            all += sum * ((double *)a->s)[n];
        }
        ((double *)a->db)[c] = (double)all;
    }
}

void dg_ref_penalty(const dg_penalty_args *a)
{
    double *value = a->ring[a->state->step % DG_RING].value, *x = a->x;
    value[a->r1] = (double)mean_of(x, a->first);
    value[a->r2] = (double)mean_of(x + a->first, a->n - a->first);
}

void dg_ref_fill(const dg_fill_args *a)
{
    for (int64_t i = 0; i < a->n; i++) ((double *)a->y)[i] = a->value;
}

void dg_ref_onehot(const dg_onehot_args *a)
{
    for (int i = 0; i < a->N * a->width; i++) ((double *)a->y)[i] = 0;
    for (int i = 0; i < a->N * a->latent; i++)
        ((double *)a->y)[i / a->latent * a->width + i % a->latent] = ((double *)a->z)[i];
    for (int n = 0; n < a->N; n++) ((double *)a->y)[n * a->width + a->latent + a->label[n]] = 1;
}

/* The weight of logit c of image n in the picked logit. */
static double pick_weight(const dg_pick_args *a, int n, int c)
{
    if (c == a->width - 1) return 1;
    return a->label[n % a->labels] == c ? a->state ? a->state->classes : 1 : 0;
}

void dg_ref_pick(const dg_pick_args *a)
{
    for (int n = 0; n < a->N; n++) {
        double sum = 0;
        for (int c = 0; c < a->width; c++)
            if (pick_weight(a, n, c) != 0) sum += pick_weight(a, n, c) * ((double *)a->x)[n * a->width + c];
        ((double *)a->y)[n] = sum;
    }
}

void dg_ref_pick_dx(const dg_pick_args *a)
{
    for (int n = 0; n < a->N; n++)
        for (int c = 0; c < a->width; c++) {
            const double w = pick_weight(a, n, c);
            ((double *)a->dx)[n * a->width + c] = w != 0 ? w * ((double *)a->dy)[n] : 0;
        }
}

/* The sum of shards `from` to `to` - 1 of value i, whose number is a power of two. */
static double shard_sum(const dg_shard_sum_args *a, int from, int to, int64_t i)
{
    if (to - from == 1) return ((double *)a->g)[from * a->n + i];
    const int middle = (from + to) / 2;
    return shard_sum(a, from, middle, i) + shard_sum(a, middle, to, i);
}

void dg_ref_shard_sum(const dg_shard_sum_args *a)
{
    for (int64_t i = 0; i < a->n; i++) ((double *)a->g)[i] = a->factor * shard_sum(a, 0, a->shards, i);
}

void dg_ref_shard_running(const dg_shard_running_args *a)
{
    for (int i = 0; i < a->groups * a->C; i++) {
        long double mean = 0, var = 0;
        for (int k = 0; k < a->shards; k++) {
            const double *x = (double *)a->x + k * a->each + a->at + i;
            mean += x[0];
            var += fmax(0, pow(x[a->groups * a->C], -2) - a->eps) * a->count / (a->count - 1);
        }
        double *m = (double *)a->running_mean + i % a->C, *v = (double *)a->running_var + i % a->C;
        *m += a->momentum * ((double)mean / a->shards - *m);
        *v += a->momentum * ((double)var / a->shards - *v);
    }
}

void dg_ref_shard_collect(const dg_shard_collect_args *a)
{
    for (int i = 0; i < a->n && i < DG_METRICS_MAX; i++) {
        if (a->taken & 1 << i) ((double *)a->x)[i] = a->ring[a->state->step % DG_RING].value[i];
        if (a->cleared & 1 << i) ((double *)a->x)[i] = 0;
    }
}

void dg_ref_shard_metrics(const dg_shard_metrics_args *a)
{
    for (int i = 0; i < DG_METRICS_MAX; i++) {
        if (!((a->means | a->sums) & 1 << i)) continue;
        double sum = 0;
        for (int k = 0; k < a->shards; k++) sum += ((double *)a->x)[k * a->each + i];
        a->ring[a->state->step % DG_RING].value[i] = a->means & 1 << i ? sum / a->shards : sum;
    }
}

void dg_ref_shard_exchange(const dg_shard_message_args *a)
{
    for (int64_t i = 0; i < a->n; i++) ((double *)a->x)[i] = ((double *)a->g)[i];
}

void dg_ref_shard_share(const dg_shard_message_args *a) { (void)a; }
