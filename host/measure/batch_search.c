#include "core/base/plural.h"
#include "host/measure/batch_search.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GAIN 1.01  /* what a doubling must bring */
#define DOUBT 0.95 /* of the slowest rate that may be chosen: so much may be noise */
#define SLOWER 1.1 /* than before the machine may be while a size takes its time */
#define LONGER 0.5 /* seconds more than --seconds: worth a word */
#define AGAIN 1.5  /* times as long as the ladder took the search may take, if the ladder took more than --seconds */
#define SURE 0.25  /* of the share that may be lost: the rest is left to noise */
enum {
    FEWEST_STEPS = 7, /* that a size costs: two to warm up, five that count */
    FLAT = 3,         /* doublings in a row that gain nothing, and larger sizes will not either */
    SUPPORT = 5,      /* comparisons that agree on a size, and then it is believed */
    MOST_SIZES = 14,  /* unless the doublings alone take more: then two beside the choice */
    MOST_MOVES = 2    /* of the choice that are followed */
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
    return batch < 1 ? 0 : l->pictures / batch + (l->pictures % batch && !l->drop_last);
}

double dg_batch_epoch(const dg_search_limits *l, const dg_batch_row *r)
{
    const int used = l->drop_last ? l->pictures - l->pictures % r->batch : l->pictures;
    return 1e-3 * r->ms * used / r->batch;
}

void dg_search_begin(dg_search *s, const dg_search_limits *limits)
{
    *s = (dg_search){.limits = *limits, .until = limits->seconds};
}

void dg_search_free(dg_search *s)
{
    for (int i = 0; i < s->rows; i++) free(s->row[i].sample);
    s->rows = 0;
}

static bool leaves_steps(const dg_search *s, int batch)
{
    return dg_batch_updates(&s->limits, batch) >= s->limits.least_steps;
}

static int fastest(const dg_search *s, bool enough_steps)
{
    int best = -1;
    for (int i = 0; i < s->rows; i++) {
        if (enough_steps && !leaves_steps(s, s->row[i].batch)) continue;
        if (best < 0 || dg_batch_rate(&s->row[i]) > dg_batch_rate(&s->row[best])) best = i;
    }
    return best;
}

/* The smallest that is surely nearly as fast as the fastest; rows are by batch. Where there was no time for larger
 * ones, the fastest is one of those: a step of a + c batch has as much to gain again as the last doubling gained. */
static int choose(const dg_search *s, bool enough_steps)
{
    const int best = fastest(s, enough_steps);
    const double share = (1 + s->rising) * (1 - SURE * s->limits.within);
    const double least = best < 0 ? 0 : share * dg_batch_rate(&s->row[best]);
    for (int i = 0; i < best; i++)
        if ((!enough_steps || leaves_steps(s, s->row[i].batch)) && dg_batch_rate(&s->row[i]) >= least) return i;
    return best;
}

int dg_search_choice(const dg_search *s)
{
    const int i = choose(s, true);
    return i < 0 && s->rows ? 0 : i;
}

static bool is_sure(const dg_batch_row *r)
{
    return r->looks + 1 >= DG_SEARCH_LOOKS || (r->looks && r->agree >= SUPPORT + 2 * (r->compared - r->agree));
}

/* The fastest of the rows before the last n; there are n + 1 at least. */
static dg_batch_row *best_before(dg_search *s, int n)
{
    dg_batch_row *best = &s->row[0];
    for (int i = 1; i < s->rows - n; i++)
        if (dg_batch_rate(&s->row[i]) > dg_batch_rate(best)) best = &s->row[i];
    return best;
}

/* Whether the last n sizes gained nothing over those before. Only called while all rows are steps of the ladder. */
static bool gained_nothing(dg_search *s, int n)
{
    if (s->rows <= n) return false;
    const double before = dg_batch_rate(best_before(s, n));
    double last = 0;
    for (int i = s->rows - n; i < s->rows; i++) last = fmax(last, dg_batch_rate(&s->row[i]));
    return last < GAIN * before;
}

double dg_search_look(const dg_search *s, int batch) { return s->limits.look / (dg_search_is_tried(s, batch) ? 1 : 2); }

/* Seconds that a size will take, by the nearest that was timed: before its steps count, and in a look that may end
 * with a step begun in time. */
static double cost(const dg_search *s, int batch)
{
    const dg_batch_row *near = &s->row[0];
    for (int i = 1; i < s->rows; i++)
        if (abs(s->row[i].batch - batch) < abs(near->batch - batch)) near = &s->row[i];
    const double ms = near->ms * fmax(1, (double)batch / near->batch);
    const double look = fmax((FEWEST_STEPS - 2) * 1e-3 * ms, dg_search_look(s, batch) + 1e-3 * ms);
    return SLOWER * (fmax(near->setup, 2e-3 * ms) + look);
}

static bool has_time(const dg_search *s, int batch, double elapsed)
{
    return !s->rows || elapsed + cost(s, batch) <= s->until;
}

/* The share that the last doubling gained, in a ladder of sizes; 0: nothing, or there was none. */
static double last_gain(const dg_search *s)
{
    if (s->rows < 3) return 0;
    return fmax(0, dg_batch_rate(&s->row[s->rows - 1]) / dg_batch_rate(&s->row[s->rows - 3]) - 1);
}

/* Whether the ladder may go on to this size: for longer where steps are long, unless it could not be chosen. */
static bool may_climb(const dg_search *s, int batch, double elapsed)
{
    const bool patient = leaves_steps(s, batch) && elapsed + cost(s, batch) <= s->limits.patience;
    return s->rows < DG_SEARCH_ROWS - 2 && (patient || has_time(s, batch, elapsed));
}

/* A doubling that gained nothing: one more look at each of its sizes and at the best before. Noise may hide a gain of a
 * percent all the same, so the search ends after three such doublings, or where a size more cannot be tried. */
static int doubt_doubling(dg_search *s, int next, double elapsed)
{
    const dg_search_limits *l = &s->limits;
    dg_batch_row *last = &s->row[s->rows - 2], *before = best_before(s, 2);
    dg_batch_row *doubt = !last[0].looks ? &last[0] : !last[1].looks ? &last[1] : before;
    const bool seen = doubt == before && (before->when >= last[0].when || before->when >= last[1].when);
    if (!seen && has_time(s, doubt->batch, elapsed)) return doubt->batch;
    if (!gained_nothing(s, 2 * FLAT) && next <= l->most && next <= l->pictures && may_climb(s, next, elapsed))
        return next;
    s->end = DG_SEARCH_FLAT;
    return 0;
}

static int climb(dg_search *s, double elapsed)
{
    const dg_search_limits *l = &s->limits;
    const int batch = s->rows ? dg_batch_after(s->row[s->rows - 1].batch) : l->from;
    if (s->refused) s->end = DG_SEARCH_NO_ROOM;
    else if (gained_nothing(s, 2)) return doubt_doubling(s, batch, elapsed);
    else if (batch > l->most) s->end = DG_SEARCH_MOST;
    else if (batch > l->pictures) s->end = DG_SEARCH_PICTURES;
    else if (!may_climb(s, batch, elapsed)) {
        s->end = DG_SEARCH_SECONDS;
        s->rising = last_gain(s);
    }
    s->climbed = s->rows;
    return s->end ? 0 : batch;
}

bool dg_search_is_tried(const dg_search *s, int batch)
{
    for (int i = 0; i < s->rows; i++)
        if (s->row[i].batch == batch) return true;
    return false;
}

static int look_beside(dg_search *s, double elapsed)
{
    const dg_search_limits *l = &s->limits;
    static const int quarters[] = {3, 5};
    const int chosen = s->rows ? s->row[dg_search_choice(s)].batch : 0;
    if (chosen != s->beside && s->moves++ < MOST_MOVES) {
        s->beside = chosen;
        s->neighbours = 0;
    }
    while (chosen && s->neighbours < 2) {
        const int batch = s->beside * quarters[s->neighbours++] / 4;
        const int room = s->climbed > MOST_SIZES - 1 ? s->climbed + 2 : MOST_SIZES;
        const bool may = s->rows < room && batch >= l->from && batch <= l->most && batch <= l->pictures &&
                         !dg_search_is_tried(s, batch);
        if (may && (!s->refused || batch < s->refused) && leaves_steps(s, batch) && has_time(s, batch, elapsed))
            return batch;
    }
    return 0;
}

/* Of those that may be chosen or decide what is, and the sizes around the choice: one with the fewest looks, the
 * fastest first. */
static int look_again(const dg_search *s, double elapsed)
{
    const dg_batch_row *next = NULL;
    for (int k = 0; k < 2; k++) {
        const int best = fastest(s, k == 0);
        const double least = best < 0 ? 0 : DOUBT * (1 - s->limits.within) * dg_batch_rate(&s->row[best]);
        for (int i = 0; i < s->rows; i++) {
            const dg_batch_row *r = &s->row[i];
            const double rate = dg_batch_rate(r);
            const bool beside = abs(i - dg_search_choice(s)) == 1 && !r->looks;
            if ((rate < least && !beside) || is_sure(r) || (k == 0 && !leaves_steps(s, r->batch))) continue;
            if (!next || r->looks < next->looks || (r->looks == next->looks && rate > dg_batch_rate(next))) next = r;
        }
    }
    return next && has_time(s, next->batch, elapsed) ? next->batch : 0;
}

int dg_search_next(dg_search *s, double elapsed)
{
    s->elapsed = elapsed;
    s->tries = 0;
    if (s->looks == DG_SEARCH_ALL_LOOKS) return 0;
    if (!s->end) {
        s->tries = climb(s, elapsed);
        if (s->end && elapsed > s->until) s->until = fmin(s->limits.patience, AGAIN * elapsed);
    }
    if (!s->tries) s->tries = look_beside(s, elapsed);
    if (!s->tries) s->tries = look_again(s, elapsed);
    return s->tries;
}

void dg_search_refused(dg_search *s, const char *why)
{
    for (int i = 0; i < s->rows; i++)
        if (s->row[i].batch == s->tries) { /* it did fit: another program has taken the memory */
            s->row[i].looks = DG_SEARCH_LOOKS;
            s->row[i].when = s->looks + 1;
            return;
        }
    s->refused = s->tries;
    snprintf(s->why_not, sizeof s->why_not, "%s", why);
}

/* ---- The sentence ---- */

static const char *fewer_updates(char out[40], double share)
{
    static const struct {
        double share;
        const char *words;
    } known[] = {{0.25, "a quarter fewer updates"},
                 {1.0 / 3, "a third fewer updates"},
                 {0.5, "half the updates"},
                 {2.0 / 3, "a third of the updates"},
                 {0.75, "a quarter of the updates"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (fabs(share - known[i].share) < 0.02) return known[i].words;
    snprintf(out, 40, "%.0f%% fewer updates", 100 * share);
    return out;
}

static int add(char *out, size_t size, int at, const char *format, ...) __attribute__((format(printf, 4, 5)));
static int add(char *out, size_t size, int at, const char *format, ...)
{
    va_list ap;
    if ((size_t)at + 1 >= size) return at;
    va_start(ap, format);
    const int n = vsnprintf(out + at, size - (size_t)at, format, ap);
    va_end(ap);
    return n < 0 ? at : at + n;
}

static double percent_faster(const dg_batch_row *a, const dg_batch_row *b)
{
    return 100 * (dg_batch_rate(a) / dg_batch_rate(b) - 1);
}

/* Why this one, among those that were tried. */
static int say_why(const dg_search *s, const dg_batch_row *chosen, char *out, size_t size, int n)
{
    const dg_search_limits *l = &s->limits;
    const int best = fastest(s, true), any = choose(s, false), steps = dg_batch_updates(l, chosen->batch);
    if (best < 0)
        return add(out, size, n,
                   "the smallest that was tried; it leaves %d step%s per epoch, where %d are wanted "
                   "(--least-steps); --from %d tries smaller ones",
                   steps, dg_s(steps), l->least_steps, chosen->batch > 8 ? 8 : 1);
    const dg_batch_row *b = &s->row[best], *wish = &s->row[any];
    const bool by_steps = wish->batch > chosen->batch;
    char words[40], among[64] = "";
    if (by_steps)
        snprintf(among, sizeof among, " that leaves %d step%s per epoch", l->least_steps, dg_s(l->least_steps));
    else if (s->end == DG_SEARCH_NO_ROOM) snprintf(among, sizeof among, " that fits");
    if (b == chosen) n = add(out, size, n, "the fastest%s", among);
    else
        n = add(out, size, n, "the smallest that is surely within %g%% of the fastest%s, which is %d (%.1f%% faster)",
                100 * l->within, among, b->batch, percent_faster(b, chosen));
    if (!by_steps) return n;
    const double share = 1 - (double)dg_batch_updates(l, wish->batch) / steps;
    return add(out, size, n, "; %d would be %.0f%% faster, with %s", wish->batch, percent_faster(wish, chosen),
               fewer_updates(words, share));
}

/* Why there were no larger ones: of interest where speed was still rising. */
static int say_end(const dg_search *s, char *out, size_t size, int n)
{
    const dg_search_limits *l = &s->limits;
    const dg_batch_row *last = &s->row[s->rows - 1];
    switch (s->end) {
    case DG_SEARCH_NO_ROOM: return add(out, size, n, "; %d does not: %s", s->refused, s->why_not);
    case DG_SEARCH_MOST: return add(out, size, n, "; more than %d were not tried (--most)", last->batch);
    case DG_SEARCH_PICTURES:
        return add(out, size, n, "; the dataset has only %d image%s", l->pictures, dg_s(l->pictures));
    case DG_SEARCH_SECONDS:
        if (s->rows == 1)
            return add(out, size, n, "; nothing else was tried, its steps take %.3g s each: --seconds %.0f for more",
                       1e-3 * last->ms, ceil(10 * fmax(l->seconds, 7e-3 * last->ms)));
        return add(out, size, n, "; more than %d were not tried in %g s: --seconds %.0f for more", last->batch,
                   l->seconds, ceil(4 * l->seconds));
    case DG_SEARCH_FLAT:
    case DG_SEARCH_RUNS: break;
    }
    return n;
}

void dg_search_sentence(const dg_search *s, char *out, size_t size)
{
    const int choice = dg_search_choice(s);
    *out = 0;
    if (choice < 0) return;
    const dg_batch_row *chosen = &s->row[choice];
    int n = add(out, size, 0, "%d: ", chosen->batch);
    n = say_why(s, chosen, out, size, n);
    /* where too few steps decided, larger ones would not have been chosen anyway */
    if (dg_batch_updates(&s->limits, s->row[s->rows - 1].batch) >= s->limits.least_steps || s->end == DG_SEARCH_NO_ROOM)
        n = say_end(s, out, size, n);
    if (s->rows > 1 && s->elapsed > s->limits.seconds + LONGER)
        n = add(out, size, n, "; the search took %.0f s, a step of batch %d takes %.3g s", s->elapsed,
                s->row[s->rows - 1].batch, 1e-3 * s->row[s->rows - 1].ms);
    (void)add(out, size, n, ".");
}
