#include "host/measure/batch_rule.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/plural.h"
#include "host/measure/samples.h"

#define GAIN 1.01  /* a doubling with a smaller gain counts as no gain */
#define DOUBT 0.95 /* sizes with at least this part of the lowest rate that may be chosen are measured again */
#define SLOWER 1.1 /* factor on the expected time of a measurement, because other programs may slow the machine */
#define SURE 0.25  /* part of the allowed loss that a measured rate may use; the remainder is a margin for noise */
enum {
    COUNTED = 5,
    FLAT = 6,
    LOOKS = 8, /* max measurements of a size that can decide the choice */
    NEAR = 2,
    PASSES = 20 /* max passes of the iteration that computes the medians */
};

/* Of the published rules. */
enum { ROUNDS = 101, CHECK_EVERY = 5, LONGEST_STRIDE = 10, SAMPLES = 4096 };
#define FULL 99.0
#define SAME_BATCH 5.0
#define SAME_GAIN 0.05
#define SAMPLE_SECONDS 1.0

const char *const dg_batch_rule_name[DG_RULES] = {
    [DG_RULE_SEARCH] = "search", [DG_RULE_USAGE] = "usage", [DG_RULE_EPOCH_TIME] = "epoch-time"};

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

static int row_of(const dg_batch_table *t, int batch)
{
    for (int i = 0; i < t->rows; i++)
        if (t->row[i].batch == batch) return i;
    return -1;
}

static double log_rate(const dg_batch_row *look) { return log(look->batch / look->ms); }

/* Compare each measurement of row i with the NEAR measurements before it and after it. Each comparison estimates the
 * logarithm of the row's rate. Returns the number of comparisons. */
static int compare(const dg_batch_table *t, int i, const double rate[DG_BATCH_ROWS], double *said)
{
    int n = 0;
    for (int k = 0; k < t->looks; k++) {
        if (t->look[k].batch != t->row[i].batch) continue;
        for (int j = k - NEAR; j <= k + NEAR; j++) {
            if (j < 0 || j >= t->looks || t->look[j].batch == t->look[k].batch) continue;
            said[n++] = rate[row_of(t, t->look[j].batch)] + log_rate(&t->look[k]) - log_rate(&t->look[j]);
        }
    }
    return n;
}

/* Estimate the relative rate of each size as a median of comparisons. Then multiply all rates by the median ratio of
 * measured to relative rates. */
static void estimate(dg_batch_table *t)
{
    double rate[DG_BATCH_ROWS] = {0}, said[2 * NEAR * DG_BATCH_LOOKS];
    for (int k = 0; k < t->looks; k++) rate[row_of(t, t->look[k].batch)] = log_rate(&t->look[k]);
    for (int pass = 0; pass < PASSES; pass++)
        for (int i = 0; i < t->rows; i++) {
            const int n = compare(t, i, rate, said);
            if (n) rate[i] = dg_sort_median(said, n);
        }
    for (int k = 0; k < t->looks; k++) said[k] = log_rate(&t->look[k]) - rate[row_of(t, t->look[k].batch)];
    const double factor = dg_sort_median(said, t->looks);
    for (int i = 0; i < t->rows; i++) {
        dg_batch_row *r = &t->row[i];
        const double longer = r->batch / exp(rate[i] + factor) / r->ms;
        r->ms *= longer;
        r->median *= longer;
        r->low *= longer;
        r->high *= longer;
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
    t->look[t->looks++] = *look;
    estimate(t);
}

static bool leaves_steps(const dg_batch_table *t, int batch)
{
    return dg_batch_updates(&t->limits, batch) >= t->limits.least_steps;
}

/* Index of the smallest size with at least `share` of the best rate, -1: none. If enough_steps is set, sizes that leave
 * too few steps are ignored. */
static int smallest(const dg_batch_table *t, bool enough_steps, double share)
{
    double best = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < t->rows; i++) {
            const double rate = dg_batch_rate(&t->row[i]);
            if (enough_steps && !leaves_steps(t, t->row[i].batch)) continue;
            if (pass && rate >= share * best) return i;
            best = fmax(best, rate);
        }
    return -1;
}

static int fastest(const dg_batch_table *t, bool enough_steps) { return smallest(t, enough_steps, 1); }

/* True if enough time is left to measure this size, estimated from the nearest timed size. *most: max seconds. */
static bool has_time(const dg_batch_table *t, int batch, double *most)
{
    const dg_batch_row *near = &t->row[0];
    *most = t->limits.look / (row_of(t, batch) < 0 ? 2 : 1);
    for (int i = 1; i < t->rows; i++)
        if (abs(t->row[i].batch - batch) < abs(near->batch - batch)) near = &t->row[i];
    const double step = t->rows ? 1e-3 * near->ms * fmax(1, (double)batch / near->batch) : 0;
    const double takes = fmax(near->setup, 2 * step) + fmax(COUNTED * step, *most + step);
    return !t->rows || t->machine.elapsed(t->machine.context) + SLOWER * takes <= t->limits.seconds;
}

static dg_err look(dg_batch_table *t, int batch)
{
    double seconds;
    dg_batch_row row;
    *t->why_not = 0;
    if (t->looks == DG_BATCH_LOOKS || !has_time(t, batch, &seconds)) return DG_OK;
    const dg_err e = t->machine.look(t->machine.context, batch, seconds, &row, t->why_not);
    if (!e && !*t->why_not) add(t, &row);
    else if (!e && row_of(t, batch) < 0) t->refused = batch;
    else if (!e) t->row[row_of(t, batch)].looks = LOOKS; /* the size fitted before: another program took memory */
    return e;
}

/* True if the last FLAT batch sizes train hardly more images per second than the smaller batch sizes. */
static bool is_flat(const dg_batch_table *t)
{
    double best[2] = {0};
    for (int i = 0; i < t->rows; i++) {
        double *of = &best[i >= t->rows - FLAT];
        *of = fmax(*of, dg_batch_rate(&t->row[i]));
    }
    return t->rows > FLAT && best[1] < GAIN * best[0];
}

/* Choose the smallest size nearly as fast as the fastest. If the series ended for lack of time, assume that larger
 * sizes gain as much again as the last doubling did, as for a step time of a + c * batch. */
static int choice(const dg_batch_table *t, bool enough_steps)
{
    const double share = (1 + t->rising) * (1 - SURE * t->limits.within);
    return smallest(t, enough_steps, fmin(1, share));
}

static int chosen(const dg_batch_table *t)
{
    const int i = choice(t, true);
    return i < 0 && t->rows ? 0 : i;
}

/* True if the series of growing sizes ends before this size. t->end then has the reason. */
static bool ends(dg_batch_table *t, int batch)
{
    const dg_batch_limits *l = &t->limits;
    const int n = t->rows, last = n ? t->row[n - 1].batch : 0;
    double seconds;
    if (batch > l->most) snprintf(t->end, sizeof t->end, "; sizes above %d were not tried (--max-batch)", last);
    else if (batch > l->images)
        snprintf(t->end, sizeof t->end, "; the dataset has only %d image%s", l->images, dg_s(l->images));
    else if (!has_time(t, batch, &seconds)) {
        snprintf(t->end, sizeof t->end, "; sizes above %d were not tried within %g s: use --seconds %.0f", last,
                 l->seconds, ceil(4 * fmax(l->seconds, 7e-3 * t->row[n - 1].ms)));
        if (n > 2) t->rising = fmax(0, dg_batch_rate(&t->row[n - 1]) / dg_batch_rate(&t->row[n - 3]) - 1);
    }
    return *t->end;
}

/* Measure growing sizes. If the last sizes gain nothing, measure them and the sizes before them again. */
static dg_err climb(dg_batch_table *t)
{
    dg_err e = DG_OK;
    for (int batch = t->limits.from; !e && !ends(t, batch); batch = dg_batch_after(batch)) {
        e = look(t, batch);
        if (t->refused) snprintf(t->end, sizeof t->end, "; batch size %d does not fit: %s", t->refused, t->why_not);
        for (int i = t->rows - FLAT - 2; i < t->rows && is_flat(t) && !e; i++)
            if (i >= 0) e = look(t, t->row[i].batch);
        if (t->refused || is_flat(t)) break;
    }
    return e;
}

static dg_err try_neighbours(dg_batch_table *t)
{
    const dg_batch_limits *l = &t->limits;
    const int middle = t->rows ? t->row[chosen(t)].batch : 0;
    dg_err e = DG_OK;
    for (int quarters = 3; quarters <= 5 && !e; quarters += 2) {
        const int batch = middle * quarters / 4;
        if (batch >= l->from && batch <= l->most && batch <= l->images && row_of(t, batch) < 0 &&
            (!t->refused || batch < t->refused) && leaves_steps(t, batch))
            e = look(t, batch);
    }
    return e;
}

/* Measure again each size that may be chosen or on which the choice depends, and both neighbours of the chosen size. */
static dg_err look_again(dg_batch_table *t)
{
    dg_err e = DG_OK;
    for (int i = 0; i < t->rows && !e; i++) {
        const dg_batch_row *r = &t->row[i], *best = &t->row[fastest(t, leaves_steps(t, r->batch))];
        const bool decides = dg_batch_rate(r) >= DOUBT * (1 - t->limits.within) * dg_batch_rate(best);
        if (r->looks < LOOKS && (decides || (abs(i - chosen(t)) == 1 && r->looks < 2))) e = look(t, r->batch);
    }
    return e;
}

static double percent_faster(const dg_batch_row *a, const dg_batch_row *b)
{
    return 100 * (dg_batch_rate(a) / dg_batch_rate(b) - 1);
}

static void explain(dg_batch_table *t)
{
    const dg_batch_limits *l = &t->limits;
    const int size = sizeof t->why, best = fastest(t, true);
    const dg_batch_row *r = &t->row[chosen(t)], *wish = &t->row[choice(t, false)];
    const int steps = dg_batch_updates(l, r->batch);
    char among[64] = "", less[300] = "";
    if (wish->batch > r->batch) {
        snprintf(among, sizeof among, " size that leaves %d step%s per epoch", l->least_steps, dg_s(l->least_steps));
        snprintf(less, sizeof less, "; batch size %d would be %.0f%% faster, with %.0f%% fewer updates", wish->batch,
                 percent_faster(wish, r), 100 - 100.0 * dg_batch_updates(l, wish->batch) / steps);
    } else if (t->refused) snprintf(among, sizeof among, " size that fits");
    int n = snprintf(t->why, (size_t)size, "batch size %d: the fastest%s", r->batch, among);
    if (best < 0)
        n = snprintf(t->why, (size_t)size,
                     "batch size %d: the smallest size that was tried; it leaves %d step%s per epoch, fewer than %d "
                     "(--min-steps); --min-batch %d tries smaller sizes",
                     r->batch, steps, dg_s(steps), l->least_steps, r->batch > 8 ? 8 : 1);
    else if (best != chosen(t))
        n = snprintf(t->why, (size_t)size,
                     "batch size %d: the smallest size that is clearly within %g%% of the fastest%s, which is %d "
                     "(%.1f%% faster)",
                     r->batch, 100 * l->within, among, t->row[best].batch, percent_faster(&t->row[best], r));
    /* omit t->end if the largest timed size leaves too few steps, because no larger size could be chosen */
    const bool end = t->refused || leaves_steps(t, t->row[t->rows - 1].batch);
    snprintf(t->why + n, (size_t)(size - n), "%s%s; the search took %.3g s.", best < 0 ? "" : less, end ? t->end : "",
             t->machine.elapsed(t->machine.context));
}

static dg_err by_search(dg_batch_table *t)
{
    dg_err e = climb(t);
    for (int i = 0; i < 2 && !e; i++) e = try_neighbours(t); /* twice, because the choice may change */
    for (int i = 0; i < LOOKS && !e; i++) {                  /* at least two rounds, and more while time is left */
        if (i > 1 && t->machine.elapsed(t->machine.context) > t->limits.seconds / 3) break;
        e = look_again(t);
    }
    if (e || !t->rows) return e;
    t->batch = t->row[chosen(t)].batch;
    explain(t);
    return DG_OK;
}

double dg_round_epoch(const dg_batch_limits *l, const dg_batch_row *round)
{
    const int steps = (l->images + round->batch - 1) / round->batch;
    return 1e-3 * round->ms * steps;
}

double dg_round_gain(const dg_batch_limits *l, const dg_batch_row *round, const dg_batch_row *first)
{
    return (dg_round_epoch(l, first) - dg_round_epoch(l, round)) / dg_round_epoch(l, first);
}

static void explain_rounds(dg_batch_table *t, const char *name, const char *end)
{
    const dg_batch_limits *l = &t->limits;
    const dg_batch_row *last = &t->look[t->looks - 1];
    const double gain = dg_round_gain(l, last, t->look);
    t->batch = last->batch;
    snprintf(t->why, sizeof t->why,
             "%s: batch size %d in round %d: %.4g s per epoch, %.1f%% %s than with batch size %d%s.", name, last->batch,
             t->looks - 1, dg_round_epoch(l, last), 100 * fabs(gain), gain < 0 ? "more" : "less", l->from, end);
}

static dg_err by_rounds(dg_batch_table *t, bool by_usage)
{
    const char *name = dg_batch_rule_name[by_usage ? DG_RULE_USAGE : DG_RULE_EPOCH_TIME];
    const dg_batch_limits *l = &t->limits;
    int batch = l->from, stride = 1;
    bool down = false;
    double checked = 0; /* batch size b or gain r at the last check */
    char end[80] = "";
    while (!t->ended) {
        dg_batch_row *now = &t->look[t->looks];
        const dg_err e = t->machine.look(t->machine.context, batch, 0, now, t->why_not);
        if (e) return e;
        if (*t->why_not) {
            t->ended = "does not fit";
            snprintf(end, sizeof end, "; the next batch size, %d, does not fit", batch);
            break;
        }
        const int n = t->looks++;
        const double value = by_usage ? batch : dg_round_gain(l, now, t->look);
        const bool check = n % CHECK_EVERY == 0;
        if (check && n && fabs(value - checked) <= (by_usage ? SAME_BATCH : SAME_GAIN)) t->ended = "stopped";
        else if (t->looks == ROUNDS) {
            t->ended = "all rounds";
            snprintf(end, sizeof end, "; the rule did not converge");
        }
        if (check) checked = value;
        const bool falls = by_usage && now->busy >= FULL;
        stride = falls == down ? stride + 1 : 1;
        down = falls;
        const int by = stride < LONGEST_STRIDE ? stride : LONGEST_STRIDE;
        batch += down ? -by : by;
        if (batch < 1) batch = 1; /* the publication does not define the result for this case */
    }
    if (t->looks) explain_rounds(t, name, end);
    else snprintf(t->why, sizeof t->why, "%s: the first batch size of the rule, %d, does not fit.", name, batch);
    return DG_OK;
}

dg_err dg_batch_choose(dg_batch_table *t, dg_batch_rule rule, const dg_batch_limits *l, const dg_batch_machine *m)
{
    *t = (dg_batch_table){.limits = *l, .machine = *m};
    return rule == DG_RULE_SEARCH ? by_search(t) : by_rounds(t, rule == DG_RULE_USAGE);
}

/* Mean of the upper half of the samples that are above 0. Half of an odd number includes the middle sample. */
static double upper_half(double *sample, int n)
{
    double sum = 0;
    int zero = 0;
    dg_sort(sample, n);
    while (zero < n && !(sample[zero] > 0)) zero++;
    const int half = (n - zero + 1) / 2;
    for (int i = n - 1; i >= n - half; i--) sum += sample[i];
    return half ? sum / half : 0;
}

dg_err dg_batch_round(const dg_round_machine *m, long steps, dg_batch_row *row)
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
    row->ms = 1e3 * spent / (double)steps;
    row->busy = upper_half(sample, n);
    return e;
}
