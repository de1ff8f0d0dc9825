#include "host/train/begin.h"

#include <stdio.h>
#include <stdlib.h>

#include "host/checkpoint/checkpoint.h"
#include "host/options/option_table.h"
#include "host/train/classes.h"

/* If the weights are those of a conditional GAN, add as many classes to the model. */
static dg_err follow_weights(const char *path, dg_model *model)
{
    char *text = NULL;
    dg_model *own = malloc(sizeof *own);
    dg_err e = own ? dg_weights_model(path, &text) : dg_fail(DG_DEVICE, "out of memory for a model");
    if (!e && text) e = dg_model_parse(text, path, own);
    if (!e && text && own->classes) e = dg_add_classes(model, own->classes);
    free(text);
    free(own);
    return e;
}

dg_err dg_train_weights(const dg_options *o, const dg_model *model, dg_st **init)
{
    if (!o->init) return DG_OK;
    dg_model *m = malloc(sizeof *m);
    if (!m) return dg_fail(DG_DEVICE, "out of memory for a model");
    *m = *model;
    dg_err e = o->conditional && !m->classes ? follow_weights(o->init, m) : DG_OK;
    if (!e) e = dg_weights_open(o->init, m, init);
    free(m);
    return dg_context(e, "--init");
}

static char *networks(const dg_job *job, unsigned nets, bool has, char out[64])
{
    int n = 0;
    *out = 0;
    for (int i = 0; i < job->model.nets; i++)
        if ((nets >> i & 1) == has)
            n += snprintf(out + n, 64 - (size_t)n, "%s%s", n ? " and " : "", job->model.net[i].name);
    return out;
}

dg_err dg_train_begin(dg_training *r, const dg_st *init)
{
    unsigned nets;
    char with[64], without[64];
    dg_err e = dg_job_init(&r->job, r->o->seed);
    if (e || !init) return e;
    e = dg_context(dg_weights_put(init, r->o->init, &r->job, &nets), "--init");
    if (e) return e;
    networks(&r->job, nets, true, with);
    if (*networks(&r->job, nets, false, without))
        dg_progress_note(r->progress,
                         DG_MSG("note-init-alone",
                                "%s initialised from %s; %s is missing there and initialised randomly"),
                         with, r->o->init, without);
    else dg_progress_note(r->progress, DG_MSG("note-init", "%s initialised from %s"), with, r->o->init);
    return DG_OK;
}

dg_err dg_train_own(const dg_options *o, const char *path, dg_options *own)
{
    *own = *o;
    own->resume = false;
    own->from_epoch = 0;
    if (!dg_option_given(o, "schedule-length")) own->schedule_length = 0;
    own->out = own->init = own->resolved = own->resume_from = own->changed = NULL;
    dg_err e = dg_path_set(&own->init, path);
    if (!e) e = dg_options_next_run(o->out, &own->out);
    if (!e && !(own->resolved = dg_config_text(own, o->argc, o->argv))) e = dg_fail(DG_DEVICE, "out of memory");
    return e;
}

void dg_train_own_free(dg_options *own)
{
    free(own->out);
    free(own->init);
    free(own->resolved);
}
