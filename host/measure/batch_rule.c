#include "host/measure/batch_rule.h"

#include <math.h>
#include <stdlib.h>

enum { CHECK_EVERY = 5, LONGEST_STRIDE = 10, SAMPLES = 4096 };
#define FULL 99.0
#define SAME_BATCH 5.0
#define SAME_GAIN 0.05
#define SAMPLE_SECONDS 1.0

const char *const dg_batch_rule_name[DG_RULES] = {[DG_RULE_USAGE] = "usage", [DG_RULE_EPOCH_TIME] = "epoch-time"};

void dg_rule_begin(dg_batch_rule *r, dg_batch_rule_kind kind, int from, int images)
{
    *r = (dg_batch_rule){.kind = kind, .images = images, .batch = from, .stride = 1};
}

static void move(dg_batch_rule *r, bool down)
{
    r->stride = down == r->down ? r->stride + 1 : 1;
    r->down = down;
    const int by = r->stride < LONGEST_STRIDE ? r->stride : LONGEST_STRIDE;
    r->batch += down ? -by : by;
    if (r->batch < 1) r->batch = 1; /* the publication does not define the result for this case */
}

bool dg_rule_next(dg_batch_rule *r, double ms, double usage)
{
    const int n = r->rounds++;
    dg_rule_round *now = &r->round[n];
    const int steps = (r->images + r->batch - 1) / r->batch;
    *now = (dg_rule_round){.batch = r->batch, .ms = ms, .usage = usage, .epoch = 1e-3 * ms * steps};
    now->gain = (r->round[0].epoch - now->epoch) / r->round[0].epoch;
    if (n % CHECK_EVERY == 0) {
        const bool by_usage = r->kind == DG_RULE_USAGE;
        const double value = by_usage ? now->batch : now->gain;
        if (n && fabs(value - r->checked) <= (by_usage ? SAME_BATCH : SAME_GAIN)) r->end = DG_RULE_STOPPED;
        r->checked = value;
    }
    if (!r->end && r->rounds == DG_RULE_ROUNDS) r->end = DG_RULE_ALL_ROUNDS;
    if (r->end) return false;
    move(r, r->kind == DG_RULE_USAGE && usage >= FULL);
    return true;
}

int dg_rule_answer(const dg_batch_rule *r) { return r->rounds ? r->round[r->rounds - 1].batch : 0; }

static int descending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Mean of the upper half of the samples that are above 0. If their number is odd, the middle sample is included. */
static double upper_half(double *sample, int n)
{
    double sum = 0;
    qsort(sample, (size_t)n, sizeof *sample, descending);
    while (n > 0 && !(sample[n - 1] > 0)) n--;
    const int half = (n + 1) / 2;
    for (int i = 0; i < half; i++) sum += sample[i];
    return half ? sum / half : 0;
}

static dg_err run_round(const dg_rule_machine *m, long steps, double *ms, double *usage)
{
    double sample[SAMPLES], spent = 0, next = SAMPLE_SECONDS;
    int n = 0;
    dg_err e = DG_OK;
    (void)m->usage(m->context);
    for (long left = steps, done = 0; left > 0 && !e; left -= done) {
        double seconds = 0;
        e = m->steps(m->context, left, &done, &seconds);
        spent += seconds;
        if (e || spent < next) continue;
        if (n < SAMPLES) sample[n++] = m->usage(m->context);
        next += SAMPLE_SECONDS * (1 + floor((spent - next) / SAMPLE_SECONDS));
    }
    if (!n) sample[n++] = m->usage(m->context);
    *ms = 1e3 * spent / (double)steps;
    *usage = upper_half(sample, n);
    return e;
}

dg_err dg_rule_run(dg_batch_rule *r, const dg_rule_machine *m, long steps)
{
    dg_err e = DG_OK;
    for (bool more = true; more && !e;) {
        double ms, usage;
        bool yes;
        e = m->open(m->context, r->batch, &yes);
        if (!e && !yes) r->end = DG_RULE_CANNOT;
        if (!e && yes) e = run_round(m, steps, &ms, &usage);
        if (e || !yes) return e;
        more = dg_rule_next(r, ms, usage);
        if (m->ended) m->ended(m->context, r);
    }
    return e;
}
