#include "host/train/whitening.h"

#include "core/base/clock.h"
#include "host/run/stop.h"

static void show_fit(void *context, long done, long total)
{
    dg_progress_count(context, "whitening, matrix products", done, total);
}

static void show_images(void *context, long done, long total)
{
    dg_progress_count(context, "whitening, images", done, total);
}

static dg_err fit(dg_training *r, const dg_model *model)
{
    const dg_whitening_options w = {.size = model->size,
                                    .channels = model->channels,
                                    .epsilon = model->epsilon,
                                    .real = r->backend->real,
                                    .threads = r->o->threads,
                                    .progress = show_fit,
                                    .context = r->progress,
                                    .stop = &dg_stop_signal};
    const double began = dg_clock();
    const dg_err e = dg_whitening_fit(&w, r->data.pixels, r->data.train, &r->input.whitening);
    if (!e)
        dg_progress_note(r->progress,
                         DG_MSG("note-whitening", "whitening computed from %d images with epsilon %g in %.1f s"),
                         r->data.train, model->epsilon, dg_clock() - began);
    return e;
}

dg_err dg_train_whitening(dg_training *r, const dg_model *model)
{
    if (model->input != DG_INPUT_ZCA) return DG_OK;
    const dg_err e = r->input.whitening ? DG_OK : fit(r, model);
    if (e) return e;
    r->input.whitening->progress = show_images;
    r->input.whitening->context = r->progress;
    r->input.whitening->stop = &dg_stop_signal;
    return DG_OK;
}
