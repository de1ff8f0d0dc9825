/* Opening the backend beside other work. The results are those of dg_open_backend, also its messages:
 *
 *     dg_opening *opening;
 *     dg_err e = dg_opening_start(o, &opening);       // known already when it is the CPU
 *     ... other work, which may stop early when dg_opening_failed(opening) ...
 *     dg_err f = dg_opening_finish(&opening, &backend);
 */
#ifndef DG_OPEN_ASYNC_H
#define DG_OPEN_ASYNC_H

#include "host/cli/commands.h"

typedef struct dg_opening dg_opening;

/* To be finished after errors, too. */
dg_err dg_opening_start(const dg_options *o, dg_opening **out);

/* Has it failed by now? Any thread may ask. */
bool dg_opening_failed(void *opening);

/* Waits. *opening becomes NULL; where it is NULL, nothing is done. */
dg_err dg_opening_finish(dg_opening **opening, dg_backend **out);

/* The two halves of dg_open_backend: the GPU that o means; DG_OK with *out NULL when it means the CPU, which is then
 * opened by the second, after a warning where there is a reason. */
dg_err dg_open_gpu(const dg_options *o, dg_backend **out, char *why, size_t size);
dg_err dg_open_instead(const dg_options *o, const char *why, dg_backend **out);

#endif
