#include "host/train/settle.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/plural.h"
#include "core/group/group.h"
#include "host/measure/batch_time.h"
#include "host/options/option_table.h"
#include "host/net/recipe.h"
#include "host/run/length.h"
#include "host/run/stop.h"

enum { FEW = 100 };

static void show_size(void *context, int batch)
{
    dg_progress_note(((dg_training *)context)->progress, DG_MSG("note-timing-batch", "timing batch %d"), batch);
}

static dg_err search(dg_training *r, const dg_model *model, int *batch)
{
    dg_batch_table found;
    dg_batch_bench b = {.o = r->o,
                        .model = model,
                        .backend = r->backend,
                        .data = &r->data,
                        .stop = &dg_stop_signal,
                        .progress = show_size,
                        .context = r};
    const dg_err e = dg_batch_find(&b, DG_RULE_SEARCH, &found);
    if (e) return e;
    *batch = found.batch;
    dg_progress_note(r->progress, "batch %s", found.why);
    return DG_OK;
}

static dg_err keep(dg_training *r, const dg_options *given)
{
    static const char *const key[] = {"batch",           "shards",        "epochs",     "sample-every",
                                      "schedule-length", "ema-half-life", "class-fade", "grid"};
    for (size_t i = 0; i < sizeof key / sizeof *key; i++) {
        char now[32], then[32];
        const dg_option *t = dg_option_find(key[i]);
        dg_option_get(&r->found, t, now, sizeof now);
        dg_option_get(given, t, then, sizeof then);
        if (!strcmp(now, then)) continue;
        char *config = dg_config_settled(r->config, key[i], now);
        if (!config) return dg_fail(DG_DEVICE, "out of memory");
        free(r->config);
        r->config = config;
    }
    return DG_OK;
}

/* Returns the smallest number of shards for these processes, or 0 (auto) for one process. */
static int shards_for(int processes)
{
    int shards = 1;
    while (shards < processes) shards *= 2;
    return processes > 1 ? shards : 0;
}

static bool has_checkpoint(const dg_training *r)
{
    return r->o->resume && (r->o->resume_from || dg_rundir_has(&r->dir, "checkpoint.safetensors"));
}

dg_err dg_train_settle(dg_training *r, const dg_model *model)
{
    const dg_options *given = r->o;
    r->found = *given;
    if (!given->job.shards && !has_checkpoint(r)) r->found.job.shards = shards_for(dg_group_size(given->group));
    dg_err e = given->batch ? DG_OK : search(r, model, &r->found.batch);
    if (e) return e;
    dg_settle_batch(&r->found, r->data.train);
    dg_settle_length(&r->found, r->data.train);
    if (model->classes) dg_settle_classes(&r->found, r->data.train, model->classes);
    r->o = &r->found;
    if (given->batch && r->o->batch != given->batch)
        dg_progress_note(r->progress,
                         DG_MSG("note-batch-smaller", "batch size %d instead of %d: the dataset has %d image%s"),
                         r->o->batch, given->batch, r->data.train, dg_s(r->data.train));
    if (r->data.train < FEW && !r->expected && !dg_recipe_find(model)->labels)
        dg_progress_note(r->progress,
                         DG_MSG("note-repeats",
                                "the samples will be copies of training images, because the dataset has only %d "
                                "image%s: use hundreds or thousands of images; --flip doubles their number"),
                         r->data.train, dg_s(r->data.train));
    if (given->preset == DG_PRESET_SMALL && !dg_option_given(given, "preset") && !given->config && !given->resume)
        dg_progress_note(r->progress,
                         DG_MSG("note-preset-auto",
                                "preset auto: small (samples come from an average of the weights, --ema 0.995), "
                                "because it had better samples than the paper's recipe; --preset NAME sets another"));
    if (!given->epochs)
        dg_progress_note(r->progress,
                         DG_MSG("note-epochs-auto",
                                "epochs auto: %d epoch%s, %ld steps (default: %d epochs, but at least %d and at most "
                                "about %d steps); --epochs N sets another number"),
                         r->o->epochs, dg_s(r->o->epochs), (long)r->o->epochs * dg_steps_of_epoch(r->o, r->data.train),
                         DG_AUTO_EPOCHS, dg_auto_steps_least(r->data.train), DG_AUTO_STEPS_MOST);
    if (r->o->schedule_length != given->schedule_length)
        dg_progress_note(r->progress,
                         DG_MSG("note-schedule-auto", "schedule-length auto: %d image%s (80%% of the run)"),
                         r->o->schedule_length, dg_s(r->o->schedule_length));
    if (model->classes && r->o->class_fade > 0 && given->class_fade < 0)
        dg_progress_note(r->progress,
                         DG_MSG("note-fade-auto", "class-fade auto: %d images, because there are fewer than 500 "
                                                  "images per class (%d)"),
                         r->o->class_fade, r->data.train / model->classes);
    return keep(r, given);
}
