#include "host/data/windows.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/rng.h"
#include "core/base/worker.h"

enum { READERS = 2, PIECES = 6 }; /* with two windows, at most 13 jobs are in the queue of a dg_worker, which has 16 */

/* A part of a window that one thread reads. */
typedef struct {
    dg_windows *of;
    const struct buffer *window;
    int from, to; /* images of the window */
    long jobs;    /* number of jobs given to the threads, including this one */
    dg_err error;
    char message[DG_MESSAGE_BYTES];
} piece;

typedef struct buffer {
    dg_window window;
    int32_t *image; /* index of each image */
    piece piece[PIECES];
} buffer;

struct dg_windows {
    dg_loader_options o;
    dg_training_records records;
    dg_backend *b;
    dg_worker *reader;
    buffer buffer[2];
    int next;                    /* index of the next window's buffer */
    int32_t *drawn, *drawn_next; /* order of images in epoch drawn_epoch and in the epoch after it */
    uint64_t drawn_epoch;
    long drawn_jobs; /* number of jobs until drawn_next is complete, or 0 before the first order */
    double waited;
    atomic_bool closing; /* pieces that are not read yet are no longer needed */
};

static int min(int a, int b) { return a < b ? a : b; }

dg_err dg_record_read(const dg_training_records *r, int i, uint8_t *to)
{
    if (r->data) {
        memcpy(to, r->data + (size_t)i * r->bytes, r->bytes);
        return DG_OK;
    }
    if (r->label) memcpy(to + r->images.bytes, r->label + i, sizeof *r->label);
    return dg_images_read(&r->images, i, to);
}

int dg_window_images(const dg_loader_options *o) { return o->window / o->shards * o->own; }

dg_places dg_own_places(const dg_loader_options *o, int place)
{
    const int each = min(o->batch, o->used - place) / o->shards;
    return (dg_places){place + each * o->first_shard, each * o->own};
}

dg_err dg_windows_open(const dg_loader_options *o, const dg_training_records *records, dg_backend *b, dg_windows **out)
{
    const size_t images = (size_t)dg_window_images(o), n = (size_t)records->count;
    dg_windows *w = *out = calloc(1, sizeof *w);
    if (!w) return dg_fail(DG_DEVICE, "out of memory for the windows of the dataset");
    w->o = *o;
    w->records = *records;
    w->b = b;
    w->drawn = malloc(n * sizeof *w->drawn);
    w->drawn_next = malloc(n * sizeof *w->drawn_next);
    bool room = w->drawn && w->drawn_next;
    dg_err e = dg_worker_open(READERS, &w->reader);
    for (int i = 0; i < 2 && !e; i++) {
        void *pinned = NULL;
        w->buffer[i].image = malloc(images * sizeof *w->buffer[i].image);
        room &= w->buffer[i].image != NULL;
        e = b->alloc_host(b, images * records->bytes, &pinned);
        w->buffer[i].window.pinned = pinned;
    }
    return e || room ? e : dg_fail(DG_DEVICE, "out of memory for the order of %d images", records->count);
}

void dg_windows_close(dg_windows *w)
{
    if (!w) return;
    atomic_store(&w->closing, true);
    (void)dg_worker_close(w->reader); /* its jobs keep their errors in their pieces */
    for (int i = 0; i < 2; i++) {
        if (w->buffer[i].window.pinned) w->b->release_host(w->b, w->buffer[i].window.pinned);
        free(w->buffer[i].image);
    }
    free(w->drawn);
    free(w->drawn_next);
    free(w);
}

static dg_err draw_next(void *context)
{
    dg_windows *w = context;
    dg_permutation(w->drawn_next, w->records.count, w->o.seed, w->drawn_epoch + 1);
    return DG_OK;
}

/* Set w->drawn to the order of an epoch: the first one, the same as before, or the next one. */
static void draw(dg_windows *w, uint64_t epoch)
{
    if (w->drawn_jobs && epoch == w->drawn_epoch) return;
    if (w->drawn_jobs) {
        int32_t *last = w->drawn;
        (void)dg_worker_wait(w->reader, w->drawn_jobs);
        w->drawn = w->drawn_next;
        w->drawn_next = last;
    } else {
        dg_permutation(w->drawn, w->records.count, w->o.seed, epoch);
    }
    w->drawn_epoch = epoch;
    dg_worker_give(w->reader, draw_next, w);
    w->drawn_jobs = dg_worker_given(w->reader);
}

static dg_err read_piece(void *context)
{
    piece *p = context;
    const dg_training_records *r = &p->of->records;
    const buffer *b = p->window;
    if (!r->data)
        for (int i = p->from; i < p->to; i++) dg_images_prefetch(&r->images, b->image[i]);
    for (int i = p->from; i < p->to && !p->error && !atomic_load(&p->of->closing); i++)
        p->error = dg_record_read(r, b->image[i], b->window.pinned + (size_t)i * r->bytes);
    if (p->error) snprintf(p->message, sizeof p->message, "%s", dg_message());
    return DG_OK; /* dg_windows_wait reports the error */
}

static void plan(dg_windows *w, buffer *b, uint64_t epoch, int first)
{
    const int end = min(first + w->o.window, w->o.used);
    int images = 0;
    draw(w, epoch);
    for (int place = first; place < end; place += w->o.batch) {
        const dg_places own = dg_own_places(&w->o, place);
        memcpy(b->image + images, w->drawn + own.from, (size_t)own.n * sizeof *b->image);
        images += own.n;
    }
    b->window = (dg_window){epoch, end, images, b->window.pinned};
    for (int i = 0; i < PIECES; i++) {
        piece *p = b->piece + i;
        p->of = w;
        p->window = b;
        p->from = (int)((int64_t)images * i / PIECES);
        p->to = (int)((int64_t)images * (i + 1) / PIECES);
        p->error = DG_OK;
        dg_worker_give(w->reader, read_piece, p);
        p->jobs = dg_worker_given(w->reader);
    }
}

static void plan_after(dg_windows *w, buffer *b, const dg_window *last)
{
    const bool same = last->end < w->o.used;
    plan(w, b, last->epoch + !same, same ? last->end : 0);
}

void dg_windows_begin(dg_windows *w, uint64_t epoch, int first)
{
    plan(w, &w->buffer[0], epoch, first);
    plan_after(w, &w->buffer[1], &w->buffer[0].window);
}

const dg_window *dg_windows_next(const dg_windows *w) { return &w->buffer[w->next].window; }

dg_err dg_windows_wait(dg_windows *w, int n)
{
    const double began = dg_clock();
    dg_err e = DG_OK;
    for (int i = 0; i < PIECES && !e; i++) {
        const piece *p = &w->buffer[w->next].piece[i];
        if (p->from >= n || p->from == p->to) continue;
        (void)dg_worker_wait(w->reader, p->jobs);
        if (p->error) e = dg_fail(p->error, "%s", p->message);
    }
    w->waited += dg_clock() - began;
    return e;
}

void dg_windows_advance(dg_windows *w) { w->next = 1 - w->next; }

void dg_windows_refill(dg_windows *w) { plan_after(w, &w->buffer[1 - w->next], &w->buffer[w->next].window); }

double dg_windows_waited(const dg_windows *w) { return w ? w->waited : 0; }
