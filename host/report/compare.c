/* Writes the HTML page that compares runs. */
#include <stdlib.h>
#include <string.h>

#include "host/options/option_table.h"
#include "host/report/html.h"
#include "host/report/plot.h"
#include "host/report/report.h"
#include "host/run/log_curves.h"

typedef struct {
    const dg_report_run *run;
    int runs;
} several;

static const dg_recipe *common_recipe(const several *s)
{
    for (int i = 1; i < s->runs; i++)
        if (s->run[i].recipe != s->run[0].recipe) return dg_recipe_base(s->run[0].recipe);
    return s->run[0].recipe;
}

static void put_plot(FILE *to, const several *s, const dg_run_log *log, const dg_metric *m, int logged, dg_chart *p)
{
    bool any = m;
    for (int i = 0; i < s->runs; i++) {
        dg_curve_add(p, s->run[i].name, &log[i], m, logged);
        p->curve[i].bins = 0; /* value ranges of several runs would overlap */
        any |= p->curve[i].points > 0;
    }
    if (any) dg_plot_write(to, p);
}

static dg_err put_curves(FILE *to, const several *s)
{
    const dg_recipe *recipe = common_recipe(s);
    dg_run_log log[DG_REPORT_RUNS];
    bool epochs = true;
    dg_chart *p = calloc(1, sizeof *p);
    if (!p) return dg_fail(DG_DEVICE, "out of memory for curves");
    for (int i = 0; i < s->runs; i++) {
        log[i] = (dg_run_log){recipe, s->run[i].row, s->run[i].place, s->run[i].n};
        epochs &= dg_curve_by_epochs(&log[i]);
    }
    fputs("<section aria-labelledby=\"curves-title\">\n<h2 id=\"curves-title\">Curves</h2>\n", to);
    for (int k = 0; k < recipe->metrics; k++) {
        const dg_metric *m = &recipe->metric[k];
        if (!m->legend) continue;
        *p = (dg_chart){.x_label = "epoch", .y_max = recipe->plot[m->plot].y_max, .epochs = epochs};
        if (m->title) snprintf(p->title, sizeof p->title, "%s", m->title);
        else snprintf(p->title, sizeof p->title, "%s: %s", recipe->plot[m->plot].title, m->legend);
        put_plot(to, s, log, m, 0, p);
    }
    for (int k = 0; k < DG_LOGGED; k++) {
        *p = (dg_chart){.x_label = "epoch"};
        snprintf(p->title, sizeof p->title, "%s", dg_logged[k].label);
        put_plot(to, s, log, NULL, k, p);
    }
    fputs("</section>\n", to);
    free(p);
    return DG_OK;
}

static void put_grid(FILE *to, const dg_report_run *r)
{
    const dg_report_file *p = &r->grids.grid[r->grids.n - 1];
    fputs("<figure><img alt=\"Samples of ", to);
    dg_html_text(to, r->name);
    fprintf(to, " after epoch %ju\" width=\"%d\" height=\"%d\" src=\"", (uintmax_t)p->epoch, p->W, p->H);
    dg_report_file_src(to, p);
    fputs("\"><figcaption>", to);
    dg_html_text(to, r->name);
    fprintf(to, ", epoch %ju</figcaption></figure>\n", (uintmax_t)p->epoch);
}

static void put_grids(FILE *to, const several *s)
{
    int with = 0;
    for (int i = 0; i < s->runs; i++) with += s->run[i].grids.n > 0;
    if (!with) return;
    fputs("<section aria-labelledby=\"grids-title\">\n<h2 id=\"grids-title\">Newest samples</h2>\n<div "
          "class=\"pair\">\n",
          to);
    for (int i = 0; i < s->runs; i++)
        if (s->run[i].grids.n) put_grid(to, &s->run[i]);
    fputs("</div>\n</section>\n", to);
}

static void put_heads(FILE *to, const several *s, const char *first)
{
    fprintf(to, "<div class=\"wide\"><table><thead><tr><th scope=\"col\">%s</th>", first);
    for (int i = 0; i < s->runs; i++) {
        fputs("<th scope=\"col\">", to);
        dg_html_text(to, s->run[i].name);
        fputs("</th>", to);
    }
    fputs("</tr></thead><tbody>\n", to);
}

static bool put_setting(FILE *to, const several *s, const dg_option *t)
{
    char value[DG_REPORT_RUNS][DG_CONFIG_VALUE];
    bool same = true;
    for (int i = 0; i < s->runs; i++) {
        value[i][0] = 0;
        if (s->run[i].configured) dg_option_get(&s->run[i].then, t, value[i], sizeof value[i]);
        same &= !strcmp(value[i], value[0]);
    }
    if (same) return false;
    fprintf(to, "<tr><th scope=\"row\">%s</th>", t->name);
    for (int i = 0; i < s->runs; i++) {
        fputs("<td>", to);
        dg_html_text(to, *value[i] ? value[i] : "–");
        fputs("</td>", to);
    }
    fputs("</tr>\n", to);
    return true;
}

static void put_settings(FILE *to, const several *s)
{
    bool differ = false;
    fputs("<section aria-labelledby=\"settings-title\">\n<h2 id=\"settings-title\">Settings that differ</h2>\n", to);
    put_heads(to, s, "Setting");
    for (const dg_option *t = dg_option_table; t->name; t++)
        if (t->flags & DG_OPT_SAVED) differ |= put_setting(to, s, t);
    fputs("</tbody></table></div>\n", to);
    if (!differ) fputs("<p>None: the settings are equal.</p>\n", to);
    fputs("</section>\n", to);
}

static void put_numbers(FILE *to, const several *s)
{
    const dg_recipe *recipe = common_recipe(s);
    fputs("<section aria-labelledby=\"numbers-title\">\n<h2 id=\"numbers-title\">Last values</h2>\n", to);
    put_heads(to, s, "Column of log.csv");
    for (int k = -3; k < recipe->metrics; k++) {
        static const char *const name[] = {"epoch", "step", "seconds"};
        if (k >= 0 && !recipe->metric[k].name) continue;
        fprintf(to, "<tr><th scope=\"row\">%s</th>", k < 0 ? name[k + 3] : recipe->metric[k].name);
        for (int i = 0; i < s->runs; i++) {
            const dg_log_row *last = &s->run[i].row[s->run[i].n - 1];
            fputs("<td>", to);
            if (k == -3 || k == -2) fprintf(to, "%ju", (uintmax_t)(k == -3 ? last->epoch : last->step));
            else dg_html_number(to, k == -1 ? last->seconds : dg_metric_value(&recipe->metric[k], last->value));
            fputs("</td>", to);
        }
        fputs("</tr>\n", to);
    }
    fputs("</tbody></table></div>\n</section>\n", to);
}

static dg_err put_page(FILE *to, const void *context)
{
    const several *s = context;
    char line[80];
    snprintf(line, sizeof line, "%d runs compared", s->runs);
    dg_html_begin(to, "Comparison", line);
    put_grids(to, s);
    const dg_err e = put_curves(to, s);
    put_numbers(to, s);
    put_settings(to, s);
    dg_html_end(to);
    return e;
}

static dg_err check(const dg_report_run *r, int runs)
{
    for (int i = 0; i < runs; i++) {
        if (!r[i].n)
            return dg_fail(DG_USAGE, DG_MSG("compare-no-steps", "%s: the log has no training steps yet"), r[i].path);
        if (dg_recipe_base(r[i].recipe) != dg_recipe_base(r[0].recipe))
            return dg_fail(DG_USAGE,
                           DG_MSG("other-training",
                                  "%s: cannot be compared with %s (one is a GAN, the other a classifier)"),
                           r[i].path, r[0].path);
    }
    return DG_OK;
}

dg_err dg_report_compare(const dg_report_run *r, int runs, const char *path)
{
    const dg_err e = check(r, runs);
    return e ? e : dg_html_page(NULL, path, put_page, &(several){r, runs});
}
