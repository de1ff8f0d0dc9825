#include "host/infer/labeller.h"

#include <stdlib.h>
#include <string.h>

#include "host/net/recipe.h"

static dg_err split_names(dg_labeller *l)
{
    char *at = l->info.classes;
    for (char *c = at; *c; c++) l->classes += *c == '\n';
    l->name = calloc((size_t)l->classes + 1, sizeof *l->name);
    if (!l->name) return dg_fail(DG_DEVICE, "out of memory for %d classes", l->classes);
    for (int i = 0; i < l->classes; i++) {
        l->name[i] = at;
        at += strcspn(at, "\n");
        *at++ = 0;
    }
    return DG_OK;
}

static dg_err load(dg_labeller *l, const dg_st *st, const char *path)
{
    dg_job_options o = {.tested = DG_LABELLER_CHUNK, .input = l->info.input};
    dg_err e = dg_job_build(&l->job, &l->model, &o, l->backend);
    if (!e) e = dg_job_alloc(&l->job, NULL, NULL);
    return e ? e : dg_checkpoint_load(st, path, &l->job);
}

dg_err dg_labeller_open(const dg_device *d, const char *path, dg_labeller **out)
{
    dg_labeller *l = *out = calloc(1, sizeof *l);
    if (!l) return dg_fail(DG_DEVICE, "out of memory");
    dg_st *st = NULL;
    dg_err e = dg_checkpoint_open(path, &st, &l->model, &l->info);
    const dg_recipe *r = e ? NULL : dg_recipe_find(&l->model);
    if (!e && (!r->labels || !l->info.classes))
        e = r->labels
                ? dg_fail(DG_USAGE, "%s: has no class names; make a checkpoint from it with `import`", path)
                : dg_fail(
                      DG_USAGE,
                      DG_MSG(
                          "not-a-classifier",
                          "%s: is a %s, not a classifier; train one with a model that has sections [C.1], [C.2] ..."),
                      path, r->name);
    if (!e) e = split_names(l);
    if (!e) e = dg_device_open_trained(d, l->info.precision, &l->backend);
    if (!e) e = load(l, st, path);
    dg_st_free(st);
    return e;
}

int dg_labeller_features(const dg_labeller *l) { return dg_job_hidden(&l->job).C; }

/* Average each feature map over its pixels: (n, H, W, C) -> (n, C). */
static void mean_over_pixels(const double *map, int n, dg_shape s, double *out)
{
    const size_t C = (size_t)s.C, pixels = (size_t)s.H * (size_t)s.W;
    for (size_t i = 0; i < (size_t)n; i++)
        for (size_t c = 0; c < C; c++) {
            double sum = 0;
            for (size_t k = 0; k < pixels; k++) sum += map[(i * pixels + k) * C + c];
            out[i * C + c] = sum / (double)pixels;
        }
}

dg_err dg_labeller_shares(dg_labeller *l, const uint8_t *pixels, int n, double *p, double *hidden)
{
    const dg_shape s = dg_job_hidden(&l->job);
    uint8_t *records = NULL;
    double *map = hidden ? malloc((size_t)n * dg_count(s) * sizeof *map) : NULL;
    dg_err e = map || !hidden ? dg_job_records(&l->job, pixels, NULL, n, &records)
                              : dg_fail(DG_DEVICE, "out of memory for %d images", n);
    if (!e) e = dg_job_test(&l->job, records, n, p, NULL, map);
    if (!e && map) mean_over_pixels(map, n, s, hidden);
    free(map);
    free(records);
    return e;
}

void dg_labeller_close(dg_labeller *l)
{
    if (!l) return;
    dg_job_free(&l->job);
    if (l->backend) l->backend->close(l->backend);
    dg_checkpoint_info_free(&l->info);
    free(l->name);
    free(l);
}
