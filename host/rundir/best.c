#include "host/rundir/best.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/files/safetensors.h"
#include "host/rundir/history.h"

const char *dg_best_name(const dg_recipe *recipe)
{
    return recipe->labels ? "best.safetensors" : "checkpoint-best.safetensors";
}

double dg_best_score(const dg_recipe *recipe, const dg_log_row *row)
{
    for (int k = 0; k < recipe->metrics; k++) {
        const dg_metric *m = &recipe->metric[k];
        const double v = row->value[m->term[0]];
        if (m->over == DG_OVER_TEST && m->kind == DG_METRIC_PROBABILITY && !isnan(v)) return v;
    }
    const double frechet = row->measure[DG_LOG_FRECHET];
    if (row->judged && !recipe->labels && !isnan(frechet)) return -frechet;
    return -INFINITY;
}

static uint64_t step_of(const dg_rundir *r, const char *name)
{
    char path[4096];
    dg_st *st = NULL;
    if (!dg_rundir_has(r, "%s", name)) return 0;
    const dg_err e = dg_st_open(dg_rundir_file(r, path, "%s", name), DG_ST_CHECKED, &st);
    const char *text = e ? NULL : dg_st_get(st, "step");
    const uint64_t step = text ? strtoull(text, NULL, 10) : 0;
    dg_st_free(st);
    return step;
}

static double score_at(const dg_recipe *recipe, const dg_log_row *row, long n, uint64_t step)
{
    while (n > 0 && row[n - 1].step > step) n--;
    return n > 0 && row[n - 1].step == step ? dg_best_score(recipe, &row[n - 1]) : -INFINITY;
}

/* Find the first checkpoint with the best score up to `step`. Returns its score; -INFINITY: none. */
static double find_best(const dg_rundir *r, const dg_recipe *recipe, const dg_log_row *row, long n, uint64_t step,
                        char name[256])
{
    double most = -INFINITY;
    uint64_t first = 0;
    DIR *d = dg_list_directory(r->fd);
    for (struct dirent *f; d && (f = readdir(d));) {
        const char *end = strrchr(f->d_name, '.');
        const bool checkpoint = !strncmp(f->d_name, "checkpoint", 10) && end && !strcmp(end, ".safetensors");
        if (!checkpoint && strcmp(f->d_name, dg_best_name(recipe))) continue;
        const uint64_t s = step_of(r, f->d_name);
        const double v = s && s <= step ? score_at(recipe, row, n, s) : -INFINITY;
        if (isinf(v) || v < most || (v == most && s >= first)) continue;
        most = v;
        first = s;
        snprintf(name, 256, "%s", f->d_name);
    }
    if (d) closedir(d);
    return most;
}

double dg_best_settle(const dg_rundir *r, const dg_recipe *recipe, const dg_log_row *row, long n, uint64_t step)
{
    const char *best = dg_best_name(recipe);
    char name[256];
    if (!recipe->labels && !dg_rundir_has(r, "%s", best) && (!n || !row[n - 1].judged)) return -INFINITY;
    const uint64_t held = step_of(r, best);
    if (held && held <= step && isinf(score_at(recipe, row, n, held))) return -INFINITY;
    const double v = find_best(r, recipe, row, n, step, name);
    if (!isinf(v) && strcmp(name, best) && dg_history_name(r, name, best)) dg_warn("%s", dg_message());
    if (isinf(v) && held > step && unlinkat(r->fd, best, 0))
        dg_warn("%s/%s: belongs to a later step and cannot be removed: %s", r->path, best, strerror(errno));
    return v;
}
