#include "host/cli/group/lead.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/plural.h"
#include "core/plan/gpus.h"
#include "host/group/agree.h"
#include "host/group/connect.h"
#include "host/group/open.h"
#include "host/options/option_table.h"
#include "host/run/length.h"
#include "host/train/classes.h"
#include "host/trainer/follow.h"

dg_err dg_lead_begin(dg_training *r, const dg_model *model)
{
    dg_group *g = r->o->group;
    if (!g) return DG_OK;
    if (model->input == DG_INPUT_ZCA)
        return dg_fail(DG_USAGE,
                       DG_MSG("ranks-zca", "model %s: input = zca is not supported with several processes; "
                                           "give {alone}, or another model"),
                       model->name);
    dg_lead *all = calloc(1, sizeof *all);
    char *options = dg_config_results(r->o->resolved);
    if (!all || !options) {
        free(all);
        free(options);
        return dg_fail(DG_DEVICE, "out of memory");
    }
    snprintf(all->options, sizeof all->options, "%s", options);
    free(options);
    dg_lead_device(r->backend, all->device, sizeof all->device);
    all->on_cpu = r->backend->threads > 0;
    all->plans = dg_job_plans(&r->job);
    memcpy(all->model, model->text, sizeof all->model);
    all->job = r->job.o;
    all->job.samples = all->job.tested = 0;
    all->job.run = false;
    all->job.recipe = NULL;
    all->images = r->data.train;
    all->used = dg_images_of_epoch(r->o, r->data.train);
    all->labelled = dg_needs_labels(r->o, model);
    all->fingerprint = r->data.fingerprint;
    all->seed = r->o->seed;
    dg_group_pause_limit(g, true);
    dg_err e = dg_lead_send(g, all);
    r->leads = r->led = true;
    char shared[DG_TURN_BYTES], of[DG_TURN_BYTES];
    if (!e) e = dg_group_share_path(g, dg_dataset_shared_path(&r->data, shared, sizeof shared), of);
    if (!e) e = dg_group_agree(g, DG_OK);
    if (!e) e = dg_group_connect(r->backend);
    if (e) r->leads = false;
    dg_group_pause_limit(g, false);
    free(all);
    return e;
}

dg_err dg_lead_weights(dg_training *r, dg_err e)
{
    if (!r->leads) return e;
    e = dg_group_weights(&r->job, e);
    if (e) r->leads = false;
    return e;
}

void dg_lead_finish(dg_training *r, dg_err code)
{
    dg_group *g = r->o->group;
    if (!g || dg_group_failed(g)) return;
    char why[DG_MESSAGE_BYTES];
    snprintf(why, sizeof why, "%s", dg_message());
    dg_lead *none = r->leads || r->led ? NULL : calloc(1, sizeof *none);
    if (r->leads) (void)dg_lead_end(g, (int)code);
    if (none) none->code = code ? (int)code : DG_FAILED;
    if (none) (void)dg_lead_send(g, none);
    free(none);
    dg_set_message("%s", why);
}

enum { FEW_OF_SHARD = 16 };

void dg_note_shards(const dg_training *r)
{
    const int shards = dg_shards_of(&r->o->job), each = r->o->batch / shards,
              left = r->o->drop_last ? 0 : r->data.train - dg_images_of_epoch(r->o, r->data.train);
    const dg_group *g = r->o->group;
    if (g && g->gpus)
        dg_progress_note(r->progress,
                         DG_MSG("note-group-gpus", "%d processes on %d machine%s by %s and %s, one GPU each"), g->size,
                         g->hosts, dg_s(g->hosts), g->name, g->gpus->name);
    else if (g)
        dg_progress_note(r->progress, DG_MSG("note-group", "%d processes on %d machine%s by %s, %d thread%s each"),
                         g->size, g->hosts, dg_s(g->hosts), g->name, r->backend->threads, dg_s(r->backend->threads));
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    if (g && !g->gpus && r->o->bound && r->o->bound < online)
        dg_progress_note(r->progress,
                         DG_MSG("note-bound",
                                "the launcher gave the processes of this machine %d of %ld processors; give mpirun "
                                "--bind-to none, or --map-by ppr:1:numa:PE=N"),
                         r->o->bound, online);
    if (shards == 1) return;
    char unused[80] = "";
    if (left) snprintf(unused, sizeof unused, "; the last batch of an epoch leaves out %d image%s", left, dg_s(left));
    dg_progress_note(r->progress, DG_MSG("note-shards", "%d shards of %d image%s%s"), shards, each, dg_s(each), unused);
    if (each < FEW_OF_SHARD)
        dg_progress_note(r->progress,
                         DG_MSG("note-small-shards",
                                "fewer than %d images per shard make batch statistics inaccurate: give a larger "
                                "--batch, or fewer --shards"),
                         FEW_OF_SHARD);
}
