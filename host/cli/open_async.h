/* Opens the backend like dg_open_backend, but concurrently with other work. */
#pragma once

#include "host/cli/commands.h"

typedef struct dg_opening dg_opening;

/* Call dg_opening_finish even after an error. */
dg_err dg_opening_start(const dg_options *o, dg_opening **out);

/* Thread-safe. True if opening the backend has failed already. */
bool dg_opening_failed(void *opening);

/* Wait until the backend is open, and set *opening to NULL. No-op if *opening is NULL. */
dg_err dg_opening_finish(dg_opening **opening, dg_backend **out);

/* Open a GPU. For device cpu, or device auto without a usable GPU, *out becomes NULL, and `why` the reason or "". The
 * caller then opens the CPU backend by dg_open_instead, which prints the reason as a warning. */
dg_err dg_open_gpu(const dg_options *o, dg_backend **out, char *why, size_t size);
dg_err dg_open_instead(const dg_options *o, const char *why, dg_backend **out);
