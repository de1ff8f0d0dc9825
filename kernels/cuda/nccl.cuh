/* Messages between the GPUs of a group of processes, by NCCL. */
#pragma once

#include "kernels/dev/cuda.cuh"
extern "C" {
#include "core/group/group.h"
#include "core/plan/gpus.h"
}

/* Enqueue the messages of op shard_exchange and op shard_share (ops_shards.h). `bytes` is the size of one part. */
void dg_nccl_exchange(const dg_group *g, void *x, const void *from, size_t bytes, cudaStream_t stream);
void dg_nccl_share(const dg_group *g, void *x, size_t bytes, cudaStream_t stream);

/* Connect this process as `rank` of `size`. If `address` is not nullptr, rank 0 listens there, else `id` is the 128
 * bytes of dg_nccl_id. Return nullptr, or the reason why not. */
const char *dg_nccl_id(void *id);
const char *dg_nccl_join(int rank, int size, const void *id, const char *address);
void dg_nccl_leave(void);

/* Enqueues an all-gather of `bytes` of each rank. Returns nullptr or the reason why not. */
const char *dg_nccl_gather(const void *own, void *all, size_t bytes, cudaStream_t stream);

/* Set and return the stream whose work precedes the calls of torchrun's transport. nullptr: no backend is open. */
void dg_nccl_compute(cudaStream_t stream);
cudaStream_t dg_nccl_before(void);
