/* `dcgan data DIR`: check a dataset, or --synthesize one. */
#include "host/cli/commands.h"
#include "host/cli/data_report.h"
#include "host/data/dataset.h"
#include "host/data/synthesize/synthesize.h"
#include "host/net/classifier.h"
#include "host/net/model.h"
#include "host/net/recipes.h"
#include "host/trainer/progress.h"
#include "core/base/plural.h"
#include "core/base/shell.h"
#include "core/base/team.h"

#include <omp.h>
#include <stdlib.h>

/* Shape of the training images, and the number of classes (0 for a GAN). */
typedef struct {
    int size, channels, classes;
    char model[64];
} shape;

static dg_err shape_of(const dg_options *o, shape *out)
{
    *out = (shape){.size = o->size, .channels = o->channels};
    if (out->size > 0 && out->channels > 0) return DG_OK;
    dg_model *m = malloc(sizeof *m);
    if (!m) return dg_fail(DG_DEVICE, "out of memory for a model");
    dg_err e = dg_model_read(o->model, m);
    const dg_recipe *recipe = e ? NULL : dg_recipe_find(m);
    if (!e && out->size <= 0) out->size = m->size;
    if (!e && out->channels <= 0) out->channels = m->channels;
    if (recipe && recipe->labels) out->classes = dg_classifier_classes(m);
    snprintf(out->model, sizeof out->model, "%.63s", e ? "" : m->name);
    free(m);
    return e;
}

static void on_progress(void *context, long done, long total)
{
    dg_progress **p = context;
    dg_progress_count(*p, "reading images", done, total);
    if (done < total) return;
    dg_progress_close(*p);
    *p = NULL;
}

static dg_err report(const dg_options *o, const char *dir, const shape *s)
{
    dg_progress *p = dg_progress_open(o->quiet);
    dg_dataset_options want = dg_all_images(o, dir, s->size, s->channels);
    want.least = 0;
    want.labelled = true;
    want.fixed_shape = s->classes > 0;
    want.test = o->test;
    want.seed = o->seed;
    want.cache = o->cache;
    want.progress = on_progress;
    want.context = &p;
    dg_err e = dg_data_report(&want, s->classes ? s->model : NULL, s->classes, o->sheet, o->json);
    dg_progress_close(p);
    return e || !o->aug_preview ? e : dg_aug_preview(o, &want);
}

int dg_cmd_data(const dg_options *o)
{
    const char *dir = o->operands ? o->operand[0] : o->data;
    if (o->operands > 1 || !dir || !*dir)
        return (int)dg_fail(DG_USAGE, "data: needs one folder; use %s data DIR, or %s data --synthesize DIR --count N",
                            dg_program(), dg_program());
    shape s;
    dg_err e = shape_of(o, &s);
    if (e) return (int)e;
    const int size = s.size;
    if (!o->synthesize) return (int)report(o, dir, &s);
    int count = o->count > 0 ? o->count : 1000;
    if (o->threads > 0) omp_set_num_threads(o->threads);
    e = dg_team_begin(o->threads);
    if (!e) e = dg_synthesize(dir, count, size, o->seed, o->classes);
    if (!e && !o->quiet && o->classes)
        dg_say("%d image%s of %d x %d in %d classes in %s", count, dg_s(count), size, size, o->classes, dir);
    else if (!e && !o->quiet) dg_say("%d image%s of %d x %d in %s", count, dg_s(count), size, size, dir);
    return (int)e;
}
