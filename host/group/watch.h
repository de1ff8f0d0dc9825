/* A time limit for calls of a group: a thread that calls a function while a call takes longer than the limit. */
#pragma once

#include <stdbool.h>

#include "core/base/err.h"

typedef struct dg_watch dg_watch;

/* Starts the thread. While a call has taken more than `limit` seconds, the thread calls late(context, seconds of the
 * call) repeatedly, at least once per second. A limit of 0 starts no thread and stores NULL. The caller closes *out. */
dg_err dg_watch_open(double limit, void (*late)(void *context, double seconds), void *context, dg_watch **out);

/* Begin and end a call. */
void dg_watch_begin(dg_watch *w);
void dg_watch_end(dg_watch *w);

/* Suspends or resumes the limit. The time until it is resumed does not count. */
void dg_watch_pause(dg_watch *w, bool paused);

void dg_watch_close(dg_watch *w);
