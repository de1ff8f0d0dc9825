/* One thread that writes files while training goes on. Jobs run in the order they were given; the queue holds
 * at most 8, then dg_worker_give waits. A job that fails is remembered: its message is printed as a warning at
 * once, and dg_worker_close returns the first error, so that the program's exit code is not 0. */
#ifndef DG_WORKER_H
#define DG_WORKER_H

#include "err.h"

typedef struct dg_worker dg_worker;
dg_err dg_worker_open(dg_worker **out);
/* work(context) runs on the worker's thread and frees its context. */
void dg_worker_give(dg_worker *w, dg_err (*work)(void *context), void *context);
/* Wait until every job given so far is done; returns the first error so far. */
dg_err dg_worker_wait(dg_worker *w);
dg_err dg_worker_close(dg_worker *w); /* w may be NULL */

#endif
