#include "host/measure/batch_search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/plural.h"
#include "host/measure/samples.h"

#define GAIN 1.01  /* a doubling with a smaller gain counts as no gain */
#define DOUBT 0.95 /* sizes above this part of the lowest eligible rate are measured again */
#define SLOWER 1.1 /* factor on the expected time of a look, because other programs may slow the machine */
#define SURE 0.25  /* part of the allowed loss that a measured rate may use; the remainder is a margin for noise */
enum {
    COUNTED = 5,
    FLAT = 6,
    LOOKS = 8, /* max looks (measurements) at a size on which the choice depends */
    NEAR = 2,
    PASSES = 20 /* max passes of the iteration that computes the medians */
};

int dg_batch_after(int batch)
{
    int power = 1;
    while (2 * power <= batch) power *= 2;
    return batch < power + power / 2 ? power + power / 2 : 2 * power;
}

double dg_batch_rate(const dg_batch_row *r) { return r->ms > 0 ? 1e3 * r->batch / r->ms : 0; }

int dg_batch_updates(const dg_search_limits *l, int batch)
{
    return batch < 1 ? 0 : l->images / batch + (l->images % batch && !l->drop_last);
}

static int row_of(const dg_search *s, int batch)
{
    for (int i = 0; i < s->rows; i++)
        if (s->row[i].batch == batch) return i;
    return -1;
}

static double log_rate(const dg_batch_row *look) { return log(look->batch / look->ms); }

/* Compare each look at row i with the NEAR looks before and after it, as logarithms of ratios of rates. Returns the
 * number of comparisons. */
static int compare(const dg_search *s, int i, const double rate[DG_SEARCH_ROWS], double *said)
{
    int n = 0;
    for (int k = 0; k < s->looks; k++) {
        if (s->look[k].batch != s->row[i].batch) continue;
        for (int j = k - NEAR; j <= k + NEAR; j++) {
            if (j < 0 || j >= s->looks || s->look[j].batch == s->look[k].batch) continue;
            said[n++] = rate[row_of(s, s->look[j].batch)] + log_rate(&s->look[k]) - log_rate(&s->look[j]);
        }
    }
    return n;
}

/* Estimate the relative rate of each size as a median of comparisons. Then estimate the factor common to all rates from
 * the typical state of the machine. */
static void estimate(dg_search *s)
{
    double rate[DG_SEARCH_ROWS] = {0}, said[2 * NEAR * DG_SEARCH_LOOKS];
    for (int k = 0; k < s->looks; k++) rate[row_of(s, s->look[k].batch)] = log_rate(&s->look[k]);
    for (int pass = 0; pass < PASSES; pass++)
        for (int i = 0; i < s->rows; i++) {
            const int n = compare(s, i, rate, said);
            if (n) rate[i] = dg_sort_median(said, n);
        }
    for (int k = 0; k < s->looks; k++) said[k] = log_rate(&s->look[k]) - rate[row_of(s, s->look[k].batch)];
    const double factor = dg_sort_median(said, s->looks);
    for (int i = 0; i < s->rows; i++) {
        dg_batch_row *r = &s->row[i];
        const double longer = r->batch / exp(rate[i] + factor) / r->ms;
        r->ms *= longer;
        r->median *= longer;
        r->low *= longer;
        r->high *= longer;
        r->of_peak /= longer;
    }
}

static void add(dg_search *s, const dg_batch_row *look)
{
    int at = row_of(s, look->batch);
    if (at < 0) {
        for (at = s->rows++; at > 0 && s->row[at - 1].batch > look->batch; at--) s->row[at] = s->row[at - 1];
        s->row[at] = *look;
        s->row[at].looks = 0;
    }
    s->row[at].looks++;
    s->look[s->looks++] = *look;
    estimate(s);
}

static bool leaves_steps(const dg_search *s, int batch)
{
    return dg_batch_updates(&s->limits, batch) >= s->limits.least_steps;
}

static int fastest(const dg_search *s, bool enough_steps)
{
    int best = -1;
    for (int i = 0; i < s->rows; i++)
        if ((!enough_steps || leaves_steps(s, s->row[i].batch)) &&
            (best < 0 || dg_batch_rate(&s->row[i]) > dg_batch_rate(&s->row[best])))
            best = i;
    return best;
}

/* Choose the smallest size nearly as fast as the fastest. If the ladder (series of growing sizes) ended for lack of
 * time, assume that larger sizes gain as much again as the last doubling did. This holds for a step time of a + c *
 * batch. */
static int choose(const dg_search *s, bool enough_steps)
{
    const int best = fastest(s, enough_steps);
    const double share = (1 + s->rising) * (1 - SURE * s->limits.within);
    for (int i = 0; i < best; i++)
        if ((!enough_steps || leaves_steps(s, s->row[i].batch)) &&
            dg_batch_rate(&s->row[i]) >= share * dg_batch_rate(&s->row[best]))
            return i;
    return best;
}

int dg_search_choice(const dg_search *s)
{
    const int i = choose(s, true);
    return i < 0 && s->rows ? 0 : i;
}

/* True if there is time for a look, judged by the nearest timed size; always true for the first. *most: its seconds. */
static bool has_time(const dg_search *s, int batch, double *most)
{
    const dg_batch_row *near = &s->row[0];
    *most = s->limits.look / (row_of(s, batch) < 0 ? 2 : 1);
    for (int i = 1; i < s->rows; i++)
        if (abs(s->row[i].batch - batch) < abs(near->batch - batch)) near = &s->row[i];
    const double step = s->rows ? 1e-3 * near->ms * fmax(1, (double)batch / near->batch) : 0;
    const double takes = fmax(near->setup, 2 * step) + fmax(COUNTED * step, *most + step);
    return !s->rows || s->machine.elapsed(s->machine.context) + SLOWER * takes <= s->limits.seconds;
}

static dg_err look(dg_search *s, int batch)
{
    double seconds;
    dg_batch_row row;
    bool yes = false;
    if (s->looks == DG_SEARCH_LOOKS || !has_time(s, batch, &seconds)) return DG_OK;
    const dg_err e = s->machine.look(s->machine.context, batch, seconds, &row, &yes, s->why_not);
    if (!e && yes) add(s, &row);
    else if (!e && row_of(s, batch) < 0) s->refused = batch;
    else if (!e) s->row[row_of(s, batch)].looks = LOOKS; /* it fitted before: another program has taken the memory */
    return e;
}

static double best_rate(const dg_search *s, int from, int to)
{
    double best = 0;
    for (int i = from; i < to; i++) best = fmax(best, dg_batch_rate(&s->row[i]));
    return best;
}

static bool is_flat(const dg_search *s)
{
    const int before = s->rows - FLAT;
    return before > 0 && best_rate(s, before, s->rows) < GAIN * best_rate(s, 0, before);
}

/* True if the series of growing sizes ends before this size. s->end then has the reason. */
static bool ends(dg_search *s, int batch)
{
    const dg_search_limits *l = &s->limits;
    const int n = s->rows, last = n ? s->row[n - 1].batch : 0;
    double seconds;
    if (batch > l->most) snprintf(s->end, sizeof s->end, "; sizes above %d were not tried (--max-batch)", last);
    else if (batch > l->images)
        snprintf(s->end, sizeof s->end, "; the dataset has only %d image%s", l->images, dg_s(l->images));
    else if (!has_time(s, batch, &seconds)) {
        snprintf(s->end, sizeof s->end, "; sizes above %d were not tried within %g s: use --seconds %.0f", last,
                 l->seconds, ceil(4 * fmax(l->seconds, 7e-3 * s->row[n - 1].ms)));
        if (n > 2) s->rising = fmax(0, dg_batch_rate(&s->row[n - 1]) / dg_batch_rate(&s->row[n - 3]) - 1);
    }
    return *s->end;
}

/* Measure growing sizes. If a doubling has no gain, measure its sizes and the sizes before it again. */
static dg_err climb(dg_search *s)
{
    dg_err e = DG_OK;
    for (int batch = s->limits.from; !e && !ends(s, batch); batch = dg_batch_after(batch)) {
        e = look(s, batch);
        if (s->refused) snprintf(s->end, sizeof s->end, "; %d does not fit: %s", s->refused, s->why_not);
        for (int i = s->rows - FLAT - 2; i < s->rows && is_flat(s) && !e; i++)
            if (i >= 0) e = look(s, s->row[i].batch);
        if (s->refused || is_flat(s)) break;
    }
    return e;
}

static dg_err try_neighbours(dg_search *s)
{
    const dg_search_limits *l = &s->limits;
    const int chosen = s->rows ? s->row[dg_search_choice(s)].batch : 0;
    dg_err e = DG_OK;
    for (int quarters = 3; quarters <= 5 && !e; quarters += 2) {
        const int batch = chosen * quarters / 4;
        if (batch >= l->from && batch <= l->most && batch <= l->images && row_of(s, batch) < 0 &&
            (!s->refused || batch < s->refused) && leaves_steps(s, batch))
            e = look(s, batch);
    }
    return e;
}

/* Measure again each size that may be chosen or on which the choice depends, and both neighbours of the chosen size. */
static dg_err look_again(dg_search *s)
{
    dg_err e = DG_OK;
    for (int i = 0; i < s->rows && !e; i++) {
        const dg_batch_row *r = &s->row[i];
        bool decides = abs(i - dg_search_choice(s)) == 1 && r->looks < 2;
        for (int steps = 0; steps < 2; steps++) {
            const int best = fastest(s, steps);
            decides = decides || (best >= 0 && (!steps || leaves_steps(s, r->batch)) &&
                                  dg_batch_rate(r) >= DOUBT * (1 - s->limits.within) * dg_batch_rate(&s->row[best]));
        }
        if (decides && r->looks < LOOKS) e = look(s, r->batch);
    }
    return e;
}

dg_err dg_search_run(dg_search *s, const dg_search_limits *limits, const dg_search_machine *machine)
{
    *s = (dg_search){.limits = *limits, .machine = *machine};
    dg_err e = climb(s);
    for (int i = 0; i < 2 && !e; i++) e = try_neighbours(s); /* measured again, a neighbour may become the choice */
    for (int i = 0; i < LOOKS && !e; i++) {                  /* at least two rounds, and more while time is left */
        if (i > 1 && s->machine.elapsed(s->machine.context) > s->limits.seconds / 3) break;
        e = look_again(s);
    }
    return e;
}

static double percent_faster(const dg_batch_row *a, const dg_batch_row *b)
{
    return 100 * (dg_batch_rate(a) / dg_batch_rate(b) - 1);
}

void dg_search_sentence(const dg_search *s, char *out, size_t size)
{
    const dg_search_limits *l = &s->limits;
    const int choice = dg_search_choice(s), best = fastest(s, true);
    *out = 0;
    if (choice < 0) return;
    const dg_batch_row *chosen = &s->row[choice], *wish = &s->row[choose(s, false)];
    const int steps = dg_batch_updates(l, chosen->batch);
    char among[64] = "", less[300] = "";
    if (wish->batch > chosen->batch) {
        snprintf(among, sizeof among, " that leaves %d step%s per epoch", l->least_steps, dg_s(l->least_steps));
        snprintf(less, sizeof less, "; %d would be %.0f%% faster, with %.0f%% fewer updates", wish->batch,
                 percent_faster(wish, chosen), 100 - 100.0 * dg_batch_updates(l, wish->batch) / steps);
    } else if (s->refused) snprintf(among, sizeof among, " that fits");
    int n = snprintf(out, size, "%d: the fastest%s", chosen->batch, among);
    if (best < 0)
        n = snprintf(out, size,
                     "%d: the smallest size that was tried; it leaves %d step%s per epoch, fewer than %d "
                     "(--min-steps); --min-batch %d tries smaller sizes",
                     chosen->batch, steps, dg_s(steps), l->least_steps, chosen->batch > 8 ? 8 : 1);
    else if (best != choice)
        n = snprintf(out, size,
                     "%d: the smallest size that is clearly within %g%% of the fastest%s, which is %d (%.1f%% faster)",
                     chosen->batch, 100 * l->within, among, s->row[best].batch, percent_faster(&s->row[best], chosen));
    /* omit s->end if the limit on steps per epoch decided: larger sizes could not have been chosen anyway */
    const bool end = s->refused || leaves_steps(s, s->row[s->rows - 1].batch);
    snprintf(out + n, size - (size_t)n, "%s%s; the search took %.3g s.", best < 0 ? "" : less, end ? s->end : "",
             s->machine.elapsed(s->machine.context));
}
