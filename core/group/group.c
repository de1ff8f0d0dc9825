#include "core/group/group.h"

#include <string.h>

dg_err dg_group_failed(const dg_group *g) { return g ? g->failed : DG_OK; }

void dg_group_fail(dg_group *g, dg_err e)
{
    if (g && !g->failed) g->failed = e;
}

int dg_group_rank(const dg_group *g) { return g ? g->rank : 0; }

int dg_group_size(const dg_group *g) { return g ? g->size : 1; }

static dg_err copy(void *to, const void *from, size_t bytes)
{
    if (bytes && to != from) memcpy(to, from, bytes);
    return DG_OK;
}

dg_err dg_group_all_to_all(dg_group *g, const void *from, void *to, size_t bytes_each)
{
    if (!g) return copy(to, from, bytes_each);
    if (!g->failed) g->failed = g->calls->all_to_all(g, from, to, bytes_each);
    return g->failed;
}

dg_err dg_group_all_gather(dg_group *g, void *all, size_t bytes_each)
{
    if (!g) return DG_OK;
    if (!g->failed) g->failed = g->calls->all_gather(g, all, bytes_each);
    return g->failed;
}

dg_err dg_group_broadcast(dg_group *g, void *bytes, size_t n)
{
    if (!g) return DG_OK;
    if (!g->failed) g->failed = g->calls->broadcast(g, bytes, n);
    return g->failed;
}

dg_err dg_group_gather(dg_group *g, const void *own, void *all, size_t bytes_each)
{
    if (!g) return copy(all, own, bytes_each);
    if (!g->failed) g->failed = g->calls->gather(g, own, all, bytes_each);
    return g->failed;
}

dg_err dg_group_turn(dg_group *g, const void *own, void *all)
{
    if (!g) return copy(all, own, DG_TURN_BYTES);
    if (!g->failed) g->failed = g->calls->turn(g, own, all);
    return g->failed;
}

void dg_group_wait_for_gpu(dg_group *g, bool waits)
{
    if (g && g->calls->wait_for_gpu) g->calls->wait_for_gpu(g, waits);
}

void dg_group_abort(dg_group *g, int code)
{
    if (g) g->calls->abort_all(g, code);
}

dg_err dg_group_close(dg_group *g) { return g ? g->calls->close(g) : DG_OK; }
