#include "host/trainer/ring_reader.h"

#include "core/base/clock.h"
#include "core/group/group.h"

dg_err dg_ring_reader_open(dg_ring_reader *r, dg_job *job, uint64_t step)
{
    void *host;
    *r = (dg_ring_reader){.job = job, .next = step, .interval = 1, .seconds = 0.01, .last_came = dg_clock()};
    dg_err e = job->backend->alloc_host(job->backend, (size_t)DG_REQUESTS * DG_REQUEST_ROWS * sizeof *r->host, &host);
    r->host = host;
    return e;
}

void dg_ring_reader_close(dg_ring_reader *r)
{
    if (r->host) r->job->backend->release_host(r->job->backend, r->host);
    r->host = NULL;
}

dg_err dg_ring_reader_ask(dg_ring_reader *r, uint64_t step, bool at_once)
{
    dg_backend *b = r->job->backend;
    const uint64_t waiting = step - r->next;
    if (r->on_the_way == DG_REQUESTS || !waiting || (waiting < (uint64_t)r->interval && !at_once)) return DG_OK;
    const int k = (r->oldest + r->on_the_way) % DG_REQUESTS;
    const int n = waiting < DG_REQUEST_ROWS ? (int)waiting : DG_REQUEST_ROWS;
    dg_err e = dg_job_start_metrics(r->job, r->next, n, r->host + (size_t)k * DG_REQUEST_ROWS);
    if (!e) e = b->record(b, DG_COMPUTE, DG_EVENT_METRICS + k);
    if (e) return e;
    r->request[k].first = r->next;
    r->request[k].n = n;
    r->next += (uint64_t)n;
    r->on_the_way++;
    return DG_OK;
}

/* Adapt the steps per request. On a synchronous backend, fewer requests are not faster. */
static void adapt(dg_ring_reader *r, int n)
{
    const double now = dg_clock(), each = (now - r->last_came) / n;
    r->last_came = now;
    r->each = each;
    if (r->job->backend->queues)
        r->interval = each * DG_REQUEST_ROWS < r->seconds ? DG_REQUEST_ROWS
                      : each < r->seconds                 ? (int)(r->seconds / each)
                                                          : 1;
}

dg_err dg_ring_reader_take(dg_ring_reader *r, bool wait, uint64_t *first, dg_metrics **row, int *n)
{
    dg_backend *b = r->job->backend;
    bool here;
    *n = 0;
    if (!r->on_the_way) return DG_OK;
    wait |= r->on_the_way == DG_REQUESTS;
    if (wait) dg_group_wait_for_gpu(b->group, true);
    dg_err e = b->query(b, DG_EVENT_METRICS + r->oldest, wait, &here);
    if (wait) dg_group_wait_for_gpu(b->group, false);
    if (e || !here) return e;
    *first = r->request[r->oldest].first;
    *n = r->request[r->oldest].n;
    *row = r->host + (size_t)r->oldest * DG_REQUEST_ROWS;
    r->oldest = (r->oldest + 1) % DG_REQUESTS;
    r->on_the_way--;
    adapt(r, *n);
    return DG_OK;
}

int dg_steps_ahead(const dg_backend *b, double each)
{
    enum { MOST = DG_REQUEST_ROWS };
    if (!b->queues || each <= 0) return 1;
    const double n = (b->group && b->group->turns_on_gpu ? 0.25 : 0.05) / each;
    return n < 1 ? 1 : n < MOST ? (int)n : MOST;
}
