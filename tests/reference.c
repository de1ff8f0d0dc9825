#include "reference.h"

#include <math.h>
#include <string.h>
#include "core/base/rng.h"
#include "reference_conv.h"

static double act_of(dg_act act, double slope, double z)
{
    switch (act) {
    case DG_ACT_RELU: return z > 0 ? z : 0 * z;
    case DG_ACT_LEAKY: return z > 0 ? z : slope * z;
    case DG_ACT_TANH: return tanh(z);
    case DG_ACT_NONE: return z;
    }
    return NAN;
}

/* Returns act'(z), given y = act(z). */
static double slope_of(dg_act act, double slope, double y)
{
    switch (act) {
    case DG_ACT_RELU: return y > 0 ? 1 : 0;
    case DG_ACT_LEAKY: return y > 0 ? 1 : slope;
    case DG_ACT_TANH: return 1 - y * y;
    case DG_ACT_NONE: return 1;
    }
    return NAN;
}

void dg_ref_act(const dg_act_args *a)
{
    for (int64_t i = 0; i < a->n; i++) ((double *)a->y)[i] = act_of(a->act, a->slope, ((double *)a->x)[i]);
}

void dg_ref_act_dx(const dg_act_args *a)
{
    for (int64_t i = 0; i < a->n; i++)
        ((double *)a->dx)[i] = ((double *)a->dy)[i] * slope_of(a->act, a->slope, ((double *)a->y)[i]);
}

void dg_ref_norm_stats(const dg_norm_stats_args *a)
{
    const double *x = a->x;
    double *mean = a->mean, *rstd = a->rstd, *rm = a->running_mean, *rv = a->running_var;
    int rows = a->N / a->groups * a->H * a->W;
    for (int g = 0; g < a->groups; g++)
        for (int c = 0; c < a->C; c++) {
            const double *first = x + (int64_t)g * rows * a->C + c;
            long double sum = 0, squares = 0; /* long double makes the results exact as double */
            for (int r = 0; r < rows; r++) sum += first[(int64_t)r * a->C];
            for (int r = 0; r < rows; r++) squares += powl(first[(int64_t)r * a->C] - sum / rows, 2);
            double m = (double)(sum / rows), v = (double)squares;
            mean[g * a->C + c] = m;
            rstd[g * a->C + c] = 1 / sqrt(v / rows + a->eps);
            if (!rm) continue;
            rm[c] = (1 - a->momentum) * rm[c] + a->momentum * m;
            rv[c] = (1 - a->momentum) * rv[c] + a->momentum * v / (rows - 1);
        }
}

void dg_ref_norm_frozen(const dg_norm_frozen_args *a)
{
    for (int c = 0; c < a->C; c++) {
        ((double *)a->mean)[c] = ((double *)a->running_mean)[c];
        ((double *)a->rstd)[c] = 1 / sqrt(((double *)a->running_var)[c] + a->eps);
    }
}

void dg_ref_norm_act(const dg_norm_act_args *a)
{
    const double *x = a->x, *mean = a->mean, *rstd = a->rstd, *gamma = a->gamma, *beta = a->beta;
    int64_t rows = (int64_t)a->N * a->H * a->W;
    for (int64_t r = 0; r < rows; r++)
        for (int c = 0; c < a->C; c++) {
            int64_t s = r / (rows / a->groups) * a->C + c;
            double z = gamma[c] * (x[r * a->C + c] - mean[s]) * rstd[s] + beta[c];
            ((double *)a->y)[r * a->C + c] = act_of(a->act, a->slope, z);
        }
}

void dg_ref_norm_act_dx(const dg_norm_act_args *a)
{
    const double *x = a->x, *dy = a->dy, *mean = a->mean, *rstd = a->rstd, *gamma = a->gamma, *beta = a->beta;
    int64_t rows = (int64_t)a->N * a->H * a->W / a->groups;
    for (int c = 0; c < a->C; c++) {
        double dgamma = 0, dbeta = 0;
        for (int g = 0; g < a->groups; g++) {
            int64_t s = (int64_t)g * a->C + c, at = (int64_t)g * rows * a->C + c;
            long double sum_g = 0, sum_gx = 0;
            for (int pass = 0; pass < 2; pass++)
                for (int64_t r = 0; r < rows; r++) {
                    int64_t i = at + r * a->C;
                    double xhat = (x[i] - mean[s]) * rstd[s];
                    double d = dy[i] * slope_of(a->act, a->slope, gamma[c] * xhat + beta[c]);
                    if (pass == 0) {
                        sum_g += d;
                        sum_gx += d * xhat;
                    } else
                        ((double *)a->dx)[i] = gamma[c] * rstd[s] *
                                               (d - (double)(sum_g / rows) - xhat * (double)(sum_gx / rows));
                }
            dgamma += (double)sum_gx;
            dbeta += (double)sum_g;
        }
        if (a->dgamma) ((double *)a->dgamma)[c] = dgamma;
        if (a->dbeta) ((double *)a->dbeta)[c] = dbeta;
    }
}

void dg_ref_softmax(const dg_softmax_args *a)
{
    double loss = 0, right = 0;
    for (int64_t n = 0; n < a->N; n++) {
        const double *l = (const double *)a->logit + n * a->C;
        int top = 0;
        for (int c = 0; c < a->C; c++) top = l[c] > l[top] ? c : top;
        long double sum = 0, one = 0; /* `one` is the loss of a row, -sum_c q_c log p_c */
        for (int c = 0; c < a->C; c++) sum += expl((long double)l[c] - l[top]);
        for (int c = 0; c < a->C; c++) {
            const long double log_p = (long double)l[c] - l[top] - logl(sum), p = expl(log_p);
            const long double q =
                !a->label ? 0 : (1 - (long double)a->smoothing) * (c == a->label[n]) + (long double)a->smoothing / a->C;
            if (a->p) ((double *)a->p)[n * a->C + c] = (double)p;
            if (a->dlogit) ((double *)a->dlogit)[n * a->C + c] = (double)((p - q) / a->N);
            one -= q > 0 ? q * log_p : 0 * p;
        }
        if (a->each) ((double *)a->each)[n] = (double)one;
        loss += (double)one;
        right += a->label && top == a->label[n] && !isnan(one);
    }
    if (!a->ring) return;
    a->ring[a->state->step % DG_RING].value[a->loss] = loss / a->N;
    a->ring[a->state->step % DG_RING].value[a->right] = right / a->N;
}

void dg_ref_bias_act(const dg_bias_act_args *a)
{
    const double *x = a->x, *b = a->b;
    for (int64_t i = 0; i < (int64_t)a->N * a->H * a->W * a->C; i++)
        ((double *)a->y)[i] = act_of(a->act, a->slope, x[i] + b[i % a->C]);
}

void dg_ref_bias_act_dx(const dg_bias_act_args *a)
{
    const double *dy = a->dy, *y = a->y;
    for (int c = 0; c < a->C; c++) {
        long double sum = 0;
        for (int64_t i = c; i < (int64_t)a->N * a->H * a->W * a->C; i += a->C)
            sum += ((double *)a->dx)[i] = dy[i] * slope_of(a->act, a->slope, y[i]);
        if (a->db) ((double *)a->db)[c] = (double)sum;
    }
}

void dg_ref_add(const dg_add_args *a)
{
    for (int64_t i = 0; i < a->n; i++)
        ((double *)a->y)[i] = act_of(a->act, a->slope, ((double *)a->a)[i] + ((double *)a->b)[i]);
}

void dg_ref_dropout(const dg_dropout_args *a)
{
    for (int64_t i = 0; i < a->n; i++) {
        uint32_t word[4];
        const uint64_t stream = (uint64_t)DG_STREAM_DROPOUT << 56 | (uint64_t)a->layer << 40 | a->state->step;
        dg_philox(word, a->state->seed, stream, (uint64_t)(a->first + i) / 4);
        const bool kept = ldexp((double)word[(a->first + i) % 4], -32) >= a->p;
        ((double *)a->y)[i] = kept ? ((double *)a->x)[i] / (1 - a->p) : 0;
    }
}

void dg_ref_adam(const dg_adam_args *a)
{
    double *p = a->p, *m = a->m, *v = a->v, t = (double)a->state->step + 1, bad = 0;
    const double *g = a->g;
    for (int64_t i = 0; i < a->n; i++) {
        m[i] = m[i] + (1 - a->beta1) * (g[i] - m[i]);
        v[i] = a->state->beta2 * v[i] + (1 - a->state->beta2) * g[i] * g[i];
        p[i] -= a->state->lr[a->net] / (1 - pow(a->beta1, t)) * m[i] /
                (sqrt(v[i]) / sqrt(1 - pow(a->state->beta2, t)) + a->eps);
        bad += !isfinite(p[i]);
    }
    a->ring[a->state->step % DG_RING].value[a->bad] = bad;
}

static void update(dg_op_kind kind, const dg_update_args *a)
{
    double *p = a->p, *m = a->m, *v = a->v, lr = a->state->lr[a->net], bad = 0;
    for (int64_t i = 0; i < a->n; i++) {
        const double g = ((const double *)a->g)[i] + (i < a->decayed ? a->decay * p[i] : 0);
        double step = g;
        if (kind == DG_OP_sgd && m) {
            m[i] = a->momentum * m[i] + g;
            step = a->nesterov ? g + a->momentum * m[i] : m[i];
        }
        if (kind == DG_OP_adagrad) {
            v[i] += g * g;
            step = g / (sqrt(v[i]) + a->eps);
        }
        if (kind == DG_OP_adadelta) {
            v[i] = a->rho * v[i] + (1 - a->rho) * g * g;
            step = g * sqrt(m[i] + a->eps) / sqrt(v[i] + a->eps);
            m[i] = a->rho * m[i] + (1 - a->rho) * step * step;
        }
        p[i] -= lr * step;
        bad += !isfinite(p[i]);
    }
    a->ring[a->state->step % DG_RING].value[a->bad] = bad;
}

void dg_ref_sgd(const dg_update_args *a) { update(DG_OP_sgd, a); }
void dg_ref_adagrad(const dg_update_args *a) { update(DG_OP_adagrad, a); }
void dg_ref_adadelta(const dg_update_args *a) { update(DG_OP_adadelta, a); }

/* Returns value i of a dataset record whose values have `cell` bytes. */
static double value_of(const dg_gather_args *a, const uint8_t *record, int i, int cell)
{
    double wide;
    float narrow;
    if (cell == 1) return record[i] / a->dev[i % a->C] - a->shift[i % a->C];
    memcpy(&narrow, record + i * cell, sizeof narrow);
    if (cell == sizeof narrow) return (double)narrow;
    memcpy(&wide, record + i * cell, sizeof wide);
    return wide;
}

void dg_ref_gather(const dg_gather_args *a)
{
    const int count = a->H * a->W * a->C, cell = a->prepared ? (int)(a->record - (a->label ? 4 : 0)) / count : 1;
    for (int n = 0; n < a->N; n++) {
        uint32_t word[4];
        const int place = a->first + n;
        dg_philox(word, a->state->seed, (uint64_t)DG_STREAM_FLIP << 56 | a->state->step, (uint64_t)(place / 4));
        bool mirror = a->flip && word[place % 4] % 2;
        const uint8_t *record = a->data + a->perm[a->state->cursor + place] * a->record;
        uint32_t label = 0;
        for (int i = 3; i >= 0 && a->label; i--) label = label * 256 + record[count * cell + i];
        if (a->label) a->label[n] = (int32_t)label;
        for (int h = 0; h < a->H; h++)
            for (int w = 0; w < a->W; w++)
                for (int c = 0; c < a->C; c++) {
                    int from = mirror ? a->W - 1 - w : w;
                    ((double *)a->x)[((n * a->H + h) * a->W + w) * a->C + c] =
                        value_of(a, record, (h * a->W + from) * a->C + c, cell);
                }
    }
}

void dg_ref_noise(const dg_noise_args *a)
{
    uint64_t step = a->stream == DG_STREAM_NOISE ? a->state->step : a->first_step;
    for (int64_t i = 0; i < a->n; i++) {
        float four[4];
        dg_normal4(four, a->state->seed, dg_subsequence(a->stream, step), (uint64_t)(a->first + i) / 4);
        ((double *)a->z)[i] = (double)four[(a->first + i) % 4];
    }
}

void dg_ref_to_u8(const dg_to_u8_args *a)
{
    for (int64_t i = 0; i < a->n; i++)
        a->out[i] = (uint8_t)fmin(fmax(floor((((double *)a->x)[i] + 1) * 127.5 + 0.5), 0), 255);
}

void dg_ref_maxpool(const dg_pool_args *a)
{
    const double *x = a->x;
    for (int64_t i = 0; i < (int64_t)a->N * a->Ho * a->Wo * a->C; i++) {
        const int c = (int)(i % a->C), ox = (int)(i / a->C % a->Wo), oy = (int)(i / a->C / a->Wo % a->Ho);
        const int64_t n = i / a->C / a->Wo / a->Ho;
        double best = -INFINITY;
        int place = -1;
        for (int k = 0; k < a->K * a->K && !isnan(best); k++) {
            const int iy = oy * a->S - a->P + k / a->K, ix = ox * a->S - a->P + k % a->K;
            if (iy < 0 || iy >= a->H || ix < 0 || ix >= a->W) continue;
            const double v = x[((n * a->H + iy) * a->W + ix) * a->C + c];
            if (place < 0 || v > best || isnan(v)) best = v, place = k;
        }
        ((double *)a->y)[i] = best;
        a->place[i] = (uint8_t)place;
    }
}

void dg_ref_maxpool_dx(const dg_pool_args *a)
{
    double *dx = a->dx;
    for (int64_t i = 0; i < (int64_t)a->N * a->H * a->W * a->C; i++) dx[i] = 0;
    for (int64_t i = 0; i < (int64_t)a->N * a->Ho * a->Wo * a->C; i++) {
        const int c = (int)(i % a->C), ox = (int)(i / a->C % a->Wo), oy = (int)(i / a->C / a->Wo % a->Ho);
        const int64_t n = i / a->C / a->Wo / a->Ho;
        const int iy = oy * a->S - a->P + a->place[i] / a->K, ix = ox * a->S - a->P + a->place[i] % a->K;
        if (iy < 0 || iy >= a->H || ix < 0 || ix >= a->W) continue; /* padding is never a window's maximum */
        dx[((n * a->H + iy) * a->W + ix) * a->C + c] += ((const double *)a->dy)[i];
    }
}

/* Mean pooling forward and backward, one term at a time. Backward, each window adds dy / (K * columns) to its pixels.
 */
static void meanpool(const dg_pool_args *a, bool backward)
{
    const int64_t results = (int64_t)a->N * a->Ho * a->Wo * a->C, values = (int64_t)a->N * a->H * a->W * a->C;
    const int columns = dg_pool_columns(a);
    memset(backward ? a->dx : a->y, 0, (size_t)(backward ? values : results) * sizeof(double));
    for (int64_t i = 0; i < results; i++) {
        const int c = (int)(i % a->C), ox = (int)(i / a->C % a->Wo), oy = (int)(i / a->C / a->Wo % a->Ho);
        const int64_t n = i / a->C / a->Wo / a->Ho;
        for (int iy = oy * a->S - a->P; iy < oy * a->S - a->P + a->K; iy++)
            for (int ix = ox * a->S - a->P; ix < ox * a->S - a->P + columns; ix++) {
                if (iy < 0 || iy >= a->H || ix < 0 || ix >= a->W) continue;
                const int64_t at = ((n * a->H + iy) * a->W + ix) * a->C + c;
                if (backward) ((double *)a->dx)[at] += ((const double *)a->dy)[i] / a->K / columns;
                else ((double *)a->y)[i] += ((const double *)a->x)[at] / a->K / columns;
            }
    }
}

void dg_ref_meanpool(const dg_pool_args *a) { meanpool(a, false); }
void dg_ref_meanpool_dx(const dg_pool_args *a) { meanpool(a, true); }

/* Resamples one term at a time. Each pixel of the smaller image has terms with 4 x 4 pixels of the larger image. */
static void resample(const dg_resample_args *a, bool up)
{
    static const double filter[] = {1, 3, 3, 1};
    const int64_t small = (int64_t)a->N * a->H * a->W * a->C;
    memset(a->y, 0, (size_t)(up ? 4 * small : small) * sizeof(double));
    for (int64_t i = 0; i < small; i++) {
        const int c = (int)(i % a->C), col = (int)(i / a->C % a->W), row = (int)(i / a->C / a->W % a->H);
        const int64_t n = i / a->C / a->W / a->H;
        for (int k = 0; k < 16; k++) {
            const int y = 2 * row - 1 + k / 4, x = 2 * col - 1 + k % 4;
            if (y < 0 || y >= a->H2 || x < 0 || x >= a->W2) continue;
            const int64_t at = ((n * a->H2 + y) * a->W2 + x) * a->C + c;
            const double weight = filter[k / 4] * filter[k % 4] / (up == !a->adjoint ? 16 : 64);
            ((double *)a->y)[up ? at : i] += ((const double *)a->x)[up ? i : at] * weight;
        }
    }
}

void dg_ref_resample_up(const dg_resample_args *a) { resample(a, true); }
void dg_ref_resample_down(const dg_resample_args *a) { resample(a, false); }

static void group(dg_op_kind kind, const dg_group_args *a)
{
    dg_conv_args conv = dg_ref_conv_shape(a->N, a->H, a->W, a->Ci, a->Co, a->K, 1, a->P);
    conv.x = a->x, conv.w = a->w, conv.y = a->y;
    dg_ref_conv(kind, &conv, a->groups, NULL, NULL);
}

void dg_ref_group_fwd(const dg_group_args *a) { group(DG_OP_conv_fwd, a); }
void dg_ref_group_dx(const dg_group_args *a) { group(DG_OP_conv_dx, a); }
void dg_ref_group_dw(const dg_group_args *a) { group(DG_OP_conv_dw, a); }

void dg_ref_advance(const dg_advance_args *a)
{
    a->state->step++;
    a->state->cursor += a->batch;
}

void dg_ref_run(const dg_op *op)
{
    switch (op->kind) {
#define X(kind, member, cpu) \
    case DG_OP_##kind: dg_ref_##kind(&op->u.member); break;
        DG_OPS(X)
#undef X
    case DG_OP_KINDS: break;
    }
}
