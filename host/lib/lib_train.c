/* The library: training. */
#include "host/lib/lib_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/checkpoint/checkpoint_layout.h"
#include "host/net/recipe.h"

dcgan_training dcgan_training_defaults(void)
{
    return (dcgan_training){
        .model = "dcgan64-paper", .batch = 64, .seed = 1, .lr = 0.0002, .beta1 = 0.5, .beta2 = 0.999, .eps = 1e-8};
}

static dg_err check_training(const dcgan_training *t)
{
    if (t->batch < 1 || t->batch > 65536) return dg_fail(DG_USAGE, "batch size %d: must be 1 to 65536", t->batch);
    if (!(t->lr > 0) || isinf(t->lr)) return dg_fail(DG_USAGE, "learning rate %g: must be above 0", t->lr);
    if (!(t->beta1 >= 0 && t->beta1 < 1 && t->beta2 >= 0 && t->beta2 < 1 && t->eps > 0))
        return dg_fail(DG_USAGE,
                       "Adam with beta1 %g, beta2 %g, eps %g: betas must be at least 0 and below 1, eps above 0",
                       t->beta1, t->beta2, t->eps);
    return DG_OK;
}

static dg_size size_of(const dcgan_images *p) { return (dg_size){p->size, p->height ? p->height : p->size}; }

static dg_err check_images(const dcgan_images *p, const dg_model *m, int batch)
{
    const dg_size size = size_of(p);
    if (!dg_same_size(size, m->size) || p->channels != m->channels)
        return dg_fail(DG_DATA, "the images are %d x %d x %d, but model %s needs %d x %d x %d", size.W, size.H,
                       p->channels, m->name, m->size.W, m->size.H, m->channels);
    if (p->count < batch) return dg_fail(DG_DATA, "only %d images; one batch needs at least %d", p->count, batch);
    return DG_OK;
}

/* Count the images per class for samples. A checkpoint needs a name for each class: its number, unless it was resumed.
 */
static dg_err take_classes(dcgan_job *job, const dcgan_images *p)
{
    dg_generator *g = &job->g;
    const int classes = g->model.classes;
    int *images = calloc((size_t)classes, sizeof *images);
    dg_err e = images ? DG_OK : dg_fail(DG_DEVICE, "out of memory for %d classes", classes);
    for (int i = 0; i < p->count && images; i++) images[p->labels[i]]++;
    if (!e) e = dg_job_set_classes(&g->job, images);
    free(images);
    if (e || g->info.classes) return e;
    g->info.classes = dg_ck_numbered_names(classes);
    return g->info.classes ? DG_OK : dg_fail(DG_DEVICE, "out of memory for %d classes", classes);
}

static dg_err check_labels(const dcgan_images *p, const dg_model *m)
{
    if (m->classes && !p->labels)
        return dg_fail(DG_USAGE, "model %s has %d classes, but dcgan_images.labels is NULL", m->name, m->classes);
    for (int i = 0; i < p->count && m->classes; i++)
        if (p->labels[i] < 0 || p->labels[i] >= m->classes)
            return dg_fail(DG_DATA, "image %d has label %d; model %s has %d classes, numbered from 0", i,
                           (int)p->labels[i], m->name, m->classes);
    return DG_OK;
}

static dg_err build(dcgan_job *job, const dcgan_training *t, const dcgan_images *p)
{
    dg_generator *g = &job->g;
    const dg_recipe *recipe;
    const dg_job_options o = {.batch = t->batch,
                              .samples = t->batch < DG_GENERATOR_CHUNK ? t->batch : DG_GENERATOR_CHUNK,
                              .train = true,
                              .run = true,
                              .flip = t->flip != 0,
                              .beta1 = t->beta1,
                              .beta2 = t->beta2,
                              .eps = t->eps};
    dg_err e = dg_recipe_for(&g->model, &recipe);
    if (!e && recipe->labels)
        e = dg_fail(DG_USAGE, "model %s is a %s, which the library cannot train; use the program dcgan", g->model.name,
                    recipe->name);
    if (!e) e = check_images(p, &g->model, t->batch);
    if (!e) e = check_labels(p, &g->model);
    if (e) return e;
    job->trainer.lr = t->lr;
    job->data = (dg_dataset){.count = p->count,
                             .train = p->count,
                             .size = size_of(p),
                             .channels = p->channels,
                             .pixels = (uint8_t *)(uintptr_t)p->pixels};
    job->data.fingerprint = dg_dataset_fingerprint(&job->data, g->backend->threads);
    job->train = true;
    e = dg_trainer_open(&job->trainer, &g->job, &g->model, &o, g->backend, p->pixels, p->labels, p->count,
                        t->drop_last != 0, g->info.seed);
    if (!e && g->job.plan[DG_PLAN_SAMPLE].ops) g->inputs = dg_job_inputs(&g->job);
    if (!e && g->model.classes) e = take_classes(job, p);
    return e;
}

static dcgan_error train(dcgan_backend *b, const dcgan_training *t, const dcgan_images *p, dcgan_job **out)
{
    const dcgan_training defaults = dcgan_training_defaults();
    *out = NULL;
    if (!t) t = &defaults;
    dg_err e = check_training(t);
    if (e) return (dcgan_error)e;
    if (dg_lib_job(b, out)) return DCGAN_DEVICE;
    dg_generator *g = &(*out)->g;
    g->info.seed = t->seed;
    e = dg_model_read(t->model, &g->model);
    if (!e) e = build(*out, t, p);
    if (!e) e = dg_job_init(&g->job, t->seed);
    return dg_lib_made(e, out);
}

dcgan_error dcgan_train(dcgan_backend *b, const dcgan_training *t, const dcgan_images *p, dcgan_job **out)
{
    DG_GUARDED_ON(b, train(b, t, p, out));
}

static dg_err take_up(dcgan_job *job, const dg_st *st, const char *path)
{
    const dg_checkpoint_info *i = &job->g.info;
    const dg_err e = dg_checkpoint_precision(i, path, job->g.backend);
    if (e) return e;
    if (i->data_count && i->data_fingerprint != job->data.fingerprint)
        dg_warn("the images differ from those that %s was trained with (number of images: %ju then, %d now)", path,
                (uintmax_t)i->data_count, job->data.count);
    job->trainer.at = (dg_position){.step = i->step,
                                    .epoch = i->epoch,
                                    .batch = i->batch < dg_epoch_length(&job->trainer.feed) ? i->batch : 0};
    return dg_checkpoint_load(st, path, &job->g.job);
}

static dcgan_error resume(dcgan_backend *b, const char *checkpoint, const dcgan_training *t, const dcgan_images *p,
                          dcgan_job **out)
{
    const dcgan_training defaults = dcgan_training_defaults();
    *out = NULL;
    if (!t) t = &defaults;
    dg_err e = check_training(t);
    if (e) return (dcgan_error)e;
    if (dg_lib_job(b, out)) return DCGAN_DEVICE;
    dg_generator *g = &(*out)->g;
    dg_st *st = NULL;
    e = dg_checkpoint_open(checkpoint, &st, &g->model, &g->info);
    if (!e) e = build(*out, t, p);
    if (!e) e = take_up(*out, st, checkpoint);
    dg_st_free(st);
    return dg_lib_made(e, out);
}

dcgan_error dcgan_resume(dcgan_backend *b, const char *checkpoint, const dcgan_training *t, const dcgan_images *p,
                         dcgan_job **out)
{
    DG_GUARDED_ON(b, resume(b, checkpoint, t, p, out));
}

static dcgan_error step(dcgan_job *job, int n)
{
    if (!job->train) return (dcgan_error)dg_fail(DG_USAGE, "this job was loaded for inference and cannot train");
    return (dcgan_error)dg_trainer_steps(&job->trainer, n);
}

dcgan_error dcgan_step(dcgan_job *job, int n) { DG_GUARDED_ON(job->on, step(job, n)); }

const char *dcgan_metric_name(const dcgan_job *job, int i)
{
    const dg_recipe *r = job->g.job.recipe;
    for (int k = 0; k < r->metrics; k++)
        if (r->metric[k].name && i-- == 0) return r->metric[k].name;
    return NULL;
}

static dcgan_error metric(const dcgan_job *job, const char *name, double *value)
{
    const dg_recipe *r = job->g.job.recipe;
    for (int k = 0; k < r->metrics; k++)
        if (r->metric[k].name && strcmp(r->metric[k].name, name) == 0) {
            *value = dg_metric_value(&r->metric[k], job->trainer.last.value);
            return DCGAN_OK;
        }
    return (dcgan_error)dg_fail(DG_USAGE, "%s: not a metric of %s", name, r->name);
}

dcgan_error dcgan_metric(const dcgan_job *job, const char *name, double *value)
{
    DG_GUARDED(NULL, 0, metric(job, name, value));
}

static dcgan_error save(dcgan_job *job, const char *path)
{
    if (!job->train)
        return (dcgan_error)dg_fail(DG_USAGE, "this job was loaded for inference and has no training state");
    const dg_backend *b = job->g.backend;
    dg_checkpoint_info info = {.step = job->trainer.at.step,
                               .epoch = job->trainer.at.epoch,
                               .batch = job->trainer.at.batch,
                               .seed = job->g.info.seed,
                               .data_count = (uint64_t)job->data.count,
                               .data_fingerprint = job->data.fingerprint,
                               .classes = job->g.info.classes};
    dg_snapshot *s;
    snprintf(info.precision, sizeof info.precision, "%s", dg_precision_name(b->real, b->math));
    const dg_err e = dg_snapshot_take(&job->g.job, &info, &s);
    return (dcgan_error)(e ? e : dg_snapshot_write(s, NULL, path));
}

dcgan_error dcgan_save(dcgan_job *job, const char *path) { DG_GUARDED_ON(job->on, save(job, path)); }
