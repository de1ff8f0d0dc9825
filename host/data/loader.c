#include "host/data/loader.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/rng.h"

enum { PUT_BYTES = 4 << 20 };

static int min(int a, int b) { return a < b ? a : b; }

static dg_err no_memory(const dg_loader *f)
{
    return dg_fail(DG_DEVICE, "out of memory for the order of %d images", f->records.count);
}

/* Copy the whole dataset to the device, through a buffer unless the records are consecutive in memory. */
static dg_err put_all(dg_loader *f)
{
    const dg_training_records *r = &f->records;
    const uint8_t *ready = r->data ? r->data : r->label ? NULL : r->images.memory;
    if (ready) return f->b->put(f->b, f->data, ready, (size_t)r->count * r->bytes);
    const int most = r->bytes < PUT_BYTES ? (int)(PUT_BYTES / r->bytes) : 1;
    uint8_t *buffer = malloc((size_t)most * r->bytes);
    dg_err e = buffer ? DG_OK : no_memory(f);
    for (int i = 0; i < r->count && !e; i += most) {
        const int n = min(most, r->count - i);
        for (int k = 0; k < n && !e; k++) e = dg_record_read(r, i + k, buffer + (size_t)k * r->bytes);
        if (!e) e = f->b->put(f->b, (char *)f->data + (size_t)i * r->bytes, buffer, (size_t)n * r->bytes);
    }
    free(buffer);
    return e;
}

dg_err dg_loader_open(dg_loader *f, dg_backend *b, const dg_training_records *records, const dg_loader_options *o)
{
    *f = (dg_loader){.b = b, .records = *records, .o = *o};
    f->order = malloc((size_t)records->count * sizeof *f->order);
    if (!f->order) return no_memory(f);
    const size_t images = (size_t)(o->window ? 2 * dg_window_images(o) : records->count);
    dg_err e = dg_context(b->alloc(b, images * records->bytes, &f->data), "the dataset");
    if (!e) e = b->alloc(b, (size_t)records->count * sizeof *f->order, &f->perm);
    if (!e) e = o->window ? dg_windows_open(o, records, b, &f->windows) : put_all(f);
    return e;
}

void dg_loader_close(dg_loader *f)
{
    dg_windows_close(f->windows);
    if (f->data) f->b->release(f->b, f->data);
    if (f->perm) f->b->release(f->b, f->perm);
    free(f->order);
    *f = (dg_loader){.b = NULL};
}

/* Set f->order to the image in the device's windows at each place of the epoch. Window 1 - f->side has place `first`.
 * Images of other processes have index 0, which no step reads. */
static void order_windows(dg_loader *f, int first)
{
    memset(f->order, 0, (size_t)f->records.count * sizeof *f->order);
    for (int begin = first; begin < f->o.used; begin += f->o.window) {
        const int side = (begin - first) / f->o.window % 2 ? f->side : 1 - f->side;
        int image = side * dg_window_images(&f->o);
        for (int place = begin; place < min(begin + f->o.window, f->o.used); place += f->o.batch) {
            const dg_places own = dg_own_places(&f->o, place);
            for (int i = 0; i < own.n; i++) f->order[own.from + i] = image++;
        }
    }
}

dg_err dg_loader_epoch(dg_loader *f, uint64_t epoch, int place)
{
    if (!f->o.window) dg_permutation(f->order, f->records.count, f->o.seed, epoch);
    else {
        const int first = place / f->o.window * f->o.window;
        if (!f->begun) dg_windows_begin(f->windows, epoch, first);
        order_windows(f, first);
    }
    return f->b->put(f->b, f->perm, f->order, (size_t)f->records.count * sizeof *f->order);
}

/* Copy n more images of the next window to the device. */
static dg_err give(dg_loader *f, int n)
{
    const int at = f->given, to = 1 - f->side;
    const size_t bytes = f->records.bytes;
    if (n < 1) return DG_OK;
    const dg_err e = dg_windows_wait(f->windows, at + n);
    if (e) return e;
    const uint8_t *host = dg_windows_next(f->windows)->pinned + (size_t)at * bytes;
    char *device = (char *)f->data + ((size_t)to * (size_t)dg_window_images(&f->o) + (size_t)at) * bytes;
    f->given += n;
    return f->b->start_put(f->b, DG_COPY, device, host, (size_t)n * bytes);
}

static int missing(const dg_loader *f) { return dg_windows_next(f->windows)->images - f->given; }

static dg_err change_windows(dg_loader *f)
{
    dg_backend *b = f->b;
    dg_err e = give(f, missing(f));
    if (!e) e = b->record(b, DG_COPY, DG_EVENT_FILLED + 1 - f->side);
    if (!e) e = b->wait(b, DG_COMPUTE, DG_EVENT_FILLED + 1 - f->side);
    if (e) return e;
    f->end = dg_windows_next(f->windows)->end;
    f->side = 1 - f->side;
    f->begun = f->copying = true;
    f->given = 0;
    dg_windows_advance(f->windows);
    e = b->record(b, DG_COMPUTE, DG_EVENT_READ);
    return e ? e
             : b->wait(b, DG_COPY, DG_EVENT_READ); /* later copies wait until earlier steps have read their images */
}

/* Wait for the copies of the last window, which ended while its first steps were launched, and reuse its memory. */
static dg_err refill(dg_loader *f)
{
    bool yes;
    if (!f->copying) return DG_OK;
    f->copying = false;
    const dg_err e = f->b->query(f->b, DG_EVENT_FILLED + f->side, true, &yes);
    if (!e) dg_windows_refill(f->windows);
    return e;
}

static int steps_left(const dg_loader *f, int place) { return (f->end - place + f->o.batch - 1) / f->o.batch; }

dg_err dg_loader_step(dg_loader *f, int place, int n)
{
    if (!f->o.window) return DG_OK;
    dg_err e = refill(f);
    if (!e && (!f->begun || place % f->o.window == 0)) e = change_windows(f);
    const int steps = steps_left(f, place);
    return e ? e : give(f, steps > n ? (int)(((int64_t)missing(f) * n + steps - 1) / steps) : missing(f));
}

int dg_loader_steps(const dg_loader *f, int place)
{
    const int end = f->o.window ? min((place / f->o.window + 1) * f->o.window, f->o.used) : f->o.used;
    const int full = (end - place) / f->o.batch;
    return full ? full : 1;
}
