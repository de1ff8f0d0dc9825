/* Worker threads that read and write files during training. Jobs start in order. A single worker thread also completes
 * jobs in order. When the queue holds 16 jobs, dg_worker_give waits. A failed job's message is printed at once as a
 * warning, and dg_worker_close returns the first error. */
#pragma once

#include "core/base/err.h"

typedef struct dg_worker dg_worker;
enum { DG_WORKER_THREADS = 8 };
/* `threads` is 1 to DG_WORKER_THREADS. If the system cannot start all threads, the worker uses fewer. */
dg_err dg_worker_open(int threads, dg_worker **out);
/* Queues a job. A worker thread calls work(context), which frees its context. */
void dg_worker_give(dg_worker *w, dg_err (*work)(void *context), void *context);
long dg_worker_given(dg_worker *w);
/* Waits until the first `jobs` jobs are done. Returns the first error of any job so far. */
dg_err dg_worker_wait(dg_worker *w, long jobs);
int dg_worker_left(dg_worker *w);
dg_err dg_worker_close(dg_worker *w);
