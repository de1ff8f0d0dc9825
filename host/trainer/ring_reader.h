/* The metrics of steps, read while later steps run: the ring's rows are copied behind the steps that wrote them, many
 * at a time where steps are short, and the host takes them when they have come. Nothing waits, except for the request
 * before the last, so that the host is never far ahead.
 *
 *     dg_job_step(job, batch);
 *     dg_ring_reader_ask(&r, ++step, false);
 *     while (dg_ring_reader_take(&r, false, &first, &row, &n) == DG_OK && n) ...
 */
#ifndef DG_RING_READER_H
#define DG_RING_READER_H

#include "host/net/job.h"

enum { DG_REQUESTS = 2, DG_REQUEST_ROWS = 64 };

typedef struct {
    dg_job *job;
    dg_metrics *host; /* DG_REQUESTS times DG_REQUEST_ROWS, where the device can write */
    struct {
        uint64_t first;
        int n;
    } request[DG_REQUESTS];
    int oldest, on_the_way;
    uint64_t next;  /* the first step that has not been asked for */
    int interval;   /* steps from one request to the next */
    double seconds; /* as long as that many steps shall take, 0.01 */
    double last_came;
    double each; /* seconds that a step takes, 0: not known yet */
} dg_ring_reader;

/* How many steps, which take so many seconds each (0: not known yet), may be given at once: as many as take some 50 ms,
 * so that a signal, a line of progress and bad numbers wait no longer than that, and no more than a request holds. 1
 * where steps are done when they are given. */
int dg_steps_ahead(const dg_backend *b, double each);

/* step: the first one to be read. */
dg_err dg_ring_reader_open(dg_ring_reader *r, dg_job *job, uint64_t step);
void dg_ring_reader_close(dg_ring_reader *r);

/* The steps before `step` have been given to the device. Asks for those that nobody asked for yet, if there are
 * enough of them or at once, and if there is room for a request. */
dg_err dg_ring_reader_ask(dg_ring_reader *r, uint64_t step, bool at_once);

/* The oldest request, if it has come: *n rows, those of steps *first and after, valid until the next ask. *n = 0: it
 * has not. Waits for it if `wait` is set or no further request could be made. */
dg_err dg_ring_reader_take(dg_ring_reader *r, bool wait, uint64_t *first, dg_metrics **row, int *n);

#endif
