/* Computes metrics of samples by a classifier: class shares, missing classes, confidence. */
#include <math.h>
#include <stdlib.h>

#include "core/base/sort.h"
#include "host/judge/judge_internal.h"

/* Malformed samples are spread over all classes, but the classifier is seldom confident about them. A sample is
 * confident if its top probability is at least the median top probability of its class's real images. A class is
 * missing if its share of samples is below PART times its share of real images. The test is repeated with the shares
 * of confident images. Classes with fewer than LEAST expected samples (share of real images x samples) are ignored. */
static const double LEAST = 10, PART = 0.25;

typedef struct {
    double *sure; /* (classes): median top probability of the real images of this class */
    long *count;  /* (4, classes) counts of real images, samples, confident real images, confident samples */
    double *sort;
    int classes;
} counting;

static int top(const double *share, int classes)
{
    int best = 0;
    for (int c = 1; c < classes; c++)
        if (share[c] > share[best]) best = c;
    return best;
}

static void find_sure(counting *k, const dg_jury *j, const dg_judged *reals)
{
    for (int c = 0; c < k->classes; c++) {
        int n = 0;
        for (int i = 0; i < j->count; i++) {
            const double *share = reals->share + (size_t)i * (size_t)k->classes;
            if (top(share, k->classes) == c) k->sort[n++] = share[c];
        }
        dg_sort(k->sort, n);
        k->sure[c] = n ? k->sort[n / 2] : 1;
    }
}

static void count(counting *k, const dg_jury *j, const dg_judged *x, int which)
{
    for (int i = 0; i < j->count; i++) {
        const double *share = x->share + (size_t)i * (size_t)k->classes;
        const int c = top(share, k->classes);
        k->count[which * k->classes + c]++;
        if (share[c] >= k->sure[c]) k->count[(2 + which) * k->classes + c]++;
    }
}

static double sum(const counting *k, int row)
{
    double all = 0;
    for (int c = 0; c < k->classes; c++) all += (double)k->count[row * k->classes + c];
    return all;
}

static bool lacks(double real, double other, double images) { return real * images >= LEAST && other < PART * real; }

static void judge(const counting *k, dg_class_verdict *out)
{
    double all[4];
    for (int i = 0; i < 4; i++) all[i] = fmax(1, sum(k, i));
    for (int c = 0; c < k->classes; c++) {
        double share[4];
        for (int i = 0; i < 4; i++) share[i] = (double)k->count[i * k->classes + c] / all[i];
        out[c] = (dg_class_verdict){.real = share[0], .other = share[1], .sure = share[3]};
        out[c].left_out = lacks(share[0], share[1], all[1]) || lacks(share[2], share[3], all[3]);
    }
}

dg_err dg_judge_classes(const dg_jury *j, const dg_judged *reals, const dg_judged *other, dg_class_verdict *out)
{
    const size_t classes = (size_t)j->labeller->classes;
    counting k = {.sure = malloc(classes * sizeof *k.sure),
                  .count = calloc(4 * classes, sizeof *k.count),
                  .sort = malloc((size_t)j->count * sizeof *k.sort),
                  .classes = j->labeller->classes};
    const bool room = k.sure && k.count && k.sort;
    if (room) {
        find_sure(&k, j, reals);
        count(&k, j, reals, 0);
        count(&k, j, other, 1);
        judge(&k, out);
    }
    free(k.sure);
    free(k.count);
    free(k.sort);
    return room ? DG_OK : dg_fail(DG_DEVICE, "out of memory for %zu classes", classes);
}

static dg_err verdicts(const dg_jury *j, const dg_judged *reals, const dg_judged *other, dg_class_verdict **out)
{
    *out = malloc((size_t)j->labeller->classes * sizeof **out);
    return *out ? dg_judge_classes(j, reals, other, *out)
                : dg_fail(DG_DEVICE, "out of memory for %d classes", j->labeller->classes);
}

dg_err dg_judge_class_distance(const dg_jury *j, const dg_judged *reals, const dg_judged *other, dg_measured *out)
{
    dg_class_verdict *v;
    const dg_err e = verdicts(j, reals, other, &v);
    for (int c = 0; c < j->labeller->classes && !e; c++) out->value += fabs(v[c].real - v[c].other) / 2;
    free(v);
    return e;
}

dg_err dg_judge_left_out(const dg_jury *j, const dg_judged *reals, const dg_judged *other, dg_measured *out)
{
    dg_class_verdict *v;
    const dg_err e = verdicts(j, reals, other, &v);
    for (int c = 0; c < j->labeller->classes && !e; c++) out->value += v[c].left_out;
    free(v);
    return e;
}

dg_err dg_judge_sureness(const dg_jury *j, const dg_judged *reals, const dg_judged *other, dg_measured *out)
{
    const int classes = j->labeller->classes;
    (void)reals;
    for (int i = 0; i < j->count; i++) {
        const double *share = other->share + (size_t)i * (size_t)classes;
        out->value += share[top(share, classes)] / j->count;
    }
    return DG_OK;
}
