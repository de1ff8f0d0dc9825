/* Threads that write files while training goes on. Jobs begin in the order they were given, and one thread ends them in
 * that order, too; the queue holds at most 16, then dg_worker_give waits. A job that fails is remembered: its message
 * is printed as a warning at once, and dg_worker_close returns the first error, so that the program's exit code is not
 * 0. */
#ifndef DG_WORKER_H
#define DG_WORKER_H

#include "core/base/err.h"

typedef struct dg_worker dg_worker;
enum { DG_WORKER_THREADS = 8 };
/* threads: 1 to DG_WORKER_THREADS; fewer are used where the system gives no more, but one. */
dg_err dg_worker_open(int threads, dg_worker **out);
/* work(context) runs on a thread of the worker's and frees its context. */
void dg_worker_give(dg_worker *w, dg_err (*work)(void *context), void *context);
/* How many jobs have been given so far. */
long dg_worker_given(dg_worker *w);
/* Wait until the first `jobs` of them are done, whatever has been given since; returns the first error so far. */
dg_err dg_worker_wait(dg_worker *w, long jobs);
/* Jobs that have been given and are not done. */
int dg_worker_left(dg_worker *w);
dg_err dg_worker_close(dg_worker *w); /* w may be NULL */

#endif
