#include "host/doctor/doctor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/plural.h"
#include "host/net/gan.h"

bool dg_doctor_knows(const dg_recipe *r) { return dg_recipe_base(r) == &dg_gan_recipe; }

static void begin(dg_doctor *d, dg_loss loss)
{
    *d = (dg_doctor){0};
    d->now.guess = dg_losses[loss].guess;
    d->now.loss_d_before = d->now.diversity = d->now.best_diversity = d->now.settled_diversity = NAN;
    d->now.coverage = d->now.best_coverage = d->now.nearest = d->now.recall = NAN;
}

/* After DG_DOCTOR_TOLD findings of a rule, all further findings share one entry, which counts them. */
static dg_finding *begin_finding(dg_doctor *d, int rule, double value)
{
    const bool repeat = d->times[rule]++ >= DG_DOCTOR_TOLD;
    const int place = repeat && d->repeated[rule] ? d->repeated[rule] : ++d->findings;
    dg_finding *f = &d->finding[place - 1];
    d->open[rule] = place;
    if (repeat && d->repeated[rule]) {
        f->repeats++;
        f->end_epoch = f->end_step = 0;
        if (dg_doctor_rules[rule].below ? value < f->worst : value > f->worst) f->worst = value;
        return f;
    }
    *f = (dg_finding){
        .rule = &dg_doctor_rules[rule], .epoch = d->now.epoch, .step = d->now.step, .worst = value, .repeats = repeat};
    if (repeat) d->repeated[rule] = place;
    return f;
}

static void judge_rule(dg_doctor *d, int rule, dg_doctor_news *news, void *context)
{
    const dg_doctor_rule *r = &dg_doctor_rules[rule];
    const double value = r->value(&d->now);
    if (isnan(value)) return;
    dg_finding *f = d->open[rule] ? &d->finding[d->open[rule] - 1] : NULL;
    if (f && (r->below ? value < f->worst : value > f->worst)) f->worst = value;
    const bool over = f          ? r->below ? value > r->ends : value < r->ends
                      : r->below ? value < r->begins
                                 : value > r->begins;
    d->in_a_row[rule] = over && (f || r->needs(&d->now)) ? d->in_a_row[rule] + 1 : 0;
    if (d->in_a_row[rule] < r->windows) return;
    d->in_a_row[rule] = 0;
    if (f) {
        f->end_epoch = d->now.epoch;
        f->end_step = d->now.step;
        d->open[rule] = 0;
    } else {
        f = begin_finding(d, rule, value);
    }
    if (news) news(context, f);
}

static void judge(dg_doctor *d, bool at_end, dg_doctor_news *news, void *context)
{
    for (int i = 0; dg_doctor_rules[i].name; i++)
        if (dg_doctor_rules[i].at_end == at_end) judge_rule(d, i, news, context);
}

static void close_window(dg_doctor *d, dg_doctor_news *news, void *context)
{
    dg_vitals *v = &d->now;
    const double n = (double)d->sum.rows, mean = d->sum.margin / n;
    if (!d->sum.rows) return;
    v->rows = d->sum.rows;
    v->span = v->step - d->sum.first;
    v->d_x = d->sum.d_x / n;
    v->d_gz = d->sum.d_gz / n;
    v->loss_d = d->sum.loss_d / n;
    v->mean_loss = fmax(v->loss_d, d->sum.loss_g / n);
    v->swing = sqrt(fmax(0, d->sum.margin_squares / n - mean * mean));
    if (d->number_before != d->sum.number) v->loss_d_before = NAN;
    judge(d, false, news, context);
    d->number_before = d->sum.number + 1;
    v->loss_d_before = v->loss_d;
    v->most_loss = v->most_loss_d = 0;
    memset(&d->sum, 0, sizeof d->sum);
}

static void take_measures(dg_vitals *v, const dg_log_row *row)
{
    const double *m = row->measure;
    if (row->judged && !isnan(m[DG_LOG_COVERAGE])) v->coverage = m[DG_LOG_COVERAGE];
    if (row->judged && !isnan(m[DG_LOG_NEAREST])) v->nearest = m[DG_LOG_NEAREST];
    if (row->judged && !isnan(m[DG_LOG_RECALL])) v->recall = m[DG_LOG_RECALL];
    v->best_coverage = fmax(v->best_coverage, v->coverage);
}

void dg_doctor_row(dg_doctor *d, const dg_log_row *row, dg_doctor_news *news, void *context)
{
    const double loss_d = row->value[DG_LOSS_D_REAL] + row->value[DG_LOSS_D_FAKE], loss_g = row->value[DG_LOSS_G],
                 margin = row->value[DG_D_X] - row->value[DG_D_GZ1];
    const uint64_t number = (row->step - 1) / DG_DOCTOR_WINDOW;
    if (d->sum.rows && number != d->sum.number) close_window(d, news, context);
    if (!d->sum.rows++) d->sum.first = row->step;
    d->sum.number = number;
    d->sum.d_x += row->value[DG_D_X];
    d->sum.d_gz += row->value[DG_D_GZ1];
    d->sum.loss_d += loss_d;
    d->sum.loss_g += loss_g;
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

void dg_doctor_end(dg_doctor *d, bool finished, dg_doctor_news *news, void *context)
{
    if (!d->now.step) return;
    close_window(d, news, context);
    if (finished) judge(d, true, news, context);
}

void dg_doctor_sum_up(const dg_doctor *d, dg_doctor_news *news, void *context)
{
    for (int i = 0; i < d->findings; i++) {
        dg_finding f = d->finding[i];
        f.summary = true;
        if (f.repeats) news(context, &f);
    }
}

void dg_doctor_replay(dg_doctor *d, dg_loss loss, const dg_log_row *row, long rows, const dg_grid_seen *grid, int grids)
{
    int g = 0;
    begin(d, loss);
    for (long i = 0; i < rows; i++) {
        while (g < grids && grid[g].epoch < row[i].epoch) dg_doctor_grid(d, &grid[g++]);
        dg_doctor_row(d, &row[i], NULL, NULL);
    }
    while (g < grids && rows && grid[g].epoch <= row[rows - 1].epoch) dg_doctor_grid(d, &grid[g++]);
}

int dg_doctor_examine(dg_doctor *d, dg_loss loss, bool finished, const dg_log_row *row, long rows,
                      const dg_grid_seen *grid, int grids)
{
    dg_doctor_replay(d, loss, row, rows, grid, grids);
    dg_doctor_end(d, finished, NULL, NULL);
    return d->findings;
}

char *dg_finding_text(const dg_finding *f, char *out, size_t size)
{
    int n = dg_message_keys() ? snprintf(out, size, "[%s] ", f->rule->name) : 0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    if (f->repeats)
        n += snprintf(out + n, size - (size_t)n, "%d more time%s; the worst case: ", f->repeats, dg_s(f->repeats));
    if (f->end_step && !f->repeats) snprintf(out + n, size - (size_t)n, "%s", f->rule->ended);
    else snprintf(out + n, size - (size_t)n, f->rule->says, f->worst); /* the format is a constant of dg_doctor_rules */
#pragma GCC diagnostic pop
    return out;
}

bool dg_finding_note(const dg_finding *f, char *out, size_t size)
{
    char text[300];
    dg_finding_text(f, text, sizeof text);
    if (f->summary) snprintf(out, size, "since epoch %ju: %s", (uintmax_t)f->epoch, text);
    else if (f->repeats > 1 || (f->repeats && f->end_step)) return false;
    else if (f->end_step) snprintf(out, size, "epoch %ju: %s", (uintmax_t)f->end_epoch, text);
    else if (f->repeats)
        snprintf(out, size, "epoch %ju: %s began %d times; repeats are counted and reported at the end",
                 (uintmax_t)f->epoch, f->rule->name, DG_DOCTOR_TOLD);
    else snprintf(out, size, "epoch %ju: %s (%s)", (uintmax_t)f->epoch, text, f->rule->advice);
    return true;
}
