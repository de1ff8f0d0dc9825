/* A time limit for calls of a group: a thread that calls a function while a call takes longer than the limit, and
 * another function once per second. */
#pragma once

#include <stdbool.h>

#include "core/base/err.h"

typedef struct dg_watch dg_watch;

typedef struct {
    void (*late)(void *context, double seconds); /* a call has taken this time, which is over the limit */
    void (*each)(void *context);
    void *context;
} dg_watch_calls;

/* Starts the thread, which makes each call at least once per second. With a limit of 0, calls are never late. The
 * caller closes *out. */
dg_err dg_watch_open(double limit, const dg_watch_calls *calls, dg_watch **out);

/* Begin and end a call. */
void dg_watch_begin(dg_watch *w);
void dg_watch_end(dg_watch *w);

/* Suspends or resumes the limit. The time until it is resumed does not count. */
void dg_watch_pause(dg_watch *w, bool paused);

void dg_watch_close(dg_watch *w);
