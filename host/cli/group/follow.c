/* The training command of a process of rank 1 or above: it loads the images and builds the job of rank 0, and computes
 * its shards. It prints nothing and opens no run directory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/cli/commands.h"
#include "host/cli/group/join.h"
#include "host/group/agree.h"
#include "host/group/connect.h"
#include "host/group/open.h"
#include "host/run/stop.h"
#include "host/train/classes.h"
#include "host/trainer/follow.h"

typedef struct {
    dg_backend *backend;
    dg_model model;
    dg_dataset data;
    dg_job job;
    dg_loader feed;
} follower;

/* shared: path of the images that the first process of this machine has decoded, or "". */
static dg_err load_images(follower *f, const dg_options *o, const dg_lead *lead, const char *shared)
{
    dg_dataset_options d = dg_all_images(o, o->data, f->model.size, f->model.channels);
    d.labelled = d.fixed_shape = dg_recipe_find(&f->model)->labels;
    d.hash_labels = lead->labelled;
    d.test = o->test;
    d.seed = lead->seed;
    d.cache = o->cache;
    d.may_stay = true;
    d.most_mb = o->image_memory;
    d.keep_file = o->group->local_rank == 0 && o->group->local_size > 1;
    d.other_file = *shared ? shared : NULL;
    d.stop = &dg_stop_signal;
    const dg_err e = dg_dataset_load(&d, &f->data);
    if (e || (f->data.train == lead->images && f->data.fingerprint == lead->fingerprint)) return e;
    if (f->data.train != lead->images)
        return dg_fail(DG_DATA,
                       DG_MSG("ranks-image-count",
                              "%s: %d images here, %d on rank 0; every process needs the same images"),
                       o->data, f->data.train, lead->images);
    return dg_fail(DG_DATA,
                   DG_MSG("ranks-images", "%s: not the images of rank 0, although their number is equal; every process "
                                          "needs the same images"),
                   o->data);
}

static dg_err no_gpu(void)
{
    dg_cuda_device device;
    const char *why = "";
    if (dg_cuda_devices(&device, 1, &why) && !device.usable) why = device.why_not;
    return dg_fail(DG_DEVICE,
                   DG_MSG("ranks-no-gpu", "this process has no GPU that dcgan can use (%s), but rank 0 has one; "
                                          "{device cpu} trains on CPUs"),
                   why);
}

static dg_err open_device(follower *f, const dg_options *o, const dg_lead *lead)
{
    const dg_err e = dg_open_backend(o, &f->backend);
    if (e) return e;
    char own[sizeof lead->device];
    f->backend->group = o->group;
    dg_lead_device(f->backend, own, sizeof own);
    if (f->backend->threads && !lead->on_cpu) return no_gpu();
    if (strcmp(own, lead->device) != 0)
        return dg_fail(DG_DEVICE,
                       DG_MSG("ranks-device", "this process would compute on %s, rank 0 on %s; every process needs the "
                                              "same kind of GPU, or give {device} cpu and set DCGAN_ISA to an "
                                              "instruction set that all machines have"),
                       own, lead->device);
    return DG_OK;
}

static dg_err build(follower *f, const dg_options *o, const dg_lead *lead)
{
    dg_err e = dg_job_build(&f->job, &f->model, &lead->job, f->backend);
    if (!e && dg_job_plans(&f->job) != lead->plans)
        e = dg_fail(DG_DEVICE,
                    DG_MSG("ranks-plans", "%s: other kernels than those of rank 0; every process needs the same GPU, "
                                          "{tuning} file and {fuse}"),
                    f->backend->name);
    const dg_images images = dg_dataset_images(&f->data);
    dg_training_records records;
    uint8_t *none; /* rank 0 refuses input = zca */
    if (!e) e = dg_job_view(&f->job, &images, f->data.label, &none, &records);
    if (e) return e;
    const dg_loader_options loading = dg_job_loading(&f->job, lead->used, lead->seed);
    records.count = lead->images;
    e = dg_loader_open(&f->feed, f->backend, &records, &loading);
    if (!e) e = dg_job_alloc(&f->job, f->feed.data, f->feed.perm);
    return e ? e : dg_job_init(&f->job, o->seed); /* sets moments; rank 0 sends all values */
}

/* The options of every process must be equal, although rank 0 alone applies them. */
static dg_err compare_options(const dg_options *o, const char *of_rank_0)
{
    char *own = dg_config_results(o->resolved);
    if (!own) return dg_fail(DG_DEVICE, "out of memory");
    if (strlen(own) >= sizeof((dg_lead *)0)->options) own[sizeof((dg_lead *)0)->options - 1] = 0;
    const char *here = own, *there = of_rank_0;
    dg_err e = DG_OK;
    while (!e && (*here || *there)) {
        const int n = (int)strcspn(here, "\n"), m = (int)strcspn(there, "\n");
        if (n != m || strncmp(here, there, (size_t)n))
            e = dg_fail(DG_USAGE,
                        DG_MSG("ranks-options", "other options than those of rank 0: %.*s here, %.*s on rank 0; start "
                                                "every process with the same options"),
                        n ? n : 7, n ? here : "nothing", m ? m : 7, m ? there : "nothing");
        here += n + (here[n] != 0), there += m + (there[m] != 0);
    }
    free(own);
    return e;
}

/* The first process of each machine decodes the images. The others wait for it and read its file. */
static dg_err set_up(follower *f, const dg_options *o, const dg_lead *lead)
{
    const bool first = o->group->local_rank == 0;
    char own[DG_TURN_BYTES] = "", shared[DG_TURN_BYTES];
    dg_err e = compare_options(o, lead->options);
    if (!e) e = dg_model_parse(lead->model, "the model of rank 0", &f->model);
    if (!e) e = open_device(f, o, lead);
    if (!e && first) e = load_images(f, o, lead, "");
    const dg_err turn = dg_group_share_path(o->group, dg_dataset_shared_path(&f->data, own, sizeof own), shared);
    if (turn) return turn;
    if (!e && !first) e = load_images(f, o, lead, shared);
    return e ? e : build(f, o, lead);
}

static dg_err follow(follower *f, const dg_options *o)
{
    dg_lead *lead = calloc(1, sizeof *lead);
    if (!lead) return dg_fail(DG_DEVICE, "out of memory");
    dg_group_pause_limit(o->group, true); /* while rank 0 loads images */
    dg_err e = dg_lead_send(o->group, lead);
    const dg_err own = e ? e : set_up(f, o, lead);
    if (!e) e = dg_group_agree(o->group, own && dg_stop_signal ? (dg_err)(128 + dg_stop_signal) : own);
    if (!e) e = dg_group_connect(f->backend);
    dg_group_pause_limit(o->group, false);
    free(lead);
    if (!e) e = dg_group_weights(&f->job, DG_OK);
    return e ? e : dg_follow(&f->job, &f->feed, (const volatile int *)&dg_stop_signal);
}

int dg_cmd_follow(const dg_options *o)
{
    follower *f = calloc(1, sizeof *f);
    if (!f) return dg_fail(DG_DEVICE, "out of memory");
    dg_catch_signals();
    const dg_err e = follow(f, o);
    dg_job_free(&f->job);
    dg_loader_close(&f->feed);
    if (f->backend) f->backend->close(f->backend);
    dg_dataset_free(&f->data);
    free(f);
    if (e && *dg_message()) { /* rank 0 does not know this error */
        fprintf(stderr, "dcgan: rank %d on %s: %s\n", o->group->rank, o->group->host[o->group->rank], dg_message());
        dg_group_abort(o->group, (int)e);
    }
    return (int)e;
}
