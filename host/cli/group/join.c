#include "host/cli/group/join.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/build_info.h"
#include "core/base/limits.h"
#include "host/cli/outputs.h"
#include "host/group/agree.h"
#include "host/group/open.h"
#include "host/options/option_table.h"

static void print_lost(const char *message) { fprintf(stderr, "dcgan: %s\n", message); }

static dg_err compare_versions(dg_group *g)
{
    char first[96] = "";
    snprintf(first, sizeof first, "%s", dg_version);
    const dg_err e = dg_group_broadcast(g, first, sizeof first);
    if (e || !strcmp(first, dg_version)) return e;
    return dg_fail(DG_USAGE, DG_MSG("ranks-version", "%s here, %s on rank 0; every process needs the same program"),
                   dg_version, first);
}

/* The processes of this host that may use the same processors share them equally. o->bound becomes the number of
 * processors that all of them may use, if the launcher gave them different processors, else 0. */
static dg_err divide_threads(dg_options *o)
{
    const dg_group *g = o->group;
    cpu_set_t *all = calloc((size_t)g->size, sizeof *all), together;
    if (!all) return dg_fail(DG_DEVICE, "processors of %d processes: out of memory", g->size);
    const cpu_set_t *own = &all[g->rank];
    int sharing = 1;
    if (sched_getaffinity(0, sizeof *all, &all[g->rank])) CPU_ZERO(&all[g->rank]); /* more than 1,024 processors */
    const dg_err e = dg_group_all_gather(o->group, all, sizeof *all);
    CPU_ZERO(&together);
    for (int r = 0; r < g->size && !e; r++) {
        if (strcmp(g->host[r], g->host[g->rank]) != 0) continue;
        sharing += r != g->rank && CPU_EQUAL(&all[r], own);
        CPU_OR(&together, &together, &all[r]);
    }
    const char *given = getenv("OMP_NUM_THREADS");
    const int threads = dg_default_threads();
    if (!e && !o->threads) o->threads = given && *given ? threads : threads > sharing ? threads / sharing : 1;
    o->bound = sharing < g->local_size ? CPU_COUNT(&together) : 0;
    free(all);
    return e;
}

/* Sets o->device to the GPU of this process: among the GPUs that it can use, the one with its local rank as number, or
 * the only one. */
static dg_err choose_device(dg_options *o, int local_rank, int local_size)
{
    enum { MOST_DEVICES = 64 };
    dg_cuda_device device[MOST_DEVICES];
    const char *why;
    const bool must = dg_option_given(o, "device") && strcmp(o->device, "auto") != 0;
    if (must && strcmp(o->device, "cuda") != 0) return DG_OK;
    int usable[MOST_DEVICES], n = 0;
    const int count = dg_cuda_devices(device, MOST_DEVICES, &why);
    for (int i = 0; i < count; i++)
        if (device[i].usable) usable[n++] = i;
    if (!n) return must ? DG_OK : dg_path_set(&o->device, "cpu"); /* the backend reports why */
    if (n > 1 && local_rank >= n)
        return dg_fail(DG_USAGE,
                       DG_MSG("ranks-gpus",
                              "%d processes on a machine with %d GPUs: start one process per GPU, or give "
                              "{device cpu}"),
                       local_size, n);
    char name[32];
    snprintf(name, sizeof name, "cuda:%d", usable[n > 1 ? local_rank : 0]);
    return dg_path_set(&o->device, name);
}

/* What each process does before the agreement. */
static dg_err prepare(dg_options *o, bool closed)
{
    dg_err e = dg_outputs_begin(o, closed);
    if (!e && !o->batch)
        e = dg_fail(DG_USAGE, DG_MSG("ranks-batch-auto", "--batch auto: not supported with several processes; find a "
                                                         "batch size with dcgan batch, then give it"));
    return e ? e : choose_device(o, o->group->local_rank, o->group->local_size);
}

/* The processes of torchrun find each other by their GPUs. */
static dg_err choose_for_torchrun(dg_options *o, const dg_launched *l, int *device)
{
    const dg_err e = choose_device(o, l->local_rank, l->local_rank + 1);
    if (e) return e;
    *device = o->device[4] == ':' ? (int)strtol(o->device + 5, NULL, 10) : 0;
    if (strcmp(o->device, "cpu") != 0) return DG_OK;
    return dg_fail(DG_USAGE, DG_MSG("torchrun-cpu", "torchrun starts no MPI, so processes need GPUs: start with mpirun "
                                                    "to train on CPUs, or train in one process with {alone}"));
}

dg_err dg_join(dg_options *o, dg_err parsed, bool closed)
{
    char why[DG_MESSAGE_BYTES];
    dg_launched launch = {.by = DG_LAUNCH_ALONE};
    const bool may = o->command == DG_CMD_TRAIN && !o->alone && !o->dry_run && !o->list_devices;
    snprintf(why, sizeof why, "%s", dg_message());
    dg_group_options g = {.limit = o->group_timeout, .lost = print_lost};
    dg_err e = may ? dg_launch_read(&launch) : DG_OK;
    if (!e && launch.by == DG_LAUNCH_TORCHRUN) e = parsed ? parsed : choose_for_torchrun(o, &launch, &g.device);
    if (!e && may) e = dg_group_open(&launch, &g, &o->group);
    if (parsed) dg_set_message("%s", why);
    if (e || !o->group) return parsed ? parsed : e ? e : dg_outputs_begin(o, closed);
    if (o->group->rank) dg_set_warnings(NULL, NULL);
    const dg_err other = compare_versions(o->group);
    e = parsed ? parsed : other;
    if (parsed) dg_set_message("%s", why);
    e = dg_group_agree(o->group, e ? e : prepare(o, closed));
    return e ? e : divide_threads(o);
}

int dg_leave(dg_options *o, int code)
{
    if (!o->group) return code;
    if (dg_group_failed(o->group)) dg_group_abort(o->group, code ? code : DG_DEVICE);
    const dg_err e = dg_group_close(o->group);
    o->group = NULL;
    if (e && !code) fprintf(stderr, "dcgan: %s\n", dg_message());
    return code ? code : (int)e;
}
