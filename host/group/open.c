#include "host/group/open.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/plan/gpus.h"
#include "host/group/hosts.h"
#include "host/group/load.h"
#include "host/group/watch.h"

/* The first member is what the caller has. */
typedef struct {
    dg_group group;
    const dg_transport *transport;
    dg_watch *watch;
    dg_group_options options;
    char (*host)[DG_HOST_NAME];
    const char **names;
} transport_group;

/* A rank is silent for this time after the limit, so that one rank reports for all. */
static const double others_report = 2;

static transport_group *of(dg_group *g) { return (transport_group *)g; }

/* Ends a call that returned `bad`. */
static dg_err ended(transport_group *m, int bad)
{
    dg_watch_end(m->watch);
    if (!bad) return DG_OK;
    return dg_fail(DG_DEVICE, "message among %d processes: failed (%s: %s)", m->group.size, m->group.name,
                   m->transport->why());
}

static dg_err all_to_all(dg_group *g, const void *from, void *to, size_t bytes_each)
{
    dg_watch_begin(of(g)->watch);
    return ended(of(g), of(g)->transport->all_to_all(from, to, bytes_each));
}

static dg_err all_gather(dg_group *g, void *all, size_t bytes_each)
{
    dg_watch_begin(of(g)->watch);
    return ended(of(g), of(g)->transport->all_gather(all, bytes_each));
}

static dg_err broadcast(dg_group *g, void *bytes, size_t n)
{
    dg_watch_begin(of(g)->watch);
    return ended(of(g), of(g)->transport->broadcast(bytes, n));
}

static dg_err gather(dg_group *g, const void *own, void *all, size_t bytes_each)
{
    dg_watch_begin(of(g)->watch);
    return ended(of(g), of(g)->transport->gather(own, all, bytes_each));
}

static dg_err turn(dg_group *g, const void *own, void *all)
{
    dg_watch_begin(of(g)->watch);
    return ended(of(g), of(g)->transport->turn(own, all, DG_TURN_BYTES));
}

static volatile sig_atomic_t exit_code;

static void leave(int number)
{
    (void)number;
    _exit(exit_code);
}

static void wait_for_gpu(dg_group *g, bool waits)
{
    if (waits) dg_watch_begin(of(g)->watch);
    else dg_watch_end(of(g)->watch);
}

/* Ends the process after 10 s if MPI_Abort does not return. */
static void abort_all(dg_group *g, int code)
{
    exit_code = code;
    (void)sigaction(SIGALRM, &(struct sigaction){.sa_handler = leave}, NULL);
    (void)alarm(10);
    dg_gpus *gpus = __atomic_load_n(&g->gpus, __ATOMIC_ACQUIRE);
    if (gpus) gpus->abort(gpus);
    of(g)->transport->abort_all(code);
    _exit(code);
}

static dg_err close_group(dg_group *g)
{
    transport_group *m = of(g);
    dg_watch_begin(m->watch);
    if (g->gpus) g->gpus->close(g->gpus);
    const int bad = m->transport->close();
    dg_watch_end(m->watch);
    dg_err e = bad ? dg_fail(DG_DEVICE, "closing the group of %d processes: failed (%s)", g->size, m->transport->why())
                   : DG_OK;
    dg_watch_close(m->watch);
    free(m->names);
    free(m->host);
    free(m);
    return e;
}

static void prefix_of(const dg_group *g, char *out, size_t size)
{
    *out = 0;
    if (g->rank) snprintf(out, size, "rank %d on %s: ", g->rank, g->host[g->rank]);
}

/* Ends all processes after an error of the connection between the GPUs, for which a step would wait forever. */
static void look(void *context)
{
    transport_group *m = context;
    dg_gpus *gpus = __atomic_load_n(&m->group.gpus, __ATOMIC_ACQUIRE);
    const char *why = gpus ? gpus->broken(gpus) : NULL;
    if (!why) return;
    char prefix[DG_HOST_NAME + 32], text[2 * DG_HOST_NAME + 256];
    prefix_of(&m->group, prefix, sizeof prefix);
    dg_set_message("%sthe connection between the GPUs has failed (%s: %s); {resume} continues the run from its last "
                   "checkpoint",
                   prefix, gpus->name, why);
    snprintf(text, sizeof text, "%s", dg_message());
    m->options.lost(text);
    abort_all(&m->group, DG_DEVICE);
}

/* Reports the ranks that did not begin a call, and ends all processes. The lowest rank that waits reports. */
static void late(void *context, double seconds)
{
    transport_group *m = context;
    const dg_group *g = &m->group;
    int absent = 0, first = -1, present = -1;
    for (int r = 0; r < g->size; r++) {
        if (!m->transport->absent(r)) {
            if (present < 0) present = r;
            continue;
        }
        if (first < 0) first = r;
        absent++;
    }
    if (present != g->rank && seconds < m->options.limit + others_report) return;
    char whom[DG_HOST_NAME + 96], prefix[DG_HOST_NAME + 32], text[2 * DG_HOST_NAME + 256];
    if (absent == 0) snprintf(whom, sizeof whom, "no end of a message among %d processes", g->size);
    else if (absent == 1) snprintf(whom, sizeof whom, "no word from rank %d (%s)", first, g->host[first]);
    else
        snprintf(whom, sizeof whom, "no word from rank %d (%s) and %d other%s", first, g->host[first], absent - 1,
                 absent == 2 ? "" : "s");
    prefix_of(g, prefix, sizeof prefix);
    dg_set_message("%s%s for %g s; {resume} continues the run from its last checkpoint", prefix, whom,
                   m->options.limit);
    snprintf(text, sizeof text, "%s", dg_message());
    m->options.lost(text);
    abort_all(&m->group, DG_DEVICE);
}

/* Exchanges the host names and counts hosts. */
static dg_err meet(transport_group *m)
{
    dg_group *g = &m->group;
    m->host = calloc((size_t)g->size, sizeof *m->host);
    m->names = calloc((size_t)g->size, sizeof *m->names);
    if (!m->host || !m->names) return dg_fail(DG_DEVICE, "out of memory for %d host names", g->size);
    for (int r = 0; r < g->size; r++) {
        snprintf(m->host[r], DG_HOST_NAME, "unknown host"); /* until all names are known */
        m->names[r] = m->host[r];
    }
    g->host = m->names;
    if (gethostname(m->host[g->rank], DG_HOST_NAME - 1)) snprintf(m->host[g->rank], DG_HOST_NAME, "unknown host");
    dg_err e = dg_watch_open(m->options.limit, &(dg_watch_calls){late, look, m}, &m->watch);
    if (e) return e;
    e = all_gather(g, m->host, DG_HOST_NAME);
    if (e) return e;
    const dg_host_place p = dg_host_place_of((const char(*)[DG_HOST_NAME])m->host, g->size, g->rank);
    g->local_rank = p.local_rank, g->local_size = p.local_size, g->hosts = p.hosts;
    return DG_OK;
}

static dg_err open_transport(const dg_launched *l, transport_group *m)
{
    static const dg_group_calls calls = {all_to_all, all_gather, broadcast,   gather,
                                         turn,       abort_all,  close_group, wait_for_gpu};
    const dg_group_options *o = &m->options;
    dg_group *g = &m->group;
    g->calls = &calls;
    const bool torchrun = l->by == DG_LAUNCH_TORCHRUN;
    g->turns_on_gpu = torchrun;
    if (torchrun) m->transport = dg_nccl_transport(l->rank, l->size, o->device, l->address);
    dg_err e = torchrun ? DG_OK : dg_mpi_load(l, &m->transport);
    if (e) return e;
    const double word_after = o->limit < 4 ? o->limit / 4 : 1;
    const int bad = m->transport->open(word_after, o->piece, &g->rank, &g->size);
    g->name = m->transport->name();
    if (bad) return dg_fail(DG_DEVICE, "%s: cannot start (%s)", g->name, m->transport->why());
    if ((l->size && g->size != l->size) || (l->rank >= 0 && g->rank != l->rank))
        return dg_fail(DG_USAGE,
                       "%s started process %d of %d, but %s finds process %d of %d: it is not the MPI of %s; set "
                       "DCGAN_MPI to the plugin for that MPI, or start with the mpirun of %s",
                       l->program, l->rank, l->size, g->name, g->rank, g->size, l->program, g->name);
    if (g->size == 1) return DG_OK;
    return meet(m);
}

dg_err dg_group_open(const dg_launched *l, const dg_group_options *o, dg_group **out)
{
    *out = NULL;
    if (l->by == DG_LAUNCH_ALONE) return DG_OK;
    transport_group *m = calloc(1, sizeof *m);
    if (!m) return dg_fail(DG_DEVICE, "group of processes: out of memory");
    m->options = *o;
    dg_err e = open_transport(l, m);
    if (!e && m->group.size > 1) {
        *out = &m->group;
        return DG_OK;
    }
    if (e && l->rank > 0) {
        char host[DG_HOST_NAME] = "";
        (void)gethostname(host, sizeof host - 1);
        e = dg_context(e, "rank %d on %s", l->rank, host);
    }
    /* After an error, the other ranks may be in another call. The process ends without MPI_Finalize, and the launcher
     * ends the others. */
    if (!e) return close_group(&m->group);
    dg_watch_close(m->watch);
    free(m->names);
    free(m->host);
    free(m);
    return e;
}

void dg_group_pause_limit(dg_group *g, bool paused)
{
    if (g) dg_watch_pause(of(g)->watch, paused);
}
