#include "host/measure/batch_sweep.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int dg_sweep_after(const dg_sweep_range *r, int batch)
{
    const int next = r->step ? batch + r->step : dg_batch_after(batch);
    return next <= r->last ? next : 0;
}

enum { PASSES = 10 }; /* passes over all sizes, so that a disturbance of the machine affects different sizes */

void dg_sweep_free(dg_sweep *s)
{
    free(s->row);
    *s = (dg_sweep){.rows = 0};
}

/* Measure each size once and keep its fastest time so far. The range ends at the first size that does not fit. */
static dg_err pass(dg_batch_bench *b, dg_sweep_range *range, double seconds, dg_sweep *s)
{
    dg_err e = DG_OK;
    int i = 0;
    for (int batch = range->first; batch && !e; batch = dg_sweep_after(range, batch), i++) {
        dg_batch_row row, *best = &s->row[i];
        bool yes = batch <= b->data->train;
        /* skip a size in some passes if one step takes as long as several passes */
        if (i < s->rows && best->looks * fmax(1e-3 * best->ms, seconds / PASSES) >= 0.99 * seconds) continue;
        if (yes) e = dg_batch_time(b, batch, seconds / PASSES, true, &row, &yes, s->why_not);
        else snprintf(s->why_not, sizeof s->why_not, "the dataset has only %d images", b->data->train);
        if (!yes) range->last = batch - 1;
        if (e || !yes) continue;
        row.looks = i < s->rows ? best->looks + 1 : 1;
        if (i < s->rows && best->ms < row.ms) best->looks = row.looks;
        else *best = row;
        if (i == s->rows) s->rows++;
    }
    return e;
}

dg_err dg_sweep_run(dg_batch_bench *b, const dg_sweep_range *range, double seconds, dg_sweep *s)
{
    int most = 0;
    dg_sweep_range fits = *range;
    for (int batch = range->first; batch; batch = dg_sweep_after(range, batch)) most++;
    *s = (dg_sweep){.row = calloc((size_t)most + 1, sizeof *s->row)};
    dg_err e = s->row ? DG_OK : dg_fail(DG_DEVICE, "out of memory for %d sizes", most);
    for (int i = 0; i < PASSES && !e && range->first <= fits.last; i++) e = pass(b, &fits, seconds, s);
    if (!e && !s->rows) e = dg_fail(DG_DEVICE, "batch %d: %s", range->first, s->why_not);
    return e;
}

double dg_sweep_usage(const dg_batch_row *r) { return isnan(r->nvml) ? r->busy : r->nvml; }

dg_batch_row dg_sweep_at(const dg_sweep *s, int batch)
{
    int i = 0;
    while (i < s->rows - 2 && s->row[i + 1].batch < batch) i++;
    const dg_batch_row *a = &s->row[i], *b = s->rows > 1 ? a + 1 : a;
    const double part = a == b ? 0 : (double)(batch - a->batch) / (b->batch - a->batch);
    dg_batch_row r = {.batch = batch, .looks = 1, .ms = a->ms + part * (b->ms - a->ms)};
    r.busy = dg_sweep_usage(a) + part * (dg_sweep_usage(b) - dg_sweep_usage(a));
    r.nvml = NAN;
    /* times of sizes below the first one are extrapolated, but not below a minimum time per step */
    if (batch < s->row[0].batch) r.ms = fmax(r.ms, s->row[0].ms * batch / (4.0 * s->row[0].batch));
    return r;
}

void dg_sweep_rule(const dg_sweep *s, dg_batch_rule_kind kind, int from, int images, dg_batch_rule *out)
{
    dg_batch_row r;
    dg_rule_begin(out, kind, from, images);
    do {
        if (out->batch > s->row[s->rows - 1].batch) {
            out->end = DG_RULE_CANNOT;
            return;
        }
        r = dg_sweep_at(s, out->batch);
    } while (dg_rule_next(out, r.ms, r.busy));
}

static double no_time(void *curve)
{
    (void)curve;
    return 0;
}

static dg_err look(void *curve, int batch, double seconds, dg_batch_row *row, bool *yes, char why[160])
{
    const dg_sweep *s = curve;
    (void)seconds;
    *row = dg_sweep_at(s, batch);
    *yes = batch <= s->row[s->rows - 1].batch;
    snprintf(why, 160, "the sweep ends before it");
    return DG_OK;
}

int dg_sweep_search(dg_sweep *s, const dg_search_limits *l)
{
    dg_search_limits within = *l;
    dg_search found;
    if (within.from < s->row[0].batch) within.from = s->row[0].batch;
    (void)dg_search_run(&found, &within, &(dg_search_machine){s, no_time, look});
    const int i = dg_search_choice(&found);
    return i < 0 ? 0 : found.row[i].batch;
}
