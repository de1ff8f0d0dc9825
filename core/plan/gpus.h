/* Connection between the GPUs of a group of processes, one GPU per rank, over which op shard_exchange and op
 * shard_share send device memory. The group closes it, after the backend and its graphs with messages. */
#pragma once

#include "core/group/transport.h"
#include "core/plan/backend.h"

typedef struct dg_gpus {
    char name[32]; /* "NCCL 2.18.1" */
    /* Returns NULL, or static text about an error of the connection. From any thread. */
    const char *(*broken)(struct dg_gpus *);
    void (*abort)(struct dg_gpus *); /* ends calls that wait for other ranks; from any thread */
    void (*close)(struct dg_gpus *); /* waits for all ranks */
} dg_gpus;

/* Connects the GPUs of all ranks of b->group, and sets b->group->gpus. Each rank makes the call. Returns DG_USAGE if
 * two ranks have the same GPU, DG_DEVICE if a rank has no NCCL or another version. */
dg_err dg_cuda_connect(dg_backend *b);

/* Returns a transport that needs no MPI: NCCL connects the ranks, each with the GPU `device`, at `address`
 * ("host:port") of rank 0. The calls go through buffers on the GPUs, after all work that b->group's backend has
 * enqueued. */
const dg_transport *dg_nccl_transport(int rank, int size, int device, const char *address);
