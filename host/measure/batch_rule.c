#include "host/measure/batch_rule.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/plural.h"
#include "core/base/sort.h"

#define GAIN 1.01  /* the series ends if the last FLAT sizes do not raise the best images/s by this factor */
#define CLOSE 0.92 /* sizes with at least this share of the best images/s are measured again */
#define SLOWER 1.1 /* factor on the expected time of a measurement, because other programs may slow the machine */
#define SURE 0.25  /* the measured loss of images/s may be this share of the allowed loss, because times are noisy */
enum {
    COUNTED = 5,
    FLAT = 6,
    LOOKS = 8, /* max rounds of repeated measurements */
    NEAR = 2,
    PASSES = 20 /* max passes of the iteration that computes the medians */
};

/* Constants of the published rules. */
enum { ROUNDS = 101, CHECK_EVERY = 5, LONGEST_STRIDE = 10 };
#define FULL 99.0
#define SAME_BATCH 5.0
#define SAME_GAIN 0.05

int dg_batch_after(int batch)
{
    int power = 1;
    while (2 * power <= batch) power *= 2;
    return batch < power + power / 2 ? power + power / 2 : 2 * power;
}

double dg_batch_rate(const dg_batch_row *r) { return r->ms > 0 ? 1e3 * r->batch / r->ms : 0; }

int dg_batch_updates(const dg_batch_limits *l, int batch)
{
    return batch < 1 ? 0 : l->images / batch + (l->images % batch && !l->drop_last);
}

double dg_batch_epoch(const dg_batch_limits *l, const dg_batch_row *r)
{
    return 1e-3 * r->ms * dg_batch_updates(l, r->batch);
}

double dg_batch_gain(const dg_batch_table *t, int round)
{
    return 1 - dg_batch_epoch(&t->limits, &t->row[round]) / dg_batch_epoch(&t->limits, t->row);
}

static int row_of(const dg_batch_table *t, int batch)
{
    for (int i = 0; i < t->rows; i++)
        if (t->row[i].batch == batch) return i;
    return -1;
}

/* Compare each measurement of row i's batch size with the NEAR measurements before and after it. Each comparison
 * estimates log(images/s) of the batch size. Stores the estimates in `said`, and returns their number. */
static int compare(const dg_batch_table *t, int i, const double rate[DG_BATCH_ROWS], double *said)
{
    int n = 0;
    for (int k = 0; k < t->looks; k++) {
        if (t->look[k].batch != t->row[i].batch) continue;
        for (int j = k - NEAR; j <= k + NEAR; j++) {
            if (j < 0 || j >= t->looks || t->look[j].batch == t->look[k].batch) continue;
            said[n++] = rate[row_of(t, t->look[j].batch)] + t->look[k].rate - t->look[j].rate;
        }
    }
    return n;
}

/* Estimate the relative speed of each batch size as a median of comparisons, then scale it to images/s. */
static void estimate(dg_batch_table *t)
{
    double rate[DG_BATCH_ROWS] = {0}, said[2 * NEAR * DG_BATCH_ROWS];
    for (int k = 0; k < t->looks; k++) rate[row_of(t, t->look[k].batch)] = t->look[k].rate;
    for (int pass = 0; pass < PASSES; pass++)
        for (int i = 0; i < t->rows; i++) {
            const int n = compare(t, i, rate, said);
            if (n) rate[i] = dg_sort_median(said, n);
        }
    for (int k = 0; k < t->looks; k++) said[k] = t->look[k].rate - rate[row_of(t, t->look[k].batch)];
    const double factor = dg_sort_median(said, t->looks);
    for (int i = 0; i < t->rows; i++) {
        dg_batch_row *r = &t->row[i];
        const double longer = r->batch / exp(rate[i] + factor) / r->ms;
        r->ms *= longer;
        r->median *= longer;
        r->of_peak /= longer;
    }
}

static void add(dg_batch_table *t, const dg_batch_row *look)
{
    int at = row_of(t, look->batch);
    if (at < 0) {
        for (at = t->rows++; at > 0 && t->row[at - 1].batch > look->batch; at--) t->row[at] = t->row[at - 1];
        t->row[at] = *look;
        t->row[at].looks = 0;
    }
    t->row[at].looks++;
    t->row[at].joules += (look->joules - t->row[at].joules) / t->row[at].looks;
    t->look[t->looks].batch = look->batch;
    t->look[t->looks++].rate = log(look->batch / look->ms);
    estimate(t);
}

static double best(const dg_batch_table *t, int from, int to)
{
    double rate = 0;
    for (int i = from; i < to; i++) rate = fmax(rate, dg_batch_rate(&t->row[i]));
    return rate;
}

static dg_batch_row *smallest(dg_batch_table *t, double share)
{
    dg_batch_row *r = t->row;
    for (const double rate = share * best(t, 0, t->rows); dg_batch_rate(r) < rate;) r++;
    return r;
}

static dg_batch_row *chosen(dg_batch_table *t) { return smallest(t, 1 - SURE * t->limits.within); }

/* True if enough time is left to measure `batch`. The time is estimated from the smallest timed size >= `batch`
 * or, if there is none, from the largest timed size. */
static bool has_time(const dg_batch_table *t, int batch)
{
    const dg_batch_row *r = t->row, *last = r + t->rows - 1;
    if (!t->rows) return true;
    while (r < last && r->batch < batch) r++;
    const double step = 1e-3 * r->ms * fmax(1, (double)batch / r->batch);
    const double takes = fmax(r->setup, 2 * step) + fmax(COUNTED * step, t->limits.look + step);
    return t->machine.elapsed(t->machine.context) + SLOWER * takes <= t->limits.seconds;
}

static dg_err look(dg_batch_table *t, int batch)
{
    dg_batch_row row;
    *t->why_not = 0;
    if (t->looks == DG_BATCH_ROWS || !has_time(t, batch)) return DG_OK;
    const dg_err e = t->machine.look(t->machine.context, batch, t->limits.look, &row, t->why_not);
    if (!e && !*t->why_not) add(t, &row);
    return e;
}

static bool is_flat(const dg_batch_table *t)
{
    const int before = t->rows - FLAT;
    return before > 0 && best(t, before, t->rows) < GAIN * best(t, 0, before);
}

static bool ends(dg_batch_table *t, int batch)
{
    const dg_batch_limits *l = &t->limits;
    const int size = sizeof t->ended;
    if (batch > l->most) snprintf(t->ended, size, "; larger sizes were not tried (--max-batch)");
    else if (t->rows && dg_batch_updates(l, batch) < l->least_steps)
        snprintf(t->ended, size, "; larger sizes leave fewer than %d step%s per epoch (--min-steps)", l->least_steps,
                 dg_s(l->least_steps));
    else if (batch > l->images)
        snprintf(t->ended, size, "; the dataset has only %d image%s", l->images, dg_s(l->images));
    else if (!has_time(t, batch))
        snprintf(t->ended, size, "; larger sizes were not tried within %g s (--seconds)", l->seconds);
    return *t->ended;
}

static void note_misfit(dg_batch_table *t, int batch)
{
    t->limits.most = batch - 1;
    snprintf(t->ended, sizeof t->ended, "; batch size %d does not fit: %s", batch, t->why_not);
}

/* Measure growing batch sizes. If the last FLAT sizes gain nothing, measure the last FLAT + 2 sizes again. */
static dg_err climb(dg_batch_table *t)
{
    dg_err e = DG_OK;
    for (int batch = t->limits.from; !e && !is_flat(t) && !ends(t, batch); batch = dg_batch_after(batch)) {
        e = look(t, batch);
        if (*t->why_not) {
            note_misfit(t, batch);
            break;
        }
        for (int i = t->rows - FLAT - 2; i < t->rows && is_flat(t) && !e; i++)
            if (i >= 0) e = look(t, t->row[i].batch);
    }
    return e;
}

static dg_err try_neighbours(dg_batch_table *t)
{
    const dg_batch_limits *l = &t->limits;
    const int middle = chosen(t)->batch;
    dg_err e = DG_OK;
    for (int quarters = 3; quarters <= 5 && !e; quarters += 2) {
        const int batch = middle * quarters / 4;
        if (batch >= l->from && batch <= l->most && row_of(t, batch) < 0 &&
            dg_batch_updates(l, batch) >= l->least_steps)
            e = look(t, batch);
    }
    return e;
}

static dg_err look_again(dg_batch_table *t)
{
    dg_err e = DG_OK;
    for (int i = 0; i < t->rows && !e; i++)
        if (dg_batch_rate(&t->row[i]) >= CLOSE * best(t, 0, t->rows) || labs(&t->row[i] - chosen(t)) == 1)
            e = look(t, t->row[i].batch);
    return e;
}

static void explain(dg_batch_table *t)
{
    const dg_batch_limits *l = &t->limits;
    const dg_batch_row *r = chosen(t), *fastest = smallest(t, 1);
    const int steps = dg_batch_updates(l, r->batch);
    char reason[200] = "the fastest";
    t->batch = r->batch;
    if (steps < l->least_steps)
        snprintf(reason, sizeof reason,
                 "the smallest size that was tried; it leaves %d step%s per epoch, fewer than %d (--min-steps); "
                 "--min-batch 1 tries smaller sizes",
                 steps, dg_s(steps), l->least_steps);
    else if (r != fastest)
        snprintf(reason, sizeof reason,
                 "the smallest size clearly within %g%% of the best throughput; the fastest is %d (%.1f%% faster)",
                 100 * l->within, fastest->batch, 100 * (dg_batch_rate(fastest) / dg_batch_rate(r) - 1));
    snprintf(t->why, sizeof t->why, "batch size %d: %s%s; the search took %.3g s.", t->batch, reason,
             steps < l->least_steps ? "" : t->ended, t->machine.elapsed(t->machine.context));
}

static dg_err by_search(dg_batch_table *t)
{
    dg_err e = climb(t);
    if (e || !t->rows) return e;
    for (int i = 0; i < 2 && !e; i++) e = try_neighbours(t); /* twice, because the chosen size may change */
    for (int i = 0; i < LOOKS && !e; i++) {                  /* two rounds, and more in the first third of the time */
        if (i > 1 && t->machine.elapsed(t->machine.context) > t->limits.seconds / 3) break;
        e = look_again(t);
    }
    if (!e) explain(t);
    return e;
}

static const dg_batch_row *thriftiest(const dg_batch_table *t, int rows)
{
    const dg_batch_row *r = t->row;
    for (int i = 1; i < rows; i++)
        if (t->row[i].joules < r->joules) r = &t->row[i];
    return r;
}

static dg_err by_energy(dg_batch_table *t)
{
    const dg_batch_limits *l = &t->limits;
    dg_err e = DG_OK;
    for (int batch = l->from; !e && !*t->why_not && !ends(t, batch); batch = dg_batch_after(batch)) {
        const int before = t->rows - FLAT;
        if (before > 0 && thriftiest(t, before)->joules < GAIN * thriftiest(t, t->rows)->joules) break;
        e = look(t, batch);
        if (*t->why_not) note_misfit(t, batch);
    }
    if (e || !t->rows) return e;
    const dg_batch_row *r = thriftiest(t, t->rows), *fastest = smallest(t, 1);
    t->batch = r->batch;
    snprintf(t->why, sizeof t->why,
             "batch size %d: %.3g J per image, the least; the fastest is %d (%.3g J per image)%s.", t->batch, r->joules,
             fastest->batch, fastest->joules, t->ended);
    return DG_OK;
}

static dg_err by_sweep(dg_batch_table *t)
{
    const dg_batch_limits *l = &t->limits;
    dg_err e = DG_OK;
    for (int batch = l->from; batch <= l->most && !e; batch = l->step ? batch + l->step : dg_batch_after(batch)) {
        e = t->machine.look(t->machine.context, batch, l->look, &t->row[t->rows], t->why_not);
        if (*t->why_not) {
            snprintf(t->why, sizeof t->why, "The sweep ends before batch size %d: %s.", batch, t->why_not);
            break;
        }
        t->rows++;
    }
    return e;
}

static dg_err by_rounds(dg_batch_table *t, bool by_usage)
{
    const dg_batch_limits *l = &t->limits;
    int batch = l->from, stride = 1;
    bool down = false;
    double checked = 0; /* value of b (rule usage) or r (rule epoch-time) at the last check */
    char end[80] = "; the rule did not converge";
    snprintf(t->ended, sizeof t->ended, "all rounds");
    while (t->rows < ROUNDS) {
        dg_batch_row *now = &t->row[t->rows];
        const dg_err e = t->machine.look(t->machine.context, batch, 0, now, t->why_not);
        if (e) return e;
        if (*t->why_not) {
            snprintf(t->ended, sizeof t->ended, "does not fit");
            snprintf(end, sizeof end, "; the next batch size, %d, does not fit", batch);
            break;
        }
        const int n = t->rows++;
        const double value = by_usage ? batch : dg_batch_gain(t, n);
        t->batch = batch;
        if (n && n % CHECK_EVERY == 0 && fabs(value - checked) <= (by_usage ? SAME_BATCH : SAME_GAIN)) {
            snprintf(t->ended, sizeof t->ended, "stopped");
            *end = 0;
            break;
        }
        if (n % CHECK_EVERY == 0) checked = value;
        const bool falls = by_usage && now->busy >= FULL;
        stride = falls == down ? stride + 1 : 1;
        down = falls;
        const int by = stride < LONGEST_STRIDE ? stride : LONGEST_STRIDE;
        batch += down ? -by : by;
        if (batch < 1) batch = 1; /* the publication does not define batch sizes below 1 */
    }
    if (!t->rows) return DG_OK;
    const double gain = dg_batch_gain(t, t->rows - 1);
    snprintf(t->why, sizeof t->why,
             "rule %s: batch size %d, chosen in round %d; an epoch takes %.4g s, %.1f%% %s than with batch size %d%s.",
             by_usage ? "usage" : "epoch-time", t->batch, t->rows - 1, dg_batch_epoch(l, &t->row[t->rows - 1]),
             100 * fabs(gain), gain < 0 ? "more" : "less", l->from, end);
    return DG_OK;
}

dg_err dg_batch_choose(dg_batch_table *t, dg_batch_rule rule, const dg_batch_limits *l, const dg_batch_machine *m)
{
    *t = (dg_batch_table){.limits = *l, .machine = *m};
    if (rule == DG_RULE_SEARCH) return by_search(t);
    if (rule == DG_RULE_ENERGY) return by_energy(t);
    return rule == DG_RULE_SWEEP ? by_sweep(t) : by_rounds(t, rule == DG_RULE_USAGE);
}

double dg_batch_usage(double *sample, int n)
{
    double sum = 0;
    int zero = 0;
    dg_sort(sample, n);
    while (zero < n && !(sample[zero] > 0)) zero++;
    const int half = (n - zero + 1) / 2;
    for (int i = n - 1; i >= n - half; i--) sum += sample[i];
    return half ? sum / half : 0;
}
