/* Softmax and its cross entropy. Threads divide the rows; losses are added in order. */
#include "kernels/cpu/cpu.h"

#include <math.h>

/* ROWS: number of losses that are stored and then added in order. MANY: min number of logits for which several threads
 * are faster. */
enum { ROWS = 1024, MANY = 2048 };

/* `top`: index of the first of the largest logits. `others`: sum of exp(logit - largest) over all logits except `top`.
 * The largest term, 1, is not in `others`, so that small terms keep their precision. */
typedef struct {
    int top;
    double largest, others;
} row_sum;

static row_sum sum_of(const real *l, int C)
{
    row_sum s = {0};
    for (int c = 1; c < C; c++) s.top = l[c] > l[s.top] ? c : s.top;
    s.largest = (double)l[s.top];
    s.others = s.largest - s.largest;
    for (int c = 0; c < C; c++) s.others += c == s.top ? 0 : exp((double)l[c] - s.largest);
    return s;
}

static double loss_of(const dg_softmax_args *a, const real *l, const row_sum *s, int label)
{
    double below = 0; /* sum of the logits' distances from the largest logit */
    for (int c = 0; c < a->C && a->smoothing > 0; c++) below += s->largest - (double)l[c];
    return log1p(s->others) + (1 - a->smoothing) * (s->largest - (double)l[label]) + a->smoothing / a->C * below;
}

static void shares_of(const dg_softmax_args *a, int64_t row, const real *l, const row_sum *s)
{
    real *p = a->p ? (real *)a->p + row * a->C : NULL, *dlogit = a->dlogit ? (real *)a->dlogit + row * a->C : NULL;
    const int label = dlogit ? a->label[row] : -1;
    const double sum = 1 + s->others, smooth = a->smoothing / a->C;
    for (int c = 0; c < a->C; c++) {
        const double e = c == s->top ? 1 : exp((double)l[c] - s->largest);
        if (p) p[c] = (real)(e / sum);
        if (!dlogit) continue;
        /* p - 1 is computed as minus the sum of the other terms, so that the gradient of a confident row is exact */
        const double most = c == s->top ? s->others : sum - e;
        dlogit[c] = (real)((c == label ? a->smoothing - most / sum - smooth : e / sum - smooth) / a->N);
    }
}

DG_CPU_OP(softmax, softmax)
{
    double loss = 0;
    int right = 0;
    for (int64_t first = 0; first < a->N; first += ROWS) {
        const int rows = a->N - first < ROWS ? (int)(a->N - first) : ROWS;
        double each[ROWS];
#pragma omp parallel for schedule(static) reduction(+ : right) if ((int64_t)rows * a->C >= MANY)
        for (int r = 0; r < rows; r++) {
            const real *l = (const real *)a->logit + (first + r) * a->C;
            const row_sum s = sum_of(l, a->C);
            shares_of(a, first + r, l, &s);
            if (!a->label) continue;
            each[r] = loss_of(a, l, &s, a->label[first + r]);
            if (a->each) ((real *)a->each)[first + r] = (real)each[r];
            right += s.top == a->label[first + r] && !isnan(s.others);
        }
        for (int r = 0; r < rows && a->label; r++) loss += each[r];
    }
    if (!a->ring) return;
    dg_metrics *now = &a->ring[a->state->step % DG_RING];
    now->value[a->loss] = loss / a->N;
    now->value[a->right] = (double)right / a->N;
}
