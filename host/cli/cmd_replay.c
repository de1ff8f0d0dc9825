/* `dcgan replay FILE`: repeats a recorded PyTorch run step by step, and prints the differences. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/memory_file.h"
#include "host/cli/commands.h"
#include "host/files/json.h"
#include "host/run/replay.h"
#include "host/net/recipe.h"

typedef struct {
    double tol, worst;
    char worst_name[160];
    FILE *json;
    int rows;
} report;

static void show(void *context, const char *name, double difference, const char *where)
{
    report *r = context;
    bool bad = !(difference <= r->tol); /* also true for NaN */
    if (r->json)
        fprintf(r->json, "%s\n  {\"name\": \"%s\", \"difference\": %.9g}", r->rows ? "," : "", name,
                isfinite(difference) ? difference : -1);
    else dg_say("%-46s %10.3e  %-14s %s", name, difference, where, bad ? "above --tol" : "");
    if (!r->rows++ || !(difference <= r->worst)) {
        r->worst = difference;
        snprintf(r->worst_name, sizeof r->worst_name, "%s", name);
    }
}

/* Print the losses of the recorded and of the repeated run as JSON for tools/pytorch/drift.py. */
static void print_losses(FILE *to, const dg_oracle *o, const dg_metrics *m, int steps)
{
    const dg_recipe *r = dg_recipe_find(&o->model);
    const char *comma = "";
    fprintf(to, "],\n \"losses\": {");
    for (int i = 0; i < r->metrics; i++) {
        const dg_metric *k = &r->metric[i];
        if (!k->name || k->terms != 1 || k->kind != DG_METRIC_LOSS || k->over == DG_OVER_TEST) continue;
        char name[64];
        snprintf(name, sizeof name, "expect.%s", k->name);
        const double *theirs = dg_st_find(o->st, name)->data;
        for (int side = 0; side < 2; side++, comma = ",") {
            fprintf(to, "%s\n  \"%s_%s\": [", comma, k->name, side ? "file" : "ours");
            for (int s = 0; s < steps; s++) {
                double v = side ? theirs[s] : dg_metric_value(k, m[s].value);
                if (isfinite(v)) fprintf(to, "%s%.17g", s ? ", " : "", v);
                else fprintf(to, "%snull", s ? ", " : "");
            }
            fprintf(to, "]");
        }
    }
    fprintf(to, "}");
}

static void begin(const report *r, const dg_oracle *o, const dg_backend *b, int steps)
{
    const char *torch = dg_st_get(o->st, "torch"), *type = dg_st_get(o->st, "dtype"),
               *precision = dg_precision_name(b->real, b->math);
    if (r->json) {
        fprintf(r->json, "{\"oracle\": ");
        dg_json_text(r->json, o->path);
        fprintf(r->json, ", \"backend\": ");
        dg_json_text(r->json, b->name);
        fprintf(r->json, ", \"precision\": \"%s\", \"steps\": %d, \"rows\": [", precision, steps);
        return;
    }
    dg_say("replaying %s: PyTorch %s, %s, %d of %d steps, batch %d", o->path, torch ? torch : "?", type ? type : "?",
           steps, o->steps, o->batch);
    dg_say("on %s, %s; max difference relative to the largest value:", b->name, precision);
}

static dg_err judge(const report *r, const dg_oracle *o, bool asked)
{
    const bool bad = !(r->worst <= r->tol);
    if (r->json)
        fprintf(r->json, ",\n \"worst\": %.9g, \"tol\": %.9g, \"ok\": %s}\n", isfinite(r->worst) ? r->worst : -1,
                isfinite(r->tol) ? r->tol : -1, bad ? "false" : "true");
    else
        dg_say("%d quantities compared; max relative difference %.3e (%s)%s", r->rows, r->worst, r->worst_name,
               asked && !bad ? ", within --tol" : "");
    if (!bad) return DG_OK;
    return dg_fail(DG_FAILED, DG_MSG("replay-differs", "%s: %s differs by %.3e, more than --tol %g"), o->path,
                   r->worst_name, r->worst, r->tol);
}

static dg_err run(const dg_options *opt, const dg_oracle *o, report *r)
{
    dg_backend *b = NULL;
    const int steps = opt->steps > 0 && opt->steps < o->steps ? (int)opt->steps : o->steps;
    const dg_replay_report to = {.compared = show, .context = r};
    dg_metrics *m = calloc((size_t)steps, sizeof *m);
    dg_err e = m ? dg_open_backend(opt, &b) : dg_fail(DG_DEVICE, "out of memory");
    if (!e) {
        begin(r, o, b, steps);
        e = dg_replay(o, b, steps, &to, m);
        if (!e && r->json) print_losses(r->json, o, m, steps);
        if (!e) e = judge(r, o, opt->tol > 0);
        b->close(b);
    }
    free(m);
    return e;
}

int dg_cmd_replay(const dg_options *opt)
{
    dg_oracle o = {0};
    dg_memory_file m = {0}; /* buffers the JSON output, which is printed only after success */
    report r = {.tol = opt->tol > 0 ? opt->tol : INFINITY, .json = opt->json ? dg_memory_open(&m) : NULL};
    dg_err e = r.json || !opt->json ? dg_oracle_open(&o, opt->operand[0]) : dg_fail(DG_DEVICE, "out of memory");
    if (!e) e = run(opt, &o, &r);
    if (r.json && !dg_memory_close(r.json, &m)) e = dg_fail(DG_DEVICE, "out of memory for the JSON text");
    if (m.text && (e == DG_OK || e == DG_FAILED)) fputs(m.text, stdout);
    free(m.text);
    dg_oracle_close(&o);
    return (int)e;
}
