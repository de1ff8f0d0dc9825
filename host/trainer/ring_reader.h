/* Reads the metrics of steps asynchronously from a ring buffer on the device. One request copies the metrics of several
 * steps. The reader blocks only if all requests are in use, which limits how far launches run ahead of the device. */
#pragma once

#include "host/net/job.h"

enum { DG_REQUESTS = 2, DG_REQUEST_ROWS = 64 };

typedef struct {
    dg_job *job;
    dg_metrics *host; /* (DG_REQUESTS, DG_REQUEST_ROWS), from alloc_host */
    struct {
        uint64_t first;
        int n;
    } request[DG_REQUESTS];
    int oldest, on_the_way;
    uint64_t next;
    int interval;   /* steps per request */
    double seconds; /* target time per request: 0.01 s */
    double last_came;
    double each; /* seconds per step, 0: unknown */
} dg_ring_reader;

/* Returns the number of steps to launch together: 1 on a synchronous backend, else about 50 ms of steps, at most
 * DG_REQUEST_ROWS. Longer launches would delay signals and errors. `each` is the time per step in seconds; 0:
 * unknown. */
int dg_steps_ahead(const dg_backend *b, double each);

dg_err dg_ring_reader_open(dg_ring_reader *r, dg_job *job, uint64_t step);
void dg_ring_reader_close(dg_ring_reader *r);

/* Request metrics of steps before `step`, if a request is free and `interval` steps are pending. With `at_once`, fewer
 * steps may be pending. */
dg_err dg_ring_reader_ask(dg_ring_reader *r, uint64_t step, bool at_once);

/* Get the metrics of the oldest finished request: *n steps, the first of which is step *first. If *n = 0, no request
 * has finished. *row is valid until the next dg_ring_reader_ask. Blocks if wait is set or all requests are in use. */
dg_err dg_ring_reader_take(dg_ring_reader *r, bool wait, uint64_t *first, dg_metrics **row, int *n);
