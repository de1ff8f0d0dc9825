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
