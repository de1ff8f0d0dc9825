/* Public functions of the library: open, load, sample. */
#include "host/lib/lib_internal.h"

#include <assert.h>
#include <stdlib.h>

#include "core/plan/fusions.h"
#include "host/options/options.h"
#include "host/figure/images.h"

#define SAME(name) \
    static_assert((int)DCGAN_##name == (int)DG_##name, "include/dcgan.h and core/base/err.h have different codes")
SAME(OK);
SAME(FAILED);
SAME(USAGE);
SAME(DATA);
SAME(IO);
SAME(DEVICE);
SAME(NUMBERS);

const char *dcgan_version(void) { return dg_version; }

const char *dcgan_message(void) { return dg_message(); }

void dcgan_set_warnings(dcgan_on_warning *f, void *context) { dg_set_warnings(f, context); }

static dcgan_error open_device(const dcgan_device *d, dcgan_backend **out)
{
    static const dcgan_device defaults;
    *out = NULL;
    if (!d) d = &defaults;
    dg_device device = {.device = d->device ? d->device : "auto", .threads = d->threads, .fuse = DG_FUSE_ALL};
    if (d->precision && !(device.precision = dg_precision_find(d->precision)))
        return (dcgan_error)dg_fail(DG_USAGE, "precision %s: must be fp32, fp64, bf16 or fp16", d->precision);
    if (!dg_device_known(device.device))
        return (dcgan_error)dg_fail(DG_USAGE, "device %s: must be auto, cpu, cuda or cuda:N", device.device);
    dcgan_backend *b = calloc(1, sizeof *b);
    if (!b) return (dcgan_error)dg_fail(DG_DEVICE, "out of memory");
    dg_err e = dg_device_open(&device, &b->b);
    if (!e && b->b->threads > 1 && !(b->state = calloc((size_t)b->b->threads, sizeof *b->state))) {
        b->b->close(b->b);
        e = dg_fail(DG_DEVICE, "out of memory");
    }
    if (e) free(b);
    else *out = b;
    return (dcgan_error)e;
}

dcgan_error dcgan_open(const dcgan_device *d, dcgan_backend **out) { DG_GUARDED(NULL, 0, open_device(d, out)); }

const char *dcgan_backend_name(const dcgan_backend *b) { return b->b->name; }

void dcgan_close(dcgan_backend *b)
{
    if (!b) return;
    b->b->close(b->b);
    free(b->state);
    free(b);
}

dcgan_error dg_lib_job(dcgan_backend *b, dcgan_job **out)
{
    dcgan_job *job = *out = calloc(1, sizeof *job);
    if (!job) return (dcgan_error)dg_fail(DG_DEVICE, "out of memory");
    job->on = b;
    job->g.backend = b->b;
    return DCGAN_OK;
}

dcgan_error dg_lib_made(dg_err e, dcgan_job **job)
{
    if (e) {
        dcgan_free(*job);
        *job = NULL;
    }
    return (dcgan_error)e;
}

static dcgan_error load(dcgan_backend *b, const char *checkpoint, dcgan_job **out)
{
    if (dg_lib_job(b, out)) return DCGAN_DEVICE;
    dg_generator *g = &(*out)->g;
    dg_st *st = NULL;
    dg_err e = dg_checkpoint_open(checkpoint, &st, &g->model, &g->info);
    if (!e) e = dg_generator_load(g, st, checkpoint);
    dg_st_free(st);
    return dg_lib_made(e, out);
}

dcgan_error dcgan_load(dcgan_backend *b, const char *checkpoint, dcgan_job **out)
{
    DG_GUARDED_ON(b, load(b, checkpoint, out));
}

void dcgan_free(dcgan_job *job)
{
    if (!job) return;
    dg_job_free(&job->g.job);
    if (job->train) dg_trainer_close(&job->trainer);
    dg_checkpoint_info_free(&job->g.info);
    free(job);
}

dcgan_info dcgan_info_of(const dcgan_job *job)
{
    const dg_checkpoint_info *i = &job->g.info;
    return (dcgan_info){.model = job->g.model.name,
                        .size = job->g.model.size.W,
                        .height = job->g.model.size.H,
                        .channels = job->g.model.channels,
                        .seed = i->seed,
                        .step = job->train ? job->trainer.at.step : i->step,
                        .epoch = job->train ? job->trainer.at.epoch : i->epoch,
                        .classes = job->g.model.classes};
}

static dcgan_error sample(dcgan_job *job, int class, uint64_t first, int n, uint8_t *pixels)
{
    dg_generator *g = &job->g;
    if (n < 1) return (dcgan_error)dg_fail(DG_USAGE, "%d images: must be at least 1", n);
    if (!g->inputs) return (dcgan_error)dg_fail(DG_USAGE, "model %s has no generator", g->model.name);
    return (dcgan_error)dg_generator_images(g, first, n, class, pixels, "image");
}

dcgan_error dcgan_sample(dcgan_job *job, uint64_t first, int n, uint8_t *pixels)
{
    DG_GUARDED_ON(job->on, sample(job, -1, first, n, pixels));
}

static dcgan_error sample_class(dcgan_job *job, int class, uint64_t first, int n, uint8_t *pixels)
{
    const dg_model *m = &job->g.model;
    if (class < 0 || class >= m->classes)
        return (dcgan_error)dg_fail(DG_USAGE, "class %d: model %s has %d classes, numbered from 0", class, m->name,
                                    m->classes);
    return sample(job, class, first, n, pixels);
}

dcgan_error dcgan_sample_class(dcgan_job *job, int class_index, uint64_t first, int n, uint8_t *pixels)
{
    DG_GUARDED_ON(job->on, sample_class(job, class_index, first, n, pixels));
}

static dcgan_error write_png(const char *path, const uint8_t *pixels, int width, int height, int channels)
{
    if (width < 1 || height < 1 || (channels != 1 && channels != 3 && channels != 4))
        return (dcgan_error)dg_fail(DG_USAGE,
                                    "%s: image of %d x %d with %d channels: channels must be 1, 3 or 4, sides above 0",
                                    path, width, height, channels);
    const dg_image im = {width, height, channels, (uint8_t *)(uintptr_t)pixels};
    return (dcgan_error)dg_png_write(path, &im, &(dg_text){"Software", dg_version}, 1);
}

dcgan_error dcgan_write_png(const char *path, const uint8_t *pixels, int width, int height, int channels)
{
    DG_GUARDED(NULL, 0, write_png(path, pixels, width, height, channels));
}
