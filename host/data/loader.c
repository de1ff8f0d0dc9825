#include "host/data/loader.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/rng.h"

static dg_err no_memory(const dg_loader *f)
{
    return dg_fail(DG_DEVICE, "out of memory for the order of %d images", f->records.count);
}

dg_err dg_loader_open(dg_loader *f, dg_backend *b, dg_records records, int batch, int used, int window, uint64_t seed)
{
    *f = (dg_loader){.b = b, .records = records, .batch = batch, .used = used, .window = window, .seed = seed};
    f->order = malloc((size_t)f->records.count * sizeof *f->order);
    f->next_order = malloc((size_t)f->records.count * sizeof *f->next_order);
    if (!f->order || !f->next_order) return no_memory(f);
    const size_t bytes = (size_t)(window ? 2 * window : f->records.count) * f->records.bytes;
    dg_err e = dg_context(b->alloc(b, bytes, &f->data), "the dataset");
    if (!e) e = b->alloc(b, (size_t)f->records.count * sizeof *f->order, &f->perm);
    if (!e && !window) e = b->put(b, f->data, f->records.data, bytes);
    for (int i = 0; i < 2 && window && !e; i++) {
        void *p;
        e = b->alloc_host(b, (size_t)window * f->records.bytes, &p);
        f->pinned[i] = p;
    }
    return e;
}

void dg_loader_close(dg_loader *f)
{
    if (f->data) f->b->release(f->b, f->data);
    if (f->perm) f->b->release(f->b, f->perm);
    for (int i = 0; i < 2; i++)
        if (f->pinned[i]) f->b->release_host(f->b, f->pinned[i]);
    free(f->order);
    free(f->next_order);
    *f = (dg_loader){.b = NULL};
}

static int least(int a, int b) { return a < b ? a : b; }

static void plan_next(dg_loader *f, uint64_t epoch, int first)
{
    if (!f->begun || epoch != f->next.epoch) dg_permutation(f->next_order, f->records.count, f->seed, epoch);
    f->next.epoch = epoch;
    f->next.first = first;
    f->next.end = least(first + f->window, f->used);
    f->next.given = 0;
}

dg_err dg_loader_epoch(dg_loader *f, uint64_t epoch, int place)
{
    if (!f->window) dg_permutation(f->order, f->records.count, f->seed, epoch);
    else {
        const int first = place / f->window * f->window;
        if (!f->begun) plan_next(f, epoch, first);
        for (int i = 0; i < f->records.count; i++) { /* window 1 - f->side has position `first` */
            const int side = (i / f->window - first / f->window) % 2 ? f->side : 1 - f->side;
            f->order[i] = side * f->window + i % f->window;
        }
    }
    return f->b->put(f->b, f->perm, f->order, (size_t)f->records.count * sizeof *f->order);
}

static dg_err give(dg_loader *f, int n)
{
    const int at = f->next.given, to = 1 - f->side;
    const int32_t *order = f->next_order + f->next.first + at;
    uint8_t *host = f->pinned[to] + (size_t)at * f->records.bytes;
    if (n < 1) return DG_OK;
#pragma omp parallel for schedule(static) if (n > 8)
    for (int i = 0; i < n; i++)
        memcpy(host + (size_t)i * f->records.bytes, f->records.data + (size_t)order[i] * f->records.bytes,
               f->records.bytes);
    f->next.given += n;
    char *device = (char *)f->data + ((size_t)to * (size_t)f->window + (size_t)at) * f->records.bytes;
    return f->b->start_put(f->b, DG_COPY, device, host, (size_t)n * f->records.bytes);
}

static dg_err change_windows(dg_loader *f)
{
    dg_backend *b = f->b;
    bool yes;
    dg_err e = give(f, f->next.end - f->next.first - f->next.given);
    if (!e) e = b->record(b, DG_COPY, DG_EVENT_FILLED + 1 - f->side);
    if (!e) e = b->wait(b, DG_COMPUTE, DG_EVENT_FILLED + 1 - f->side);
    if (e) return e;
    f->end = f->next.end;
    f->side = 1 - f->side;
    f->begun = true;
    if (f->end < f->used) plan_next(f, f->next.epoch, f->end);
    else plan_next(f, f->next.epoch + 1, 0);
    e = b->record(b, DG_COMPUTE, DG_EVENT_READ);
    if (!e) e = b->wait(b, DG_COPY, DG_EVENT_READ); /* later copies wait until earlier steps have read their images */
    return e ? e : b->query(b, DG_EVENT_FILLED + 1 - f->side, true, &yes); /* wait until pinned memory is copied */
}

dg_err dg_loader_step(dg_loader *f, int place)
{
    if (!f->window) return DG_OK;
    dg_err e = !f->begun || place % f->window == 0 ? change_windows(f) : DG_OK;
    const int steps = (f->end - place + f->batch - 1) / f->batch, missing = f->next.end - f->next.first - f->next.given;
    return e ? e : give(f, (missing + steps - 1) / steps);
}
