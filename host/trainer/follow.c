#include "host/trainer/follow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/precision.h"
#include "host/group/agree.h"
#include "host/group/open.h"
#include "host/net/recipe_parts.h"
#include "host/trainer/steps.h"

typedef enum { STEPS = 1, SAVE, END } command_kind;

/* A command of rank 0, or the answer of a follower. */
typedef struct {
    uint8_t kind, begins;
    uint8_t code;   /* END: dg_err of the run */
    uint8_t signal; /* of a follower */
    int32_t n;
    dg_position at;
    double lr[DG_NETS_MAX];
} command;
_Static_assert(sizeof(command) <= DG_TURN_BYTES, "a command is one turn");

void dg_lead_device(const dg_backend *b, char *out, size_t size)
{
    const char *word = strrchr(b->name, ' ');
    snprintf(out, size, "%s %s, %s", b->threads ? "a CPU with" : "a GPU of", word ? word + 1 : b->name,
             dg_precision_name(b->real, b->math));
}

dg_err dg_lead_send(dg_group *g, dg_lead *lead)
{
    const dg_err e = dg_group_broadcast(g, lead, sizeof *lead);
    if (e) return e;
    return dg_group_rank(g) && lead->code ? dg_fail((dg_err)lead->code, "%s", "") : DG_OK;
}

/* One turn: the process sends `bytes` of `own`. *all has the parts of all ranks (of_rank); the caller frees it. */
static dg_err exchange(dg_group *g, const void *own, size_t bytes, void **all)
{
    char mine[DG_TURN_BYTES] = {0};
    memcpy(mine, own, bytes);
    *all = calloc((size_t)g->size, DG_TURN_BYTES);
    if (!*all) {
        dg_group_fail(g, DG_DEVICE);
        return dg_fail(DG_DEVICE, "messages of %d processes: out of memory", g->size);
    }
    return dg_group_turn(g, mine, *all);
}

static const void *of_rank(const void *all, int rank) { return (const char *)all + (size_t)rank * DG_TURN_BYTES; }

/* Exchange commands and answers. */
static dg_err turn(dg_group *g, const command *own, command **all)
{
    void *parts;
    const dg_err e = exchange(g, own, sizeof *own, &parts);
    *all = parts;
    return e;
}

dg_err dg_group_share_path(dg_group *g, const char *own, char of[DG_TURN_BYTES])
{
    char mine[DG_TURN_BYTES] = {0};
    void *all;
    snprintf(mine, sizeof mine, "%s", own);
    const dg_err e = exchange(g, mine, sizeof mine, &all);
    int first = 0;
    while (strcmp(g->host[first], g->host[g->rank]) != 0) first++;
    snprintf(of, DG_TURN_BYTES, "%s", e ? "" : (const char *)of_rank(all, first));
    free(all);
    return e;
}

/* Sends memory of rank 0's backend to the others. Memory of a GPU passes through a buffer. */
static dg_err broadcast(dg_backend *b, void *memory, size_t bytes)
{
    dg_group *g = b->group;
    if (b->threads) return dg_group_broadcast(g, memory, bytes);
    void *buffer = malloc(bytes + 1);
    dg_err e = buffer ? DG_OK : dg_fail(DG_DEVICE, "weights for %d processes: out of memory", g->size);
    if (!e && !g->rank) e = b->get(b, buffer, memory, bytes);
    if (e) dg_group_fail(g, e);
    if (!e) e = dg_group_broadcast(g, buffer, bytes);
    if (!e && g->rank) e = b->put(b, memory, buffer, bytes);
    free(buffer);
    return e;
}

/* Weights, gradients, moments, averages and buffers are the first tensors of the arena. */
dg_err dg_group_weights(dg_job *job, dg_err e)
{
    e = dg_group_agree(job->backend->group, e);
    if (e) return e;
    const dg_arena *a = &job->arena;
    size_t bytes = 0;
    for (int i = 0; i < a->rows; i++)
        if (a->row[i].kind <= DG_BUFFER && a->row[i].offset + a->row[i].bytes > bytes)
            bytes = a->row[i].offset + a->row[i].bytes;
    return broadcast(job->backend, a->base, bytes);
}

dg_err dg_lead_steps(dg_group *g, bool begins, const dg_position *at, const double lr[DG_NETS_MAX], int n, int *signal)
{
    if (!g) return DG_OK;
    command own = {.kind = STEPS, .begins = begins, .n = n, .at = *at}, *all;
    memcpy(own.lr, lr, sizeof own.lr);
    const dg_err e = turn(g, &own, &all);
    for (int r = 1; r < g->size && !e; r++) {
        const command *answer = of_rank(all, r);
        if (answer->signal) *signal = answer->signal;
    }
    free(all);
    return e;
}

/* Collects the ranks' parts of memory on rank 0. */
static dg_err gather_parts(dg_backend *b, char *all, size_t each)
{
    dg_group *g = b->group;
    char *const own = all + (size_t)g->rank * each;
    if (b->threads) return dg_group_gather(g, own, all, each);
    const size_t parts = g->rank ? 1 : (size_t)g->size;
    char *buffer = malloc(parts * each);
    dg_err e = buffer ? b->get(b, buffer, own, each) : dg_fail(DG_DEVICE, "a checkpoint: out of memory");
    if (e) dg_group_fail(g, e);
    if (!e) e = dg_group_gather(g, buffer, buffer, each);
    if (!e && !g->rank) e = b->put(b, all, buffer, parts * each);
    free(buffer);
    return e;
}

static dg_err gather(dg_job *job, const dg_weights *w, dg_row_kind kind)
{
    if (w->first[kind] < 0) return DG_OK;
    const size_t each = (size_t)dg_slice_length(w->n, job->backend->group->size) * dg_type_bytes(job->backend->real);
    return gather_parts(job->backend, dg_job_memory(job, w->first[kind]), each);
}

static dg_err gather_moments(dg_job *job)
{
    dg_err e = DG_OK;
    for (int net = 0; net < job->recipe->nets && !e; net++) {
        const dg_weights w = dg_weights_of(job, net);
        e = gather(job, &w, DG_MOMENT1);
        if (!e) e = gather(job, &w, DG_MOMENT2);
    }
    return e;
}

dg_err dg_lead_save(dg_job *job)
{
    dg_group *g = job->backend->group;
    command own = {.kind = SAVE}, *all;
    if (!g) return DG_OK;
    const dg_err e = turn(g, &own, &all);
    free(all);
    return e ? e : gather_moments(job);
}

dg_err dg_lead_end(dg_group *g, int code)
{
    command own = {.kind = END, .code = (uint8_t)code}, *all;
    if (!g) return DG_OK;
    const dg_err e = turn(g, &own, &all);
    free(all);
    return e;
}

static dg_err follow_steps(dg_job *job, dg_loader *f, const command *c)
{
    dg_position at = c->at;
    const dg_err e = c->begins ? dg_epoch_begin(job, f, &at, c->lr) : DG_OK;
    return e ? e : dg_epoch_steps(job, f, &at, c->lr, c->n);
}

dg_err dg_follow(dg_job *job, dg_loader *f, const volatile int *signal)
{
    dg_group *g = job->backend->group;
    for (;;) {
        command own = {.signal = (uint8_t)*signal}, *all, c;
        dg_group_pause_limit(g, true); /* rank 0 may evaluate or write for a long time */
        dg_err e = turn(g, &own, &all);
        dg_group_pause_limit(g, false);
        if (!e) c = *all;
        free(all);
        if (e) return e;
        if (c.kind == END) return c.code ? dg_fail((dg_err)c.code, "%s", "") : DG_OK;
        e = c.kind == SAVE ? gather_moments(job) : follow_steps(job, f, &c);
        if (e) return e;
    }
}
