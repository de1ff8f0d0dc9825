/* A group: the processes that train one network together. Each process has a rank, 0 to size - 1, and rank 0 leads. A
 * NULL group is a process without others: its rank is 0, its size 1, and its calls copy memory at most.
 *
 * Every rank makes the same calls in the same order and with the same sizes, from one thread. A call returns when this
 * rank's part is complete, which may be before other ranks begin the call. Sizes are in bytes, without an upper limit.
 * A call that fails returns DG_DEVICE; after that, the only valid calls are dg_group_abort and dg_group_close. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"

typedef struct dg_group dg_group;
struct dg_gpus;

enum { DG_TURN_BYTES = 64 };

/* The functions of an implementation. Each one is described at the function dg_group_NAME that calls it. */
typedef struct {
    dg_err (*all_to_all)(dg_group *g, const void *from, void *to, size_t bytes_each);
    dg_err (*all_gather)(dg_group *g, void *all, size_t bytes_each);
    dg_err (*broadcast)(dg_group *g, void *bytes, size_t n);
    dg_err (*gather)(dg_group *g, const void *own, void *all, size_t bytes_each);
    dg_err (*turn)(dg_group *g, const void *own, void *all);
    void (*abort_all)(dg_group *g, int code);
    dg_err (*close)(dg_group *g);
    void (*wait_for_gpu)(dg_group *g, bool waits); /* or NULL */
} dg_group_calls;

/* The implementation makes and frees the struct (host/group/open.h). Only `gpus` and `failed` change. */
struct dg_group {
    const dg_group_calls *calls;
    int rank, size;
    int local_rank, local_size; /* rank and number of processes among those of this host */
    int hosts;                  /* number of hosts */
    bool turns_on_gpu;          /* a turn waits until the GPUs have done the steps before it */
    const char *name;           /* implementation and its version: "Open MPI 4.1.4" */
    const char *const *host;    /* host name of each rank */
    struct dg_gpus *gpus;       /* connection between the GPUs of the ranks (core/plan/gpus.h), or NULL */
    dg_err failed;              /* error of the first call that failed; later calls return it at once */
};

/* Returns g->failed, or DG_OK for a NULL group. */
dg_err dg_group_failed(const dg_group *g);

/* After an error that the other ranks do not know: later calls fail, and the program ends by dg_group_abort. */
void dg_group_fail(dg_group *g, dg_err e);

int dg_group_rank(const dg_group *g);
int dg_group_size(const dg_group *g);

/* Sends part s of `from` to rank s, and stores the part from rank s as part s of `to`. Both buffers have size parts of
 * bytes_each, stored consecutively, and do not overlap. */
dg_err dg_group_all_to_all(dg_group *g, const void *from, void *to, size_t bytes_each);

/* Sends this rank's part of `all` to every rank, and stores the part of each other rank. `all` has size parts of
 * bytes_each; part r belongs to rank r. */
dg_err dg_group_all_gather(dg_group *g, void *all, size_t bytes_each);

/* Copies n bytes of rank 0 to every other rank. */
dg_err dg_group_broadcast(dg_group *g, void *bytes, size_t n);

/* Sends bytes_each of each rank to rank 0, which stores the parts in `all` by rank. Other ranks do not use `all`. On
 * rank 0, `own` may be part 0 of `all`. */
dg_err dg_group_gather(dg_group *g, const void *own, void *all, size_t bytes_each);

/* Like dg_group_all_gather for parts of DG_TURN_BYTES, but the processor is free while a rank waits. `own` has
 * DG_TURN_BYTES, `all` size times as many. */
dg_err dg_group_turn(dg_group *g, const void *own, void *all);

/* Begins or ends waiting for this rank's GPU, whose work may wait for messages of other ranks: the time limit of calls
 * applies. */
void dg_group_wait_for_gpu(dg_group *g, bool waits);

/* Ends all processes of the group with this exit code, without cleaning up. A NULL group returns. */
void dg_group_abort(dg_group *g, int code);

/* Waits for all ranks, frees the group and returns the first error. */
dg_err dg_group_close(dg_group *g);
