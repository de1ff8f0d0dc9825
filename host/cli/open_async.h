/* Opens the backend concurrently with other work. Results and messages are those of dg_open_backend. */
#ifndef DG_OPEN_ASYNC_H
#define DG_OPEN_ASYNC_H

#include "host/cli/commands.h"

typedef struct dg_opening dg_opening;

/* Start to open the backend. Returns an error only for the CPU backend. Call dg_opening_finish even after an error. */
dg_err dg_opening_start(const dg_options *o, dg_opening **out);

/* True if opening has failed so far; thread-safe. */
bool dg_opening_failed(void *opening);

/* Wait for the backend and set *opening to NULL; no-op if *opening is NULL. */
dg_err dg_opening_finish(dg_opening **opening, dg_backend **out);

/* The two parts of dg_open_backend. dg_open_gpu returns DG_OK with *out NULL if the caller must use the CPU; why: the
 * reason, or "". dg_open_instead then opens the CPU, and prints a warning if `why` is not "". */
dg_err dg_open_gpu(const dg_options *o, dg_backend **out, char *why, size_t size);
dg_err dg_open_instead(const dg_options *o, const char *why, dg_backend **out);

#endif
