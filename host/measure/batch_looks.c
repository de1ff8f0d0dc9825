/* Several looks at each size: what the search takes for its time, and what a sweep does. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/measure/batch_search.h"
#include "host/measure/samples.h"

#define AGREE 0.01 /* logarithms of rates that say the same */
enum {
    NEAR = 2,   /* so many looks before and after one are compared with it */
    PASSES = 20 /* until the estimates stand still */
};

void dg_batch_merge(dg_batch_row *row, dg_batch_row *again)
{
    const bool slower = again->ms > row->ms;
    dg_batch_row slow = slower ? *again : *row, fast = slower ? *row : *again;
    const int n = row->samples + again->samples;
    double *all = n ? malloc((size_t)n * sizeof *all) : NULL;
    if (all) { /* otherwise the samples of the faster look have to do */
        if (row->samples) memcpy(all, row->sample, (size_t)row->samples * sizeof *all);
        if (again->samples) memcpy(all + row->samples, again->sample, (size_t)again->samples * sizeof *all);
        free(fast.sample);
        fast.sample = all;
        fast.samples = n;
    }
    free(slow.sample);
    fast.looks = row->looks + 1;
    *row = fast;
    again->sample = NULL;
}

double dg_batch_slowed(const dg_batch_row *row, int rows)
{
    double least = 0, most = 0;
    for (int i = 0; i < rows; i++) {
        if (least == 0 || row[i].speed < least) least = row[i].speed;
        most = fmax(most, row[i].speed);
    }
    return most > 0 ? 1 - least / most : 0;
}

static int row_of(const dg_search *s, int batch)
{
    int i = 0;
    while (s->row[i].batch != batch) i++;
    return i;
}

static double log_of(const dg_batch_row *look) { return log(look->batch / look->ms); }

/* What the looks at row i say of its rate when compared with those shortly before and after: logarithms, in *said. */
static int compared(const dg_search *s, int i, const double log_rate[DG_SEARCH_ROWS], double *said)
{
    int n = 0;
    for (int k = 0; k < s->looks; k++) {
        if (s->look[k].batch != s->row[i].batch) continue;
        for (int j = k - NEAR; j <= k + NEAR; j++) {
            if (j < 0 || j >= s->looks || s->look[j].batch == s->look[k].batch) continue;
            said[n++] = log_rate[row_of(s, s->look[j].batch)] + log_of(&s->look[k]) - log_of(&s->look[j]);
        }
    }
    return n;
}

/* Rates but for one factor that all have: each where half of its comparisons are above it. Where the machine changed
 * between two looks their comparison is wrong; most are not. */
static void compare(dg_search *s, double log_rate[DG_SEARCH_ROWS])
{
    double said[2 * NEAR * DG_SEARCH_LOOKS];
    for (int pass = 0; pass < PASSES; pass++)
        for (int i = 0; i < s->rows; i++) {
            const int n = compared(s, i, log_rate, said);
            if (n) log_rate[i] = dg_sort_median(said, n);
        }
    for (int i = 0; i < s->rows; i++) {
        dg_batch_row *r = &s->row[i];
        r->compared = compared(s, i, log_rate, said);
        r->agree = 0;
        for (int k = 0; k < r->compared; k++) r->agree += fabs(said[k] - log_rate[i]) < AGREE;
    }
}

/* What goes with the time, from the look that is nearest to it. */
static void take_nearest(const dg_search *s, dg_batch_row *row)
{
    const dg_batch_row *nearest = row;
    double least = INFINITY;
    for (int k = 0; k < s->looks; k++) {
        const double off = fabs(log(s->look[k].ms / row->ms));
        if (s->look[k].batch != row->batch || off >= least) continue;
        least = off;
        nearest = &s->look[k];
    }
    const double longer = row->ms / nearest->ms;
    row->median = longer * nearest->median;
    row->low = longer * nearest->low;
    row->high = longer * nearest->high;
    row->speed = nearest->speed;
    row->setup = nearest->setup;
    row->busy = nearest->busy;
    row->of_peak = nearest->of_peak > 0 ? nearest->of_peak / longer : nearest->of_peak;
    row->utilisation = nearest->utilisation;
    row->waits = nearest->waits;
}

/* The factor is that of the machine as it mostly was. */
static void estimate(dg_search *s)
{
    double log_rate[DG_SEARCH_ROWS] = {0}, over[DG_SEARCH_ALL_LOOKS];
    for (int i = 0; i < s->rows; i++) log_rate[i] = log_of(&s->row[i]);
    compare(s, log_rate);
    for (int k = 0; k < s->looks; k++) over[k] = log_of(&s->look[k]) - log_rate[row_of(s, s->look[k].batch)];
    const double most = dg_sort_median(over, s->looks);
    for (int i = 0; i < s->rows; i++) {
        s->row[i].ms = s->row[i].batch / exp(log_rate[i] + most);
        take_nearest(s, &s->row[i]);
    }
}

void dg_search_timed(dg_search *s, dg_batch_row *row)
{
    int at = 0;
    s->look[s->looks] = *row;
    s->look[s->looks].sample = NULL;
    s->looks++;
    while (at < s->rows && s->row[at].batch != row->batch) at++;
    if (at < s->rows) dg_batch_merge(&s->row[at], row);
    else {
        for (s->rows++; at > 0 && s->row[at - 1].batch > row->batch; at--) s->row[at] = s->row[at - 1];
        s->row[at] = *row;
    }
    s->row[at].when = s->looks;
    estimate(s);
}
