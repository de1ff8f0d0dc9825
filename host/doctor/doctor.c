#include "host/doctor/doctor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "host/net/gan.h"

bool dg_doctor_knows(const dg_recipe *r) { return r == &dg_gan_recipe; }

void dg_doctor_begin(dg_doctor *d)
{
    *d = (dg_doctor){0};
    d->now.loss_d_before = d->now.diversity = d->now.best_diversity = d->now.settled_diversity = NAN;
    d->now.coverage = d->now.best_coverage = d->now.nearest = NAN;
}

static void begin_finding(dg_doctor *d, int rule, double value)
{
    if (d->findings < DG_FINDINGS) d->findings++;
    d->open[rule] = d->findings;
    d->finding[d->findings - 1] =
        (dg_finding){.rule = &dg_doctor_rules[rule], .epoch = d->now.epoch, .step = d->now.step, .worst = value};
}

static void judge_rule(dg_doctor *d, int rule, dg_doctor_news *news, void *context)
{
    const dg_doctor_rule *r = &dg_doctor_rules[rule];
    const double value = r->value(&d->now);
    if (isnan(value)) return;
    dg_finding *f = d->open[rule] ? &d->finding[d->open[rule] - 1] : NULL;
    if (f && f->rule != r) f = NULL, d->open[rule] = 0; /* replaced by a later one */
    if (f && (r->below ? value < f->worst : value > f->worst)) f->worst = value;
    const bool over = f          ? r->below ? value > r->ends : value < r->ends
                      : r->below ? value < r->begins
                                 : value > r->begins;
    d->in_a_row[rule] = over ? d->in_a_row[rule] + 1 : 0;
    if (d->in_a_row[rule] < r->windows) return;
    d->in_a_row[rule] = 0;
    if (f) {
        f->end_epoch = d->now.epoch;
        f->end_step = d->now.step;
        d->open[rule] = 0;
    } else {
        begin_finding(d, rule, value);
        f = &d->finding[d->findings - 1];
    }
    if (news) news(context, f);
}

static void judge(dg_doctor *d, bool at_end, dg_doctor_news *news, void *context)
{
    for (int i = 0; dg_doctor_rules[i].name; i++)
        if (dg_doctor_rules[i].at_end == at_end) judge_rule(d, i, news, context);
}

/* The window under way is whole. */
static void close_window(dg_doctor *d, dg_doctor_news *news, void *context)
{
    dg_vitals *v = &d->now;
    const double n = (double)d->sum.rows, mean = d->sum.margin / n;
    if (!d->sum.rows) return;
    v->d_x = d->sum.d_x / n;
    v->d_gz = d->sum.d_gz / n;
    v->loss_d = d->sum.loss_d / n;
    v->swing = sqrt(fmax(0, d->sum.margin_squares / n - mean * mean));
    judge(d, false, news, context);
    v->loss_d_before = v->loss_d;
    v->most_loss = v->most_loss_d = 0;
    memset(&d->sum, 0, sizeof d->sum);
}

static void take_measures(dg_vitals *v, const dg_log_row *row)
{
    for (int i = 0; i < DG_LOGGED && row->judged; i++) {
        const int place = dg_measure_logged(i)->place;
        if (place == DG_BESIDE_COVERAGE && !isnan(row->measure[i])) v->coverage = row->measure[i];
        if (place == DG_BESIDE_NEAREST && !isnan(row->measure[i])) v->nearest = row->measure[i];
    }
    v->best_coverage = fmax(v->best_coverage, v->coverage);
}

void dg_doctor_row(dg_doctor *d, const dg_log_row *row, dg_doctor_news *news, void *context)
{
    const double loss_d = row->value[DG_LOSS_D_REAL] + row->value[DG_LOSS_D_FAKE], loss_g = row->value[DG_LOSS_G],
                 margin = row->value[DG_D_X] - row->value[DG_D_GZ1];
    const uint64_t number = (row->step - 1) / DG_DOCTOR_WINDOW;
    if (d->sum.rows && number != d->sum.number) close_window(d, news, context);
    d->sum.number = number;
    d->sum.rows++;
    d->sum.d_x += row->value[DG_D_X];
    d->sum.d_gz += row->value[DG_D_GZ1];
    d->sum.loss_d += loss_d;
    d->sum.margin += margin;
    d->sum.margin_squares += margin * margin;
    d->now.step = row->step;
    d->now.epoch = row->epoch;
    d->now.most_loss_d = fmax(d->now.most_loss_d, loss_d);
    d->now.most_loss = fmax(d->now.most_loss, fmax(loss_d, loss_g));
    take_measures(&d->now, row);
}

void dg_doctor_grid(dg_doctor *d, const dg_grid_seen *grid)
{
    d->now.diversity = grid->diversity;
    d->now.best_diversity = fmax(d->now.best_diversity, grid->diversity);
    if (d->now.step >= DG_DOCTOR_WARM_UP) d->now.settled_diversity = fmax(d->now.settled_diversity, grid->diversity);
}

void dg_doctor_end(dg_doctor *d, dg_doctor_news *news, void *context)
{
    if (!d->now.step) return;
    close_window(d, news, context);
    judge(d, true, news, context);
}

void dg_doctor_replay(dg_doctor *d, const dg_log_row *row, long rows, const dg_grid_seen *grid, int grids)
{
    int g = 0;
    dg_doctor_begin(d);
    for (long i = 0; i < rows; i++) {
        while (g < grids && grid[g].epoch < row[i].epoch) dg_doctor_grid(d, &grid[g++]);
        dg_doctor_row(d, &row[i], NULL, NULL);
    }
    while (g < grids && rows && grid[g].epoch <= row[rows - 1].epoch) dg_doctor_grid(d, &grid[g++]);
}

int dg_doctor_examine(dg_doctor *d, const dg_log_row *row, long rows, const dg_grid_seen *grid, int grids)
{
    dg_doctor_replay(d, row, rows, grid, grids);
    dg_doctor_end(d, NULL, NULL);
    return d->findings;
}

char *dg_finding_text(const dg_finding *f, char *out, size_t size)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    if (f->end_step) snprintf(out, size, "%s", f->rule->ended);
    else snprintf(out, size, f->rule->says, f->worst); /* from the table */
#pragma GCC diagnostic pop
    return out;
}
