/* Opens the group of the processes that a launcher started (host/group/launch.h), over MPI, or for torchrun
 * over NCCL. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/group/group.h"
#include "host/group/launch.h"

typedef struct {
    double limit; /* seconds that a call may take, e.g. 300; 0: no limit */
    /* Prints the message about a call over the limit. Called by another thread, before all processes end with exit code
     * DG_DEVICE. */
    void (*lost)(const char *message);
    int device;   /* torchrun: number of the GPU of this process */
    size_t piece; /* max bytes of one message between two ranks, for tests; 0: chosen for MPI */
} dg_group_options;

/* Stores the group, or NULL if this process is alone. dg_group_close frees the group. Returns DG_USAGE if there is no
 * plugin or if its MPI is not the launcher's, DG_DEVICE after other errors. The messages of rank 1 and above begin with
 * "rank N on HOST: ". */
dg_err dg_group_open(const dg_launched *l, const dg_group_options *o, dg_group **out);

/* Suspends or resumes this rank's limit, for example while it waits for a rank that decodes images. Every rank that
 * waits suspends its limit. */
void dg_group_pause_limit(dg_group *g, bool paused);
